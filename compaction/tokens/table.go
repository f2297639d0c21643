package tokens

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// none is the rank of bytes that are no token.
const none = math.MaxUint32

// table maps the bytes of every token to its rank. A token of up to 15 bytes,
// as nearly all are, is its own key in an open-addressing table: finding it
// reads one or two cache lines and compares no memory elsewhere. Keys hold the
// token's length in the highest byte, and so are never 0, which marks a free
// place.
type table struct {
	pairs  [1 << 16]uint32 // by the first byte << 8 | the second
	short  shortTable      // 1 to 7 bytes
	middle middleTable     // 8 to 15 bytes
	long   map[string]uint32
}

type shortTable struct {
	places

	keys  []uint64
	ranks []uint32
}

type middleTable struct {
	places

	keys  [][2]uint64
	ranks []uint32
}

// places says where in a table the search for a key begins, and where it goes
// on at the beginning.
type places struct {
	shift int    // of a hash
	mask  uint64 // the number of places, less one
}

// placesFor returns the places of a table for n keys: the power of two that
// leaves it at most two thirds full, at least one place being free.
func placesFor(n int) places {
	log := bits.Len(uint(n * 3 / 2))
	return places{shift: 64 - log, mask: 1<<log - 1}
}

func newShortTable(n int) shortTable {
	p := placesFor(n)
	return shortTable{p, make([]uint64, p.mask+1), make([]uint32, p.mask+1)}
}

func newMiddleTable(n int) middleTable {
	p := placesFor(n)
	return middleTable{p, make([][2]uint64, p.mask+1), make([]uint32, p.mask+1)}
}

const (
	maxShort  = 7
	maxMiddle = 15
)

// newTable returns a table with the tokens by rank. An empty token is a rank
// that is not used.
func newTable(tokens func(yield func(rank uint32, token []byte) bool)) *table {
	short, middle := 0, 0
	for _, token := range tokens {
		switch {
		case len(token) <= maxShort:
			short++
		case len(token) <= maxMiddle:
			middle++
		}
	}
	t := &table{short: newShortTable(short), middle: newMiddleTable(middle), long: map[string]uint32{}}
	for i := range t.pairs {
		t.pairs[i] = none
	}
	for rank, token := range tokens {
		switch n := len(token); {
		case n == 0:
		case n <= maxShort:
			if n == 2 {
				t.pairs[int(token[0])<<8|int(token[1])] = rank
			}
			t.short.add(shortKey(token, 0, n), rank)
		case n <= maxMiddle:
			t.middle.add(middleKey(token, 0, n), rank)
		default:
			t.long[string(token)] = rank
		}
	}
	return t
}

// load returns n bytes, 8 at most, of text[i:] as a little-endian number.
func load(text []byte, i, n int) uint64 {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:]) & (1<<(8*n) - 1)
	}
	var word uint64
	for k := n - 1; k >= 0; k-- {
		word = word<<8 | uint64(text[i+k])
	}
	return word
}

// shortKey is the key of n bytes of text[i:], maxShort at most.
func shortKey(text []byte, i, n int) uint64 { return load(text, i, n) | lengthMark(n) }

// middleKey is the key of n bytes of text[i:], 8 to maxMiddle.
func middleKey(text []byte, i, n int) [2]uint64 {
	return [2]uint64{load(text, i, 8), load(text, i+8, n-8) | lengthMark(n)}
}

func lengthMark(n int) uint64 {
	return uint64(n) << 56 //nolint:gosec // a length is not negative
}

// hash spreads a key over 64 bits, of which the highest are the best.
func hash(key uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15
	return (key ^ key>>32) * golden
}

// rank returns the rank of the token text[from:to], none if it is none. It may
// read, and ignores, bytes after it.
func (t *table) rank(text []byte, from, to int) uint32 {
	switch n := to - from; {
	case n <= maxShort:
		return t.short.find(shortKey(text, from, n))
	case n <= maxMiddle:
		return t.middle.find(middleKey(text, from, n))
	default:
		if rank, ok := t.long[string(text[from:to])]; ok {
			return rank
		}
		return none
	}
}

func (t *shortTable) find(key uint64) uint32 {
	for i := hash(key) >> t.shift; ; i++ {
		switch t.keys[i&t.mask] {
		case key:
			return t.ranks[i&t.mask]
		case 0:
			return none
		}
	}
}

func (t *shortTable) add(key uint64, rank uint32) {
	i := hash(key) >> t.shift
	for t.keys[i] != 0 {
		i = (i + 1) & t.mask
	}
	t.keys[i], t.ranks[i] = key, rank
}

func (t *middleTable) find(key [2]uint64) uint32 {
	for i := hash2(key) >> t.shift; ; i++ {
		switch t.keys[i&t.mask] {
		case key:
			return t.ranks[i&t.mask]
		case [2]uint64{}:
			return none
		}
	}
}

func (t *middleTable) add(key [2]uint64, rank uint32) {
	i := hash2(key) >> t.shift
	for t.keys[i] != [2]uint64{} {
		i = (i + 1) & t.mask
	}
	t.keys[i], t.ranks[i] = key, rank
}

func hash2(key [2]uint64) uint64 { return hash(key[0] ^ bits.RotateLeft64(hash(key[1]), 32)) }
