package tokens

// A long piece is merged window by window, which bounds the working memory and
// keeps it in the processor's cache. Two facts make that exact; they hold of any
// ranks, since the next union is always the lowest-ranked, the leftmost first:
//
//   - Where the tokens of a text have a boundary, the tokens on either side are
//     those of the two sides by themselves: unions on one side come in the same
//     order whether or not there is another.
//   - A text in which every two neighbouring tokens are the tokens of their own
//     union is merged right: the first union across a boundary would have
//     happened as well among those two.
//
// So if two windows that overlap have one token in common, at the same place,
// then the first window's tokens up to it and the second's from it on are those
// of both together.

const (
	// windowSize is the first size tried, in bytes.
	windowSize = 2048

	// overlapPart is the part of a window, as a divisor, that the next one
	// overlaps: 512 bytes, four times the longest token.
	overlapPart = 4
)

// mergeLong returns how many tokens a piece becomes, whatever its length. It
// takes time in proportion to it, or n log² n if windows find no common token.
func (t *table) mergeLong(w *workspace, piece []byte) int {
	for size := windowSize; ; size *= 2 {
		if n, ok := t.mergeWindows(w, piece, size); ok {
			return n
		}
	}
}

// mergeWindows is mergeLong with windows of one size. It fails if two of them
// have no token in common, which cannot be if one holds the piece.
func (t *table) mergeWindows(w *workspace, piece []byte, size int) (n int, ok bool) {
	start, from := 0, 0 // the window, and its first token that is not counted yet
	ends := w.merge(t, piece[:min(size, len(piece))])
	for start+size < len(piece) {
		// The next window begins with the token that the overlap begins in.
		anchor := from
		for anchor+1 < len(ends) && int(ends[anchor]) <= size-size/overlapPart {
			anchor++
		}
		shift := 0
		if anchor > 0 {
			shift = int(ends[anchor-1])
		}
		if shift == 0 {
			return 0, false
		}
		w.before = append(w.before[:0], ends...)
		start += shift
		ends = w.merge(t, piece[start:min(start+size, len(piece))])
		old, now := commonToken(w.before, anchor, ends, shift)
		if old < 0 {
			return 0, false
		}
		n += old - from
		from = now
	}
	return n + len(ends) - from, true
}

// commonToken returns the first token that both windows have, as its index in
// each; old is -1 if there is none. The tokens are given by their ends, in the
// first window from anchor on; shift is how far into it the second begins.
func commonToken(before []int32, anchor int, after []int32, shift int) (old, now int) {
	same := true // the tokens before these ended at the same place
	for i, k := anchor, 0; i < len(before) && k < len(after); {
		switch a, b := int(before[i]), int(after[k])+shift; {
		case a < b:
			same = false
			i++
		case a > b:
			same = false
			k++
		case same:
			return i, k
		default:
			same = true
			i++
			k++
		}
	}
	return -1, 0
}

// workspace is the memory that merging one window takes. Parts are known by
// where they begin.
type workspace struct {
	next, prev []int32  // the neighbouring parts; next of the last is the length
	ranks      []uint32 // of each part united with the next; none also if it is part of another
	queue      queue
	ends       []int32 // of the tokens
	before     []int32 // of the window before
}

// merge returns the ends of the tokens of text, valid until it is called again.
func (w *workspace) merge(t *table, text []byte) []int32 {
	n := len(text)
	w.prepare(t, text)
	for len(w.queue) > 0 {
		top := w.queue.pop()
		rank, at := uint32(top>>32), int32(uint32(top))
		if w.ranks[at] != rank {
			continue // one of the two has grown since
		}
		middle := w.next[at]
		end := w.next[middle]
		w.ranks[middle] = none
		w.next[at] = end
		if int(end) < n {
			w.prev[end] = at
			w.setRank(t, text, at, w.next[end])
		} else {
			w.ranks[at] = none
		}
		if at > 0 {
			w.setRank(t, text, w.prev[at], end)
		}
	}
	w.ends = w.ends[:0]
	for i := int32(0); int(i) < n; i = w.next[i] {
		w.ends = append(w.ends, w.next[i])
	}
	return w.ends
}

// prepare makes each byte of text a part.
func (w *workspace) prepare(t *table, text []byte) {
	n := len(text)
	if cap(w.ranks) < n {
		w.next, w.prev, w.ranks = make([]int32, n), make([]int32, n), make([]uint32, n)
	}
	w.next, w.prev, w.ranks, w.queue = w.next[:n], w.prev[:n], w.ranks[:n], w.queue[:0]
	for i := range n {
		w.next[i], w.prev[i], w.ranks[i] = int32(i+1), int32(i-1), none
		if i+1 < n {
			w.ranks[i] = t.pairs[int(text[i])<<8|int(text[i+1])]
		}
		if w.ranks[i] != none {
			w.queue = append(w.queue, uint64(w.ranks[i])<<32|uint64(i))
		}
	}
	w.queue.order()
}

// setRank notes the rank of the part at i united with the next, which ends at
// end.
func (w *workspace) setRank(t *table, text []byte, i, end int32) {
	rank := t.rank(text, int(i), int(end))
	w.ranks[i] = rank
	if rank != none {
		w.queue.push(uint64(rank)<<32 | uint64(i))
	}
}
