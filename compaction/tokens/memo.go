package tokens

// memo remembers how many tokens the last pieces became that are no tokens
// themselves, up to maxMemo bytes long. Code and prose use the same names over
// and over, and to merge one takes ten times as long as to remember it. A piece
// takes the place of another whose key falls there too.
type memo [1 << memoBits]struct {
	key    memoKey
	tokens int
}

const (
	memoBits = 12 // 160 KB
	maxMemo  = 31
)

// memoKey holds a piece's bytes, and in the highest its length.
type memoKey [4]uint64

func memoKeyOf(text []byte, from, to int) memoKey {
	var key memoKey
	for w := 0; from < to; w, from = w+1, from+8 {
		key[w] = load(text, from, min(to-from, 8))
	}
	return key
}

// merge returns how many tokens text[from:to] becomes, from memory if it can.
func (m *memo) merge(s *scan, t *table, text []byte, from, to int) int {
	key := memoKeyOf(text, from, to)
	key[3] |= lengthMark(to - from)
	known := &m[hash(hash2([2]uint64{key[0], key[1]})^hash2([2]uint64{key[2], key[3]}))>>(64-memoBits)]
	if known.key != key {
		known.key, known.tokens = key, s.merge(t, text[from:to])
	}
	return known.tokens
}
