package tokens

// memo remembers how many tokens the last pieces became that are no tokens
// themselves, up to maxMiddle bytes long. Code and prose use the same names over
// and over, and to merge one takes ten times as long as to remember it. A piece
// takes the place of another whose key falls there too.
type memo [1 << memoBits]struct {
	key    [2]uint64
	tokens int
}

const memoBits = 12 // 96 KB

// merge returns how many tokens text[from:to] becomes, from memory if it can.
func (m *memo) merge(s *scan, t *table, text []byte, from, to int) int {
	n := to - from
	var key [2]uint64
	if n < 8 {
		key[1] = shortKey(text, from, n) // no middleKey: it has another length
	} else {
		key = middleKey(text, from, n)
	}
	known := &m[hash2(key)>>(64-memoBits)]
	if known.key != key {
		known.key, known.tokens = key, s.merge(t, text[from:to])
	}
	return known.tokens
}
