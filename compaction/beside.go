package compaction

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// beside is what a request costs beside its messages, in tokens.
type beside struct {
	tools  int // declarations of tools and functions, with what stands around them
	format int // the schema of the answer
	reply  int // the opening of the reply, and what the server puts before all messages
}

func (b beside) total() int { return b.tools + b.format + b.reply }

// beside counts what the request's model is shown besides the messages.
func (r *request) beside(e tokens.Encoder) beside {
	b := beside{reply: r.rates.Reply + r.rates.Preamble}
	b.tools = r.toolTokens(e, r.declarations())
	for _, extra := range r.extras {
		if r.body[extra.from] != '[' {
			b.format += r.formatTokens(e, extra)
		}
	}
	return b
}

// declarations are the elements of tools and functions, in the request's order.
func (r *request) declarations() []span {
	var out []span
	d := declarer{scanner: scanner{text: r.body}}
	for _, extra := range r.extras {
		out = append(out, d.elements(extra)...)
	}
	return out
}

// toolTokens is what the declarations cost together. One of OpenAI's models is
// shown functions as types; tools of other kinds, and all of them to another
// maker's model, count as the JSON that they are, without its white space.
func (r *request) toolTokens(e tokens.Encoder, list []span) int {
	n := 0
	d := declarer{scanner: scanner{text: r.body}, out: []byte(declarationsBegin)}
	size := 0
	for _, tool := range list {
		size += tool.len()
	}
	types := r.rates.Types && size <= maxDeclarations
	for _, tool := range list {
		if !types || !d.function(tool) {
			n += e.CountBytes(terse(tool.in(r.body)))
		}
	}
	if len(d.out) == len(declarationsBegin) {
		return n
	}
	n += e.CountBytes(append(d.out, declarationsEnd...))
	if system, ok := r.firstSystem(); ok {
		return n + r.rates.ToolsAfter + lineBreak(e, system)
	}
	return n + r.rates.Tools
}

// firstSystem is the text of the first system message.
func (r *request) firstSystem() (text []byte, ok bool) {
	for i := range r.messages {
		m := &r.messages[i]
		if m.role != roleSystem && m.role != roleDeveloper {
			continue
		}
		m.parts(&scanner{text: r.body, limit: maxDepth}, func(p part) {
			if p.kind == kindText {
				text = decoded(p.text.in(r.body))
			}
		})
		return text, true
	}
	return nil, false
}

// lastPiece is about how much of a text's end decides what a line break after
// it costs, in bytes.
const lastPiece = 64

// lineBreak is what a line break costs behind a text. Mostly it is one token;
// behind punctuation it may be part of the one before it.
func lineBreak(e tokens.Encoder, text []byte) int {
	from := max(0, len(text)-lastPiece)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	end := bytes.Clone(text[from:])
	return e.CountBytes(append(end, '\n')) - e.CountBytes(end)
}

// formatTokens is what response_format costs: a schema as the harmony format
// shows it (OpenAI cookbook, "OpenAI harmony response format", "Structured
// output"). Another maker's model counts the JSON itself. A format without a
// schema is an instruction to the server, not to the model.
func (r *request) formatTokens(e tokens.Encoder, format span) int {
	d := declarer{scanner: scanner{text: r.body}}
	m := d.members(d.members(format)["json_schema"])
	schema := m["schema"]
	if schema.len() == 0 {
		return 0
	}
	if !r.rates.Types {
		return e.CountBytes(terse(format.in(r.body)))
	}
	d.write("# Response Formats\n\n## ", string(decoded(m["name"].in(r.body))), "\n\n")
	d.comment(m["description"], 0)
	d.out = append(d.out, terse(schema.in(r.body))...)
	return e.CountBytes(d.out)
}

// terse is JSON without the white space between its tokens.
func terse(text []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return text
	}
	return out.Bytes()
}
