package tokens

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

const (
	// maxRun is the longest run of characters of one class, in bytes, that is
	// counted whole. A piece that is merged is at most two such runs long.
	maxRun = 512

	// maxPart is the size, in bytes, from which on a part ends at the next
	// space; it bounds the working memory of ordinary text.
	maxPart = 16 << 10
)

// part is a stretch of text that is counted at once.
type part struct {
	text   string // what is encoded
	sample string // the end of text, where it is the beginning of a long run
	rest   int    // bytes of that run after text, counted by the sample's ratio
}

// class is a set of kinds of characters. The kinds overlap where the patterns
// of the encodings do, so that every piece of every pattern is made of at most
// two runs of one kind, and a character or a contraction beside them.
type class uint8

const (
	letter class = 1 << iota // letters, and marks as o200k_base sees them
	digit
	space
	other // neither letter, digit nor space; marks as cl100k_base sees them
	tail  // what may follow punctuation within a piece of o200k_base
	kinds = iota
)

// parts cuts text so that each part, encoded by itself, gives the tokens that
// it has within text, long runs apart. It cuts in two places only: before a
// space that follows something else, where all patterns begin a new piece, and
// inside a run of more than maxRun bytes, whose remainder becomes part.rest.
func parts(text string) iter.Seq[part] {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // as the encoder will see it
	}
	return func(yield func(part) bool) {
		start := 0    // of the current part
		var began run // of each kind
		before := class(0)
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRuneInString(text[i:])
			c := classify(r)
			if i-start >= maxPart && r == ' ' && before&space == 0 {
				if !yield(part{text: text[start:i]}) {
					return
				}
				start = i
			}
			if k := began.tooLong(c, i+size); k >= 0 {
				end := runEnd(text, i, kind(k))
				if !yield(part{text: text[start:i], sample: text[began[k]:i], rest: end - i}) {
					return
				}
				start, i, before = end, end, kind(k)
				began.restart(0, end)
				continue
			}
			i, before = i+size, c
			began.restart(c, i)
		}
		if start < len(text) {
			yield(part{text: text[start:]})
		}
	}
}

// run holds, for each kind, where the present run of that kind began.
type run [kinds]int

func kind(k int) class { return class(1) << k }

// tooLong returns a kind of c whose run, if it went on to the offset to, would
// be longer than maxRun; -1 if there is none.
func (began *run) tooLong(c class, to int) int {
	for k := range began {
		if c&kind(k) != 0 && to-began[k] > maxRun {
			return k
		}
	}
	return -1
}

// restart ends the runs of all kinds but those of c at the offset at.
func (began *run) restart(c class, at int) {
	for k := range began {
		if c&kind(k) == 0 {
			began[k] = at
		}
	}
}

// runEnd returns the end of the run of the class that text[from] belongs to.
func runEnd(text string, from int, of class) int {
	for i, r := range text[from:] {
		if classify(r)&of == 0 {
			return from + i
		}
	}
	return len(text)
}

// classify says of which kinds a character is. The order matters: letters are
// tried first since most text is made of them.
func classify(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return space | tail
	case r == '/':
		return other | tail
	case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || unicode.IsLetter(r):
		return letter
	case unicode.IsMark(r):
		return letter | other
	case unicode.IsNumber(r):
		return digit
	case unicode.IsSpace(r):
		return space
	}
	return other
}
