package overflow

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escape decodes the escape at i, JSON's or Python's, and appends it to b.
func (r *reader) escape(b []byte, raw bool) []byte {
	r.i++
	if r.i >= len(r.s) {
		return b
	}
	c := r.s[r.i]
	r.i++
	switch c {
	case 'n':
		return append(b, '\n')
	case 't', 'r', 'f', 'b':
		return append(b, ' ')
	case 'u':
		return utf8.AppendRune(b, r.utf16())
	case 'x':
		v, ok := r.hex(2)
		switch {
		case !ok:
			return append(b, 'x')
		case raw:
			return append(b, byte(v)) //nolint:gosec // of two digits
		}
		return utf8.AppendRune(b, v)
	}
	return append(b, c)
}

// utf16 reads the digits of \uXXXX and the low half of a surrogate pair.
func (r *reader) utf16() rune {
	v, ok := r.hex(4)
	if !ok {
		return 'u'
	}
	if utf16.IsSurrogate(v) && strings.HasPrefix(r.s[r.i:], `\u`) {
		r.i += 2
		if low, ok := r.hex(4); ok {
			return utf16.DecodeRune(v, low)
		}
	}
	return v
}

// hex reads a number of at most four digits.
func (r *reader) hex(digits int) (rune, bool) {
	if r.i+digits > len(r.s) {
		return 0, false
	}
	v, err := strconv.ParseUint(r.s[r.i:r.i+digits], 16, 16)
	if err != nil {
		return 0, false
	}
	r.i += digits
	return rune(v), true
}
