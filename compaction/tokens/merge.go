package tokens

// maxScan is the length, in bytes, of the longest piece that merge takes.
const maxScan = 32 // a multiple of four

// scan is the memory that merging one short piece takes. It is used again and
// again: clearing it would take longer than most merges.
type scan struct {
	bytes [maxScan + 8]byte // the piece, with room for rank to read on
	// By where a part begins: its union with its right neighbour, and where its
	// neighbours begin. The places of bytes that have become part of another
	// have no union.
	unions     [maxScan]uint64
	next, prev [maxScan + 1]int
}

// merge returns how many tokens a piece of 2 to maxScan bytes becomes. It
// starts from single bytes and puts together, over and over, the two neighbours
// whose union has the lowest rank, the leftmost of them first, until no union
// is a token. A scan for the lowest rank is quickest where there are few.
func (s *scan) merge(t *table, piece []byte) int {
	n := copy(s.bytes[:maxScan], piece)
	for i := range n - 1 {
		s.unions[i] = union(t.pairs[int(s.bytes[i])<<8|int(s.bytes[i+1])], i)
		s.next[i], s.prev[i+1] = i+1, i
	}
	s.next[n-1] = n
	slots := (n-1)/4*4 + 4 // the scan takes four at a time
	for i := n - 1; i < slots; i++ {
		s.unions[i] = noUnion
	}

	parts := n
	for {
		lowest := lowestUnion(s.unions[:slots])
		if lowest == noUnion {
			return parts
		}
		at := place(lowest)
		middle := s.next[at]
		end := s.next[middle]
		parts--
		s.unions[middle], s.unions[at] = noUnion, noUnion
		s.next[at] = end
		if end < n {
			s.prev[end] = at
			s.unions[at] = union(t.rank(s.bytes[:], at, s.next[end]), at)
		}
		if at > 0 {
			before := s.prev[at]
			s.unions[before] = union(t.rank(s.bytes[:], before, end), before)
		}
	}
}

const noUnion = 1<<64 - 1

// union returns what orders unions: by rank, then from left to right.
func union(rank uint32, at int) uint64 {
	if rank == none {
		return noUnion
	}
	return uint64(rank)<<32 | uint64(at) //nolint:gosec // a place is not negative
}

// place is where the parts that a union unites begin.
func place(union uint64) int {
	return int(union & (1<<32 - 1))
}

// lowestUnion returns the lowest of unions, of which there are a multiple of
// four, by four scans that do not wait for each other.
func lowestUnion(unions []uint64) uint64 {
	a, b, c, d := uint64(noUnion), uint64(noUnion), uint64(noUnion), uint64(noUnion)
	for len(unions) >= 4 {
		a, b, c, d = min(a, unions[0]), min(b, unions[1]), min(c, unions[2]), min(d, unions[3])
		unions = unions[4:]
	}
	return min(a, b, c, d)
}
