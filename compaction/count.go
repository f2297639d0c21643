package compaction

import "github.com/pleat-proxy/pleat/compaction/tokens"

// tokens is what message i costs as input: its text, reasoning and tool calls
// counted, the overhead of a message, and flat estimates for what is no text.
func (r *request) tokens(i int, e tokens.Encoder) int {
	m, s := &r.messages[i], &scanner{text: r.body, limit: maxDepth}
	f := &m.fields
	count := func(raw span) int { return e.CountBytes(decoded(raw.in(r.body))) }

	n := tokens.MessageOverhead + count(f.role)
	if f.name.len() > len(`""`) {
		n += tokens.NameOverhead + count(f.name)
	}
	n += count(f.refusal) + r.plainTokens(f.reasoning, e)
	if m.opaque {
		n += tokens.AudioTokens
	}
	m.parts(s, func(p part) { n += r.partTokens(p, e) })
	switch m.role {
	case roleAssistant:
		n += r.rates.Assistant
	case roleTool:
		n += r.rates.Result
	case roleFunction:
		n += r.rates.Function
	default: // nothing more than any message
	}
	m.eachCall(s, func(c call) {
		n += r.rates.Call
		if c.kind == callOther {
			n += e.CountBytes(c.in(r.body))
			return
		}
		n += count(c.name) + r.plainTokens(c.arguments, e)
	})
	return n
}

func (r *request) partTokens(p part, e tokens.Encoder) int {
	switch p.kind {
	case kindText, kindRefusal:
		return e.CountBytes(decoded(p.text.in(r.body)))
	case kindImage, kindAudio, kindFile:
		a := p.attachment(r.body)
		return a.tokens(p.kind, r.rates.media)
	case kindOther:
		if p.attachment(r.body).inline {
			return tokens.FileTokens // of encoded data, the length says nothing
		}
	default: // counted as the text that it is
	}
	return e.CountBytes(p.in(r.body))
}

// plainTokens counts a value as text: what a string says, or the JSON itself.
func (r *request) plainTokens(value span, e tokens.Encoder) int {
	raw := value.in(r.body)
	if len(raw) > 0 && raw[0] == '"' {
		raw = decoded(raw)
	}
	return e.CountBytes(raw)
}
