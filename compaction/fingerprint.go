package compaction

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// fingerprint identifies what a message means, however it is spelled: a
// truncated SHA-256, long enough that nobody finds two messages with one.
type fingerprint [16]byte

// meaningVersion begins what is hashed. It changes with the encoding, so that
// no fold is found under a fingerprint of another version.
const meaningVersion = 1

// Tags begin the fields of a message's meaning. Each is followed by the length
// of the field's value, so no two meanings are written alike.
const (
	tagRole      = 'r'
	tagName      = 'n'
	tagText      = 't' // text of the content
	tagPart      = 'p' // any other part of the content, canonical JSON
	tagRawPart   = 'P' // the same where it has no canonical form: as spelled
	tagRefusal   = 'f'
	tagAudio     = 'a'
	tagAnswers   = 'd' // ordinal of the call that is answered, plus one
	tagCall      = 'c' // name of a called function, followed by arguments
	tagCustom    = 'u' // name of a called custom tool, followed by its input
	tagLegacy    = 'l' // name in function_call, followed by arguments
	tagOtherCall = 'o' // a call of an unknown type, followed by what is said of it
	tagRawCall   = 'O' // the same where it has no canonical form
	tagJSON      = 'j' // arguments that are JSON, in canonical form
	tagArguments = 'x' // arguments that are not
)

// keptScratch is how large a buffer may be, in bytes, to be kept for the next
// request.
const keptScratch = 1 << 20

// meaning is scratch space for writing down what messages mean.
type meaning struct {
	scanner   scanner
	out       []byte
	text      []byte // decoded arguments
	canonical canonicalizer
}

//nolint:gochecknoglobals // a pool belongs to the process; it never changes what is computed
var meanings = sync.Pool{New: func() any { return new(meaning) }}

// fingerprint fills in fp and size of all messages.
func (r *request) fingerprint() {
	w, ok := meanings.Get().(*meaning)
	if !ok {
		w = new(meaning)
	}
	w.scanner = scanner{text: r.body, limit: maxDepth, keys: w.scanner.keys[:0]}
	for i := range r.messages {
		m := &r.messages[i]
		w.write(m)
		sum := sha256.Sum256(w.out)
		m.fp, m.size = fingerprint(sum[:16]), len(w.out)
	}
	w.scanner.text = nil // keep nothing of the request alive
	clear(w.scanner.keys[:cap(w.scanner.keys)])
	if cap(w.out)+cap(w.text)+cap(w.canonical.spare) <= keptScratch {
		meanings.Put(w)
	}
}

// write writes the meaning of m to out.
func (w *meaning) write(m *message) {
	body, f := w.scanner.text, &m.fields
	w.out = append(w.out[:0], meaningVersion)
	w.quoted(tagRole, f.role.in(body))
	if f.name.len() > len(`""`) {
		w.quoted(tagName, f.name.in(body))
	}
	if m.role == roleTool || m.role == roleFunction {
		w.out = binary.BigEndian.AppendUint64(append(w.out, tagAnswers), uint64(m.answers+1)) //nolint:gosec // -1 or an index
	}
	m.parts(&w.scanner, func(p part) { w.part(body, p) })
	if f.refusal.len() > len(`""`) {
		w.quoted(tagRefusal, f.refusal.in(body))
	}
	if m.opaque {
		w.quoted(tagAudio, f.audio.in(body))
	}
	m.eachCall(&w.scanner, func(c call) { w.call(body, c) })
}

func (w *meaning) part(body []byte, p part) {
	switch {
	case p.blank():
	case p.kind == kindText:
		w.quoted(tagText, p.text.in(body))
	case p.kind == kindRefusal:
		w.quoted(tagRefusal, p.text.in(body))
	default:
		w.json(tagPart, tagRawPart, p.in(body), omitMarks)
	}
}

func (w *meaning) call(body []byte, c call) {
	tag := byte(tagCall)
	switch c.kind {
	case callCustom:
		tag = tagCustom
	case callLegacy:
		tag = tagLegacy
	case callOther:
		w.json(tagOtherCall, tagRawCall, c.in(body), omitMarks|omitID)
		return
	default: // a function's
	}
	w.quoted(tag, c.name.in(body))
	raw := c.arguments.in(body)
	switch {
	case len(raw) > 0 && raw[0] != '"': // some servers take the object itself
		w.json(tagJSON, tagArguments, raw, 0)
	case c.kind == callCustom:
		w.quoted(tagArguments, raw)
	default:
		w.text = appendText(w.text[:0], raw)
		w.json(tagJSON, tagArguments, w.text, 0)
	}
}

// quoted writes a field whose value is the text of a JSON string.
func (w *meaning) quoted(tag byte, raw []byte) {
	at := w.begin(tag)
	w.out = appendText(w.out, raw)
	w.finish(at)
}

// json writes a field whose value is JSON in canonical form, or under the tag
// plain, as it is spelled, where text has no such form.
func (w *meaning) json(tag, plain byte, text []byte, omit omission) {
	at := w.begin(tag)
	var ok bool
	if w.out, ok = w.canonical.canonical(w.out, text, omit); !ok {
		w.out[at-lengthSize-1] = plain
		w.out = append(w.out, text...)
	}
	w.finish(at)
}

const lengthSize = 8

// begin writes a tag and leaves room for the length of what follows.
func (w *meaning) begin(tag byte) (at int) {
	w.out = append(w.out, tag, 0, 0, 0, 0, 0, 0, 0, 0)
	return len(w.out)
}

func (w *meaning) finish(at int) {
	binary.BigEndian.PutUint64(w.out[at-lengthSize:at], uint64(len(w.out)-at)) //nolint:gosec // at is no more
}

// parts calls visit with the parts of the content of m, which s scanned.
func (m *message) parts(s *scanner, visit func(part)) {
	at := m.fields.content
	switch {
	case at.len() == 0:
	case s.text[at.from] == '"': // by far the most frequent: no need to read it again
		visit(part{span: at, kind: kindText, text: at})
	default:
		s.again(at)
		_ = s.content(func(p part) error { visit(p); return nil }) // it was read once already
	}
}

// eachCall calls visit with the tool calls of m, which s scanned.
func (m *message) eachCall(s *scanner, visit func(call)) {
	if at := m.fields.toolCalls; at.len() > 0 {
		s.again(at)
		_ = s.calls(func(c call) error { visit(c); return nil })
	}
	if at := m.fields.legacyCall; at.len() > 0 {
		s.again(at)
		if c, ok, err := s.legacyCall(); ok && err == nil {
			visit(c)
		}
	}
}

// appendText appends the text of a JSON string, given with its quotes. What is
// no string has no text.
func appendText(dst, raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return dst
	}
	return appendDecoded(dst, raw[1:len(raw)-1])
}
