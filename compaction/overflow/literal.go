package overflow

import "strings"

const (
	// maxDepth bounds the nesting that the reader follows. What lies deeper is
	// read as if it stood on the last level.
	maxDepth = 32
	// maxNodes bounds how many values of one literal are kept.
	maxNodes = 4096
)

// node is one value of a literal. A list has items; an object has as many
// names as items, those that keyRole knows; text is set for strings and words.
type node struct {
	shape shape
	text  string
	names []string
	items []node
}

type shape uint8

const (
	wordShape shape = iota // number, true, null, None, NaN, …
	textShape
	listShape
	objectShape
)

// reader reads JSON and Python literals leniently: both kinds of quotes, bytes
// prefixes, tuples, missing ends. Wrappers put errors into prose by all kinds
// of formatting, so it never fails and never goes back: it takes what it can.
type reader struct {
	s    string
	i    int
	kept int
}

// read parses the literal at the start of s and returns it and its length.
func read(s string) (node, int) {
	r := reader{s: s}
	n := r.value(0)
	return n, r.i
}

func (r *reader) value(depth int) node {
	r.space()
	if r.i >= len(r.s) {
		return node{}
	}
	switch c := r.s[r.i]; {
	case c == '{':
		return r.object(depth)
	case c == '[' || c == '(':
		return r.list(depth)
	case c == '"' || c == '\'':
		return node{shape: textShape, text: r.quoted(false)}
	case c == 'b' && r.i+1 < len(r.s) && (r.s[r.i+1] == '"' || r.s[r.i+1] == '\''):
		r.i++
		return node{shape: textShape, text: r.quoted(true)}
	}
	return node{shape: wordShape, text: r.word()}
}

func (r *reader) object(depth int) node {
	n := node{shape: objectShape}
	r.i++
	for r.next('}') {
		key := r.key()
		r.space()
		if r.i >= len(r.s) || r.s[r.i] != ':' {
			continue
		}
		r.i++
		if depth >= maxDepth {
			continue
		}
		value := r.value(depth + 1)
		if keyRole(key) != ignored && r.keep() {
			n.names = append(n.names, key)
			n.items = append(n.items, value)
		}
	}
	return n
}

func (r *reader) list(depth int) node {
	n := node{shape: listShape}
	end := byte(']')
	if r.s[r.i] == '(' {
		end = ')'
	}
	r.i++
	for r.next(end) {
		if depth >= maxDepth {
			r.i++
			continue
		}
		before := r.i
		value := r.value(depth + 1)
		if value.shape != wordShape && r.keep() {
			n.items = append(n.items, value)
		}
		if r.i == before {
			r.i++
		}
	}
	return n
}

// keep counts a value that is to be kept, and refuses when there are enough.
func (r *reader) keep() bool {
	r.kept++
	return r.kept <= maxNodes
}

// next skips to the next element and reports whether there is one. It consumes
// the closing bracket.
func (r *reader) next(end byte) bool {
	for r.space(); r.i < len(r.s); r.space() {
		switch r.s[r.i] {
		case end:
			r.i++
			return false
		case ',':
			r.i++
		default:
			return true
		}
	}
	return false
}

// key reads a member's name and consumes at least one byte.
func (r *reader) key() string {
	if c := r.s[r.i]; c == '"' || c == '\'' {
		return r.quoted(false)
	}
	if w := r.word(); w != "" {
		return w
	}
	r.i++
	return ""
}

// word reads up to the next byte that has a meaning of its own.
func (r *reader) word() string {
	from := r.i
	for r.i < len(r.s) && !strings.ContainsRune(" \t\r\n,:{}[]()\"'", rune(r.s[r.i])) {
		r.i++
	}
	return r.s[from:r.i]
}

func (r *reader) space() {
	for r.i < len(r.s) && isSpace(r.s[r.i]) {
		r.i++
	}
}

// quoted reads a string. A quote closes it only if what follows can follow a
// string: wrappers format "model's" into single quotes without escaping it.
func (r *reader) quoted(raw bool) string {
	quote := r.s[r.i]
	r.i++
	from := r.i
	for r.i < len(r.s) && r.s[r.i] != '\\' && (r.s[r.i] != quote || !r.closes()) {
		r.i++
	}
	if r.i >= len(r.s) || r.s[r.i] == quote {
		s := r.s[from:r.i]
		r.i = min(r.i+1, len(r.s))
		return s
	}
	b := append([]byte(nil), r.s[from:r.i]...)
	for r.i < len(r.s) {
		switch c := r.s[r.i]; {
		case c == '\\':
			b = r.escape(b, raw)
		case c == quote && r.closes():
			r.i++
			return string(b)
		default:
			b = append(b, c)
			r.i++
		}
	}
	return string(b)
}

// closes reports whether the quote at i can be a closing one.
func (r *reader) closes() bool {
	i := r.i + 1
	for i < len(r.s) && isSpace(r.s[i]) {
		i++
	}
	return i == len(r.s) || strings.IndexByte(",:}])", r.s[i]) >= 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
