package compaction

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Eight bytes are looked at together as one word; these have the same byte in
// all eight places.
const (
	ones   = 0x0101010101010101
	highs  = 0x80 * ones
	quotes = '"' * ones
	slants = '\\' * ones
	blanks = ' ' * ones
)

// str passes the string at pos and returns where it stands, quotes included.
func (s *scanner) str() (span, error) {
	text, from := s.text, s.pos
	var seen uint64 // all bytes, or-ed: tells whether any is outside ASCII
	i := from + 1
	for {
		for i+8 <= len(text) {
			word := binary.LittleEndian.Uint64(text[i:])
			seen |= word
			if stop := stops(word); stop != 0 {
				i += bits.TrailingZeros64(stop) / 8
				break
			}
			i += 8
		}
		for i < len(text) && !stopsAt(text[i]) { // the last few bytes of the text
			seen |= uint64(text[i])
			i++
		}
		if i == len(text) {
			s.pos = i
			return span{}, errSyntax
		}
		if text[i] == '"' {
			break
		}
		if text[i] == '\\' && i+1 < len(text) && isShort(text[i+1]) { // most escapes by far are \n and \"
			i += 2
			continue
		}
		n := s.longEscape(text[i:])
		if n == 0 { // no escape, or a control character
			s.pos = i
			return span{}, errSyntax
		}
		i += n
	}
	s.pos = i + 1
	if seen&highs != 0 && !utf8.Valid(text[from+1:i]) {
		return span{}, errUTF8
	}
	return span{from, i + 1}, nil
}

// stops marks, by its highest bit, the first byte of word at which a string
// cannot simply go on: a quote, a backslash or a control character. Marks after
// the first may be wrong, since the subtractions borrow.
func stops(word uint64) uint64 {
	return (((word ^ quotes) - ones) | ((word ^ slants) - ones) | (word - blanks)) &^ word & highs
}

func stopsAt(c byte) bool { return c == '"' || c == '\\' || c < ' ' }

// isShort says whether a backslash and c are an escape.
func isShort(c byte) bool {
	const low = 1<<'"' | 1<<'/'
	const high = 1<<('\\'-64) | 1<<('b'-64) | 1<<('f'-64) | 1<<('n'-64) | 1<<('r'-64) | 1<<('t'-64)
	return c < 64 && low>>c&1 != 0 || c >= 64 && uint64(high)>>(c-64)&1 != 0
}

// longEscape returns the length of the escape \uXXXX that text begins with, 0 if
// it is none. A whole surrogate pair is one escape.
func (s *scanner) longEscape(text []byte) int {
	unit, ok := hex4(text)
	switch {
	case !ok:
		return 0
	case !utf16.IsSurrogate(unit):
		return 6
	case pair(unit, text[6:]) != utf8.RuneError:
		return 12
	}
	s.lone = true
	return 6
}

// hex4 reads the escape \uXXXX that text begins with.
func hex4(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case c-'0' <= 9:
			unit = unit<<4 | rune(c-'0')
		case (c|0x20)-'a' <= 5:
			unit = unit<<4 | rune((c|0x20)-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// pair returns the rune of the surrogate pair that unit and the escape at the
// beginning of rest make, utf8.RuneError if they make none.
func pair(unit rune, rest []byte) rune {
	low, ok := hex4(rest)
	if !ok {
		return utf8.RuneError
	}
	return utf16.DecodeRune(unit, low)
}

// unescape decodes the escape that text begins with, which must be a legal one,
// and returns its length. Half of a surrogate pair becomes U+FFFD.
func unescape(text []byte) (r rune, size int) {
	switch c := text[1]; c {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		unit, _ := hex4(text)
		if !utf16.IsSurrogate(unit) {
			return unit, 6
		}
		if r := pair(unit, text[6:]); r != utf8.RuneError {
			return r, 12
		}
		return utf8.RuneError, 6
	default:
		return rune(c), 2
	}
}

// appendDecoded appends the text of a JSON string, given without its quotes,
// which must be a legal one.
func appendDecoded(dst, raw []byte) []byte {
	const room = 8 // whole words are copied, of which less may count
	n := len(dst)
	dst = slices.Grow(dst, len(raw)+room)
	dst = dst[:cap(dst)]
	for len(raw) >= 8 {
		word := binary.LittleEndian.Uint64(raw)
		binary.LittleEndian.PutUint64(dst[n:], word)
		slash := ((word ^ slants) - ones) &^ (word ^ slants) & highs
		if slash == 0 {
			n, raw = n+8, raw[8:]
			continue
		}
		before := bits.TrailingZeros64(slash) / 8
		r, size := unescape(raw[before:])
		n += before
		if r < utf8.RuneSelf {
			dst[n] = byte(r) //nolint:gosec // less than utf8.RuneSelf
			n++
		} else {
			n += utf8.EncodeRune(dst[n:], r)
		}
		raw = raw[before+size:]
	}
	return appendSlowly(dst[:n], raw)
}

// appendSlowly is appendDecoded for a few bytes.
func appendSlowly(dst, raw []byte) []byte {
	for len(raw) > 0 {
		if raw[0] != '\\' {
			dst, raw = append(dst, raw[0]), raw[1:]
			continue
		}
		r, size := unescape(raw)
		dst, raw = utf8.AppendRune(dst, r), raw[size:]
	}
	return dst
}
