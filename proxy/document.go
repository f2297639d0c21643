package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/pleat-proxy/pleat/compaction"
)

// maxUsage is the longest usage object that is read, in bytes.
const maxUsage = 16 << 10

// document follows JSON text, whole or in pieces, as far as is needed to find
// the top level's usage and error and the finish_reason of choices. It does not
// judge: on text that is no JSON it finds nothing, or nonsense, and goes on.
type document struct {
	usage    compaction.Usage // the last that said anything
	finish   string           // the last finish_reason
	hasError bool             // an "error" member that is not null

	depth     int
	open      [4]byte // the bracket that opened each of the outer depths
	wantKey   bool    // the next string is a key
	member    string  // the key at depth 1 whose value goes by
	inFinish  bool    // the value of a choice's finish_reason goes by
	inString  bool
	escaped   bool   // the string's last byte was a backslash that escapes
	text      []byte // the string that goes by, cut after a few bytes
	capturing bool
	captured  []byte // the value of member, raw
}

// Keys are shorter than keyLimit; so are the finish reasons of the world.
const keyLimit = 32

func (d *document) write(p []byte) {
	for len(p) > 0 {
		n := 1
		if d.inString {
			n = d.inside(p)
		} else {
			d.token(p[0])
		}
		if d.capturing {
			d.capture(p[:n])
		}
		p = p[n:]
	}
}

// reset forgets an unfinished text; what was found stays.
func (d *document) reset() {
	d.depth, d.wantKey, d.member, d.inFinish = 0, false, "", false
	d.inString, d.escaped, d.capturing = false, false, false
}

// inside takes the part of p that is in the string, with the closing quote,
// and returns its length.
func (d *document) inside(p []byte) int {
	for i := 0; i < len(p); i++ {
		if d.escaped {
			d.escaped = false
			continue
		}
		j := bytes.IndexByte(p[i:], '"')
		if j < 0 {
			j = len(p) - i
		}
		if k := bytes.IndexByte(p[i:i+j], '\\'); k >= 0 {
			d.escaped = true
			i += k
			continue
		}
		if i += j; i < len(p) {
			d.keep(p[:i])
			d.inString = false
			d.stringEnded()
			return i + 1
		}
	}
	d.keep(p)
	return len(p)
}

func (d *document) keep(p []byte) {
	d.text = append(d.text, p[:min(len(p), keyLimit-len(d.text))]...)
}

// stringEnded looks at the string that has just ended: a key, or the one kind
// of string value that is of interest.
func (d *document) stringEnded() {
	switch {
	case d.wantKey && d.depth == 1:
		d.member = known(d.text)
	case d.wantKey && d.depth == 3:
		d.inFinish = d.inChoice() && string(d.text) == "finish_reason"
	case d.inFinish && d.depth == 3 && len(d.text) > 0:
		d.finish = string(d.text)
	}
}

// known returns the members that matter, and "" for all others.
func known(key []byte) string {
	switch string(key) {
	case "usage":
		return "usage"
	case "choices":
		return "choices"
	case "error":
		return "error"
	}
	return ""
}

func (d *document) inChoice() bool {
	return d.member == "choices" && d.open[2] == '[' && d.open[3] == '{'
}

// token takes one byte outside strings.
func (d *document) token(c byte) {
	switch c {
	case '"':
		d.inString, d.escaped, d.text = true, false, d.text[:0]
	case '{', '[':
		d.depth++
		if d.depth < len(d.open) {
			d.open[d.depth] = c
		}
		d.wantKey = c == '{'
	case ':':
		d.wantKey = false
		if d.depth == 1 && (d.member == "usage" || d.member == "error") {
			d.capturing, d.captured = true, d.captured[:0]
		}
	case ',', '}', ']':
		d.valueEnded(c)
	}
}

func (d *document) valueEnded(c byte) {
	if d.depth == 1 && d.capturing {
		d.commit()
	}
	if c != ',' {
		d.depth = max(d.depth-1, 0)
	}
	if d.depth <= 1 && c == ',' || d.depth == 0 {
		d.member = ""
	}
	if d.depth <= 3 {
		d.inFinish = false
	}
	d.wantKey = c == ',' && d.depth < len(d.open) && d.open[d.depth] == '{'
}

// capture appends to the value that goes by; one that is too long is let go.
func (d *document) capture(p []byte) {
	if len(d.captured)+len(p) > maxUsage {
		p = p[:maxUsage-len(d.captured)]
		if d.member == "usage" {
			d.capturing = false
		}
	}
	d.captured = append(d.captured, p...)
}

// commit reads the captured value, which begins with the colon.
func (d *document) commit() {
	d.capturing = false
	value := bytes.TrimSpace(d.captured[1:])
	if d.member == "error" {
		d.hasError = d.hasError || string(value) != "null"
		return
	}
	if usage := parseUsage(value); usage != (compaction.Usage{}) {
		d.usage = usage
	}
}

// parseUsage reads a usage object. Cached tokens go by three names: OpenAI's,
// DeepSeek's and Moonshot's.
func parseUsage(value []byte) compaction.Usage {
	var fields struct {
		Prompt     tokenCount `json:"prompt_tokens"`
		Completion tokenCount `json:"completion_tokens"`
		Details    struct {
			Cached tokenCount `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CacheHit tokenCount `json:"prompt_cache_hit_tokens"`
		Cached   tokenCount `json:"cached_tokens"`
	}
	var wrongType *json.UnmarshalTypeError // of one member: the others were read
	if err := json.Unmarshal(value, &fields); err != nil && !errors.As(err, &wrongType) {
		return compaction.Usage{}
	}
	return compaction.Usage{
		Prompt:     int(fields.Prompt),
		Completion: int(fields.Completion),
		Cached:     int(max(fields.Details.Cached, fields.CacheHit, fields.Cached)),
	}
}

// tokenCount is a number of tokens: 0 for whatever is not one. Some upstreams
// write 12.0.
type tokenCount int

// maxTokenCount is beyond every model: a larger number is a mistake.
const maxTokenCount = 1e9

func (n *tokenCount) UnmarshalJSON(b []byte) error {
	*n = 0
	if f, err := strconv.ParseFloat(string(b), 64); err == nil && f >= 0 && f <= maxTokenCount {
		*n = tokenCount(f)
	}
	return nil
}
