package compaction

import "strings"

// outline is what a message says, decoded, for a transcript.
type outline struct {
	role, name string
	parts      []outlinePart
	calls      []outlineCall
	refusal    string
}

// outlinePart is one part of a content. kind is text, image, audio, file or
// other. The text of all kinds but the first is a short note; it never holds
// the data itself.
type outlinePart struct{ kind, text string }

type outlineCall struct{ name, arguments string }

// outline decodes message i. Reasoning is left out.
func (r *request) outline(i int) outline {
	m, s := &r.messages[i], &scanner{text: r.body, limit: maxDepth}
	f := &m.fields
	o := outline{
		role:    string(decoded(f.role.in(r.body))),
		name:    string(decoded(f.name.in(r.body))),
		refusal: string(decoded(f.refusal.in(r.body))),
	}
	m.parts(s, func(p part) {
		switch {
		case p.blank():
		case p.kind == kindRefusal:
			o.refusal = strings.TrimLeft(o.refusal+"\n"+string(decoded(p.text.in(r.body))), "\n")
		default:
			o.parts = append(o.parts, outlinePart{p.kind.String(), p.note(r.body)})
		}
	})
	m.eachCall(s, func(c call) {
		o.calls = append(o.calls, outlineCall{string(decoded(c.name.in(r.body))), c.input(r.body)})
	})
	return o
}

func (k kind) String() string {
	switch k {
	case kindText, kindJSON:
		return "text"
	case kindImage:
		return "image"
	case kindAudio:
		return "audio"
	case kindFile:
		return "file"
	default:
		return "other"
	}
}

// input is what a call passes: the text of its arguments, or their JSON where
// they are no string.
func (c call) input(body []byte) string {
	raw := c.arguments.in(body)
	if c.kind == callOther {
		raw = c.in(body)
	}
	if len(raw) > 0 && raw[0] != '"' {
		return string(raw)
	}
	return string(decoded(raw))
}

// note is the text of a part, or what can be said of it in a word or two: the
// name of a file, else a media type, else the part's own type.
func (p part) note(body []byte) string {
	switch p.kind {
	case kindText:
		return string(decoded(p.text.in(body)))
	case kindJSON:
		return string(p.in(body))
	default:
	}
	a := p.attachment(body)
	for _, note := range []string{a.filename, a.media} {
		if note != "" {
			return note
		}
	}
	if p.kind == kindOther {
		return a.name
	}
	return ""
}
