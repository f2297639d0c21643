package tokens

// minima holds the unions of a long piece, and finds the lowest of them without
// looking at all: above each sixteen of a level, the next level has their
// lowest. The last level has sixteen at most.
type minima [][]uint64

const fan = 16

// reset returns room for n unions, all of them noUnion, in the old one if it can.
func (m minima) reset(n int) minima {
	levels := m[:0]
	for {
		size := (n + fan - 1) / fan * fan
		var level []uint64
		if len(levels) < cap(levels) {
			level = levels[:len(levels)+1][len(levels)] // of the time before
		}
		if cap(level) < size {
			level = make([]uint64, size)
		}
		level = level[:size]
		for i := range level {
			level[i] = noUnion
		}
		levels = append(levels, level)
		if size == fan {
			break
		}
		n = size / fan
	}
	return levels
}

// fill puts the levels above the first in order.
func (m minima) fill() {
	for l := 1; l < len(m); l++ {
		below := m[l-1]
		for i := 0; i*fan < len(below); i++ {
			m[l][i] = lowestUnion(below[i*fan : (i+1)*fan])
		}
	}
}

// set changes one union.
func (m minima) set(i int, to uint64) {
	m[0][i] = to
	for l := 1; l < len(m); l++ {
		below := m[l-1]
		i /= fan
		lowest := lowestUnion(below[i*fan : (i+1)*fan])
		if m[l][i] == lowest {
			return
		}
		m[l][i] = lowest
	}
}

func (m minima) lowest() uint64 { return lowestUnion(m[len(m)-1]) }
