package tokens

import "unicode"

// class says which kind of character a rune is, as far as the encodings'
// patterns tell kinds apart. Every rune is of exactly one class; patterns ask
// for sets of them.
type class uint8

const (
	upper    class = 1 << iota // \p{Lu} \p{Lt}
	lower                      // \p{Ll}
	caseless                   // \p{Lm} \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	newline                    // CR, LF
	space                      // the rest of \s
	other                      // everything else, what is not assigned included

	letters = upper | lower | caseless
	signs   = mark | other    // [^\s\p{L}\p{N}]
	blanks  = newline | space // \s
	leads   = space | signs   // [^\r\n\p{L}\p{N}]
	heads   = upper | caseless | mark
	tails   = lower | caseless | mark
)

// classes holds the class of every rune: 1.1 MB, so that a character is one
// look-up whatever its script.
//
// The tables are Go's, of unicode.Version, as regexp2 and so tiktoken-go use
// them. OpenAI's own library may be compiled with a later Unicode: npm's 1.0.22
// knows 5,004 more letters, digits and marks, and counts these, and what stands
// beside them, otherwise. Apart from those it agrees on every rune.
type classes [unicode.MaxRune + 1]class

func newClasses() *classes {
	c := new(classes)
	for r := range c {
		c[r] = other
	}
	for _, kind := range []struct {
		class  class
		tables []*unicode.RangeTable
	}{
		{upper, []*unicode.RangeTable{unicode.Lu, unicode.Lt}},
		{lower, []*unicode.RangeTable{unicode.Ll}},
		{caseless, []*unicode.RangeTable{unicode.Lm, unicode.Lo}},
		{mark, []*unicode.RangeTable{unicode.M}},
		{number, []*unicode.RangeTable{unicode.N}},
		{space, []*unicode.RangeTable{unicode.White_Space}},
	} {
		for _, table := range kind.tables {
			c.set(table, kind.class)
		}
	}
	c['\r'], c['\n'] = newline, newline
	return c
}

func (c *classes) set(table *unicode.RangeTable, to class) {
	for _, r := range table.R16 {
		for i := int(r.Lo); i <= int(r.Hi); i += int(r.Stride) {
			c[i] = to
		}
	}
	for _, r := range table.R32 {
		for i := int(r.Lo); i <= int(r.Hi); i += int(r.Stride) {
			c[i] = to
		}
	}
}

// at returns the class and the size, in bytes, of the character at text[i].
// The text must be UTF-8; it is decoded here because that makes it short.
func (c *classes) at(text []byte, i int) (class, int) {
	if b := text[i]; b < 0x80 {
		return c[b], 1
	}
	return c.wide(text[i:])
}

func (c *classes) wide(text []byte) (class, int) {
	const low = 0x3f // what a continuation byte carries
	switch b := rune(text[0]); {
	case b < 0xe0:
		return c[b&0x1f<<6|rune(text[1]&low)], 2
	case b < 0xf0:
		_ = text[2]
		return c[b&0x0f<<12|rune(text[1]&low)<<6|rune(text[2]&low)], 3
	default:
		_ = text[3]
		return c[(b&0x07<<18|rune(text[1]&low)<<12|rune(text[2]&low)<<6|rune(text[3]&low))%(unicode.MaxRune+1)], 4
	}
}

// run returns the end of the characters of the set that text[i:] begins with.
func (c *classes) run(text []byte, i int, set class) int {
	for i < len(text) {
		if b := text[i]; b < 0x80 {
			if c[b]&set == 0 {
				return i
			}
			i++
			continue
		}
		class, size := c.wide(text[i:])
		if class&set == 0 {
			return i
		}
		i += size
	}
	return i
}
