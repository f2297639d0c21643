package tokens

// maxScan is the length, in bytes, of the longest piece that merge takes.
const maxScan = 80

// merge returns how many tokens a piece of 2 to maxScan bytes becomes. It
// starts from single bytes and puts together, over and over, the two neighbours
// whose union has the lowest rank, the leftmost of them first, until no union
// is a token. A scan for the lowest rank is quickest where there are few.
func (t *table) merge(piece []byte) int {
	var (
		bytes  [maxScan + 8]byte   // piece, with room for rank to read on
		starts [maxScan + 1]uint8  // where each part begins; at the end, len(piece)
		ranks  [maxScan + 1]uint32 // of each part united with its right neighbour
	)
	n := copy(bytes[:maxScan], piece)
	for i := range n - 1 {
		starts[i] = uint8(i)
		ranks[i] = t.pairs[int(bytes[i])<<8|int(bytes[i+1])]
	}
	starts[n-1], ranks[n-1], starts[n] = uint8(n-1), none, uint8(n)

	for n > 1 {
		lowest, at := uint32(none), 0
		for i, rank := range ranks[:n-1] {
			if rank < lowest {
				lowest, at = rank, i
			}
		}
		if lowest == none {
			break
		}
		for i := at + 1; i < n; i++ {
			starts[i], ranks[i] = starts[i+1], ranks[i+1]
		}
		n--
		ranks[at] = none
		if at+1 < n {
			ranks[at] = t.rank(bytes[:], int(starts[at]), int(starts[at+2]))
		}
		if at > 0 {
			ranks[at-1] = t.rank(bytes[:], int(starts[at-1]), int(starts[at+1]))
		}
	}
	return n
}
