package tokens

import (
	"encoding/binary"
	"math/bits"
)

// shortWord returns the end of " ?[A-Za-z]{1,7}" at text[i:], with capital that
// of " ?[A-Za-z][a-z]{0,6}", or 0 if this shortcut does not apply: what follows
// might belong to the word, or the text ends. Most pieces of most text are such
// words. Eight bytes are looked at together, since a loop that ends somewhere
// else in every word is what a processor is worst at.
func shortWord(text []byte, i int, capital bool) int {
	if text[i] == ' ' {
		i++
	}
	if i+8 > len(text) {
		return 0
	}
	word := binary.LittleEndian.Uint64(text[i:])
	small := word | 0x20 // the first letter, which alone may be a capital
	if !capital {
		small = word | 0x20*eachByte
	}
	n := leadingLetters(small)
	if n == 0 || n == 8 {
		return 0
	}
	follows := text[i+n]
	if follows >= 0x80 || capital && n == 1 && word&0x20 == 0 && 'A' <= follows && follows <= 'Z' {
		return 0
	}
	return i + n
}

const eachByte = 0x0101010101010101

// leadingLetters returns how many of a little-endian word's bytes are between
// 'a' and 'z' before one is not.
func leadingLetters(word uint64) int {
	const high = 0x80 * eachByte
	low := word &^ high                      // so that no sum runs over into the next byte
	fromA := low + (0x80-'a')*eachByte       // has its high bit set from 'a' on
	beyondZ := low + (0x80-('z'+1))*eachByte // and this beyond 'z'
	return bits.TrailingZeros64(^(fromA&^beyondZ&^word)&high) / 8
}
