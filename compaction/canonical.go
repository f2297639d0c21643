package compaction

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// maxCanonicalDepth bounds how deep a value may nest to have a canonical form.
// Each level of objects whose keys are not in order is copied once more.
const maxCanonicalDepth = 64

const errNotCanonical scanError = "no canonical form"

// canonicalizer writes JSON in one spelling: no white space, keys in order,
// strings with no escapes but \" and \\, and a comma after every element.
// Numbers stay as spelled: what 1.0 and 1 mean is the reader's affair.
type canonicalizer struct {
	scanner

	out   []byte
	omit  omission
	open  []member // of the objects being written, outermost first
	spare []byte   // holds an object while its members are put in order
}

// omission is what a canonical form leaves out, a set.
type omission uint8

const (
	omitMarks omission = 1 << iota // cache_control, in any object
	omitID                         // id, in the outermost object
)

// member is where a member of an object stands in out: the key up to value, the
// whole up to end.
type member struct{ from, value, end int }

// canonical appends the canonical form of text to dst. It reports false, with
// nothing appended, where text has none: it is not one JSON value, an object in
// it has a key twice, it nests too deeply, or it holds half of a surrogate pair.
func (c *canonicalizer) canonical(dst, text []byte, omit omission) ([]byte, bool) {
	c.scanner = scanner{text: text, limit: maxCanonicalDepth}
	c.out, c.omit, c.open = dst, omit, c.open[:0]
	err := c.write()
	if err == nil {
		err = c.end()
	}
	out := c.out
	c.text, c.out = nil, nil // keep nothing of the request alive
	if err != nil || c.lone {
		return dst, false
	}
	return out, true
}

// write writes the value at pos.
func (c *canonicalizer) write() error {
	switch c.peek() {
	case '{':
		return c.writeObject()
	case '[':
		c.out = append(c.out, '[')
		err := c.array(func() error {
			err := c.write()
			c.out = append(c.out, ',')
			return err
		})
		c.out = append(c.out, ']')
		return err
	}
	at, err := c.value()
	if err != nil {
		return err
	}
	if c.text[at.from] == '"' {
		c.out = appendQuoted(c.out, at.in(c.text))
		return nil
	}
	c.out = append(c.out, at.in(c.text)...)
	return nil
}

func (c *canonicalizer) writeObject() error {
	c.out = append(c.out, '{')
	first := len(c.open)
	if err := c.members(c.writeMember); err != nil {
		return err
	}
	if err := c.order(c.open[first:]); err != nil {
		return err
	}
	c.open = c.open[:first]
	c.out = append(c.out, '}')
	return nil
}

func (c *canonicalizer) writeMember() error {
	key, err := c.colon()
	if err != nil {
		return err
	}
	from := len(c.out)
	c.out = appendQuoted(c.out, key.in(c.text))
	value := len(c.out)
	if c.omits(c.out[from:]) {
		c.out = c.out[:from]
		return c.skip()
	}
	if err := c.write(); err != nil {
		return err
	}
	c.out = append(c.out, ',')
	c.open = append(c.open, member{from, value, len(c.out)})
	return nil
}

// omits says whether the member with the key, as written, is left out.
func (c *canonicalizer) omits(key []byte) bool {
	switch string(key) {
	case `"cache_control"`:
		return c.omit&omitMarks != 0
	case `"id"`:
		return c.omit&omitID != 0 && c.depth == 1
	}
	return false
}

// order puts members, which stand one after the other at the end of out, in the
// order of their keys.
func (c *canonicalizer) order(members []member) error {
	compare := func(a, b member) int { return bytes.Compare(c.out[a.from:a.value], c.out[b.from:b.value]) }
	if !slices.IsSortedFunc(members, compare) {
		from := members[0].from
		slices.SortFunc(members, compare)
		c.spare = c.spare[:0]
		for i, m := range members {
			at := from + len(c.spare)
			c.spare = append(c.spare, c.out[m.from:m.end]...)
			members[i] = member{at, at + m.value - m.from, at + m.end - m.from}
		}
		copy(c.out[from:], c.spare)
	}
	for i := 1; i < len(members); i++ {
		if compare(members[i-1], members[i]) == 0 {
			return errNotCanonical
		}
	}
	return nil
}

// appendQuoted appends a JSON string, quotes included, with no escapes but \"
// and \\.
func appendQuoted(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		r, size := unescape(raw[i:])
		if r == '"' || r == '\\' {
			dst = append(dst, '\\')
		}
		dst = utf8.AppendRune(dst, r)
		raw = raw[i+size:]
	}
}
