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
func (w *windows) mergeLong(t *table, piece []byte) int {
	for size := windowSize; ; size *= 2 {
		if n, ok := w.mergeAll(t, piece, size); ok {
			return n
		}
	}
}

// mergeAll is mergeLong with windows of one size. It fails if two of them
// have no token in common, which cannot be if one holds the piece.
func (w *windows) mergeAll(t *table, piece []byte, size int) (n int, ok bool) {
	start, from := 0, 0 // the window, and its first token that is not counted yet
	ends := w.merge(t, piece[:min(size, len(piece))])
	for start+size < len(piece) {
		// The next window begins with the token that the overlap begins in.
		anchor := from
		for anchor+1 < len(ends) && ends[anchor] <= size-size/overlapPart {
			anchor++
		}
		shift := 0
		if anchor > 0 {
			shift = ends[anchor-1]
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
func commonToken(before []int, anchor int, after []int, shift int) (old, now int) {
	same := true // the tokens before these ended at the same place
	for i, k := anchor, 0; i < len(before) && k < len(after); {
		switch a, b := before[i], after[k]+shift; {
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

// windows is the memory that merging one window at a time takes. As in scan,
// parts are known by where they begin.
type windows struct {
	next, prev []int // the neighbouring parts; next of the last is the length
	unions     minima
	ends       []int // of the tokens
	before     []int // of the tokens of the window before
}

// merge returns the ends of the tokens of text, valid until it is called again.
func (w *windows) merge(t *table, text []byte) []int {
	n := len(text)
	w.prepare(t, text)
	for {
		lowest := w.unions.lowest()
		if lowest == noUnion {
			break
		}
		at := place(lowest)
		middle := w.next[at]
		end := w.next[middle]
		w.next[at] = end
		w.unions.set(middle, noUnion)
		if end < n {
			w.prev[end] = at
			w.unite(t, text, at, w.next[end])
		} else {
			w.unions.set(at, noUnion)
		}
		if at > 0 {
			w.unite(t, text, w.prev[at], end)
		}
	}
	w.ends = w.ends[:0]
	for i := 0; i < n; i = w.next[i] {
		w.ends = append(w.ends, w.next[i])
	}
	return w.ends
}

// prepare makes each byte of text a part.
func (w *windows) prepare(t *table, text []byte) {
	n := len(text)
	if cap(w.next) < n {
		w.next, w.prev = make([]int, n), make([]int, n)
	}
	w.next, w.prev = w.next[:n], w.prev[:n]
	w.unions = w.unions.reset(n)
	for i := range n {
		w.next[i], w.prev[i] = i+1, i-1
		if i+1 < n {
			w.unions[0][i] = union(t.pairs[int(text[i])<<8|int(text[i+1])], i)
		}
	}
	w.unions.fill()
}

// unite notes what the part at i and the next, which ends at end, are together.
func (w *windows) unite(t *table, text []byte, i, end int) {
	w.unions.set(i, union(t.rank(text, i, end), i))
}
