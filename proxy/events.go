package proxy

import (
	"bytes"
	"encoding/json"
)

// eventSort says what an event of a chat completion's stream is, as far as it
// matters before the model has said anything.
type eventSort byte

const (
	sortContent eventSort = iota // anything not known to be one of the others
	sortDelta                    // opens the reply, without any of its content
	sortComment                  // for nobody but the connection
	sortBlank
)

// cutEvent returns the length of the first event with the blank line that ends
// it, 0 if that is not there yet. A comment that no event has begun before is
// an event of its own, from its first line on.
func cutEvent(b []byte) int {
	for at := 0; at < len(b); {
		end := bytes.IndexAny(b[at:], "\r\n")
		if end < 0 {
			return 0
		}
		size := end + 1
		if b[at+end] == '\r' && at+size < len(b) && b[at+size] == '\n' {
			size++
		}
		if at == 0 && b[0] == ':' {
			return size + blankLine(b[size:])
		}
		at += size
		if end == 0 {
			return at
		}
	}
	return 0
}

// blankLine is the length of the blank line that b begins with, or 0.
func blankLine(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("\r\n")):
		return 2
	case len(b) > 0 && (b[0] == '\n' || b[0] == '\r'):
		return 1
	}
	return 0
}

// sortOf looks at an event, and returns the id of the completion that it
// belongs to, if it states one.
func sortOf(event []byte) (sort eventSort, id string) {
	if len(bytes.TrimSpace(event)) == 0 {
		return sortBlank, ""
	}
	data, fields := dataOf(event)
	if !fields {
		return sortComment, ""
	}
	var chunk struct {
		ID      string                       `json:"id"`
		Error   json.RawMessage              `json:"error"`
		Choices []map[string]json.RawMessage `json:"choices"`
	}
	if json.Unmarshal(data, &chunk) != nil || chunk.Choices == nil || substantial(chunk.Error) {
		return sortContent, chunk.ID
	}
	for _, choice := range chunk.Choices {
		if substantial(choice["finish_reason"]) || substantial(choice["text"]) || substantial(choice["message"]) {
			return sortContent, chunk.ID
		}
		var delta map[string]json.RawMessage
		if substantial(choice["delta"]) && json.Unmarshal(choice["delta"], &delta) != nil {
			return sortContent, chunk.ID
		}
		for name, value := range delta {
			if name != "role" && substantial(value) {
				return sortContent, chunk.ID
			}
		}
	}
	return sortDelta, chunk.ID
}

// dataOf joins an event's data. fields is false if it has nothing but comments.
func dataOf(event []byte) (data []byte, fields bool) {
	for line := range bytes.FieldsFuncSeq(event, func(r rune) bool { return r == '\n' || r == '\r' }) {
		fields = fields || line[0] != ':'
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, value...), '\n')
		}
	}
	return data, fields
}

// substantial reports whether a JSON value is there and says anything.
func substantial(value json.RawMessage) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", `""`, "[]", "{}":
		return false
	}
	return true
}

// maxLine is the longest line that an id is looked for in, in bytes.
const maxLine = 1 << 20

// renamed is the stream of a completion whose client already knows it by the id
// of another: official clients take an id that changes for another completion.
type renamed struct {
	from, to []byte // JSON strings
	line     []byte // begun and not ended
	long     bool   // the line is passed as it comes
}

func newRenamed(from, to string) *renamed {
	quoted := func(s string) []byte {
		text, err := json.Marshal(s)
		if err != nil {
			return nil // of a string: cannot fail
		}
		return text
	}
	return &renamed{from: quoted(from), to: quoted(to)}
}

// write returns what of the stream can pass: its whole lines, and at its end
// the rest.
func (r *renamed) write(p []byte, last bool) (out []byte) {
	for len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n") + 1
		whole := end > 0
		if !whole {
			end = len(p)
		}
		r.line = append(r.line, p[:end]...)
		p = p[end:]
		if !whole && !last && len(r.line) <= maxLine {
			return out
		}
		line := r.line
		if !r.long && len(line) <= maxLine && bytes.HasPrefix(line, []byte("data:")) {
			// Within a string its quotes would be escaped: this is the id itself.
			line = bytes.Replace(line, r.from, r.to, 1)
		}
		r.long = !whole
		out, r.line = append(out, line...), r.line[:0]
	}
	if last {
		out, r.line = append(out, r.line...), nil
	}
	return out
}
