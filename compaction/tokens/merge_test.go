package tokens

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// tables returns every encoding's table.
func tables(t *testing.T) map[string]*table {
	t.Helper()
	byName := map[string]*table{}
	for _, e := range counters() {
		v, err := e.load()
		if err != nil {
			t.Fatal(err)
		}
		byName[e.name] = v.table
	}
	return byName
}

// slowMerge is the definition, as simply as it can be put down: the ends of the
// tokens of a piece.
func slowMerge(t *table, piece []byte) []int {
	ends := make([]int, len(piece)+1) // the first is the start
	for i := range ends {
		ends[i] = i
	}
	for {
		lowest, at := uint32(math.MaxUint32), 0
		for i := 0; i+2 < len(ends); i++ {
			if rank := t.rank(piece, ends[i], ends[i+2]); rank < lowest {
				lowest, at = rank, i
			}
		}
		if lowest == none {
			return ends[1:]
		}
		ends = slices.Delete(ends, at+1, at+2)
	}
}

// pieces are byte strings such as patterns never find, to try merging on.
func pieces(rng *rand.Rand, n, size int) [][]byte {
	sets := []string{"a", "ab", "abc", " ", " \n", "etaoin shrdlu", "0123456789", "=-", "\x00\xff", "漢字語", "aA", "\u0301é"}
	var all [][]byte
	for range n {
		set := sets[rng.IntN(len(sets))]
		piece := make([]byte, 2+rng.IntN(size-1))
		for i := range piece {
			piece[i] = set[rng.IntN(len(set))]
			if i > 2 && rng.IntN(3) == 0 {
				piece[i] = piece[i-1-rng.IntN(2)]
			}
		}
		all = append(all, piece)
	}
	return all
}

func TestMergeIsTheDefinition(t *testing.T) {
	rounds := 1000
	if raceEnabled {
		rounds = 100
	}
	for name, table := range tables(t) {
		rng := rand.New(rand.NewPCG(5, 6))
		w := new(workspace)
		for _, piece := range pieces(rng, rounds, maxScan) {
			want := slowMerge(table, piece)
			if got := w.scan.merge(table, piece); got != len(want) {
				t.Fatalf("%s: scan: %d tokens, want %d, of %q", name, got, len(want), piece)
			}
		}
		for _, piece := range pieces(rng, rounds, 300) {
			want := slowMerge(table, piece)
			if got := w.windows.merge(table, piece); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: tokens end at %d, want %d, of %q", name, got, want, piece)
			}
		}
	}
}

// What is remembered of one piece is never taken for another: of a piece and the
// same with a NUL more, in particular, whose bytes in a key differ in nothing.
func TestMemoTellsPiecesApart(t *testing.T) {
	table := tables(t)[DefaultEncoding]
	w := new(workspace)
	for _, piece := range pieces(rand.New(rand.NewPCG(9, 10)), 3000, maxMemo-1) {
		for _, piece := range [][]byte{piece, append(piece, 0), piece, append(piece, 'x', 'y')[:len(piece)]} {
			for _, text := range [][]byte{piece, append(slices.Clone(piece), "and what comes after it"...)} {
				want := w.scan.merge(table, piece)
				if got := w.memo.merge(&w.scan, table, text, 0, len(piece)); got != want {
					t.Fatalf("%d tokens, want %d, of %q", got, want, piece)
				}
			}
		}
	}
}

// Windows of whatever size give the tokens of the whole, or say that they
// cannot; of the size that is used, they can.
func TestWindowsAreExact(t *testing.T) {
	rounds := 300
	if raceEnabled {
		rounds = 30
	}
	for name, table := range tables(t) {
		rng := rand.New(rand.NewPCG(7, 8))
		w := new(windows)
		stitched, failed := 0, 0
		for _, piece := range pieces(rng, rounds, 3000) {
			want := len(w.merge(table, piece))
			for _, size := range []int{4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096} {
				n, ok := w.mergeAll(table, piece, size)
				switch {
				case ok && n != want:
					t.Fatalf("%s: windows of %d: %d tokens, want %d, of %q", name, size, n, want, piece)
				case ok && size < len(piece):
					stitched++
				case !ok && size >= windowSize:
					t.Errorf("%s: windows of %d have no token in common", name, size)
				case !ok:
					failed++
				}
			}
		}
		if stitched == 0 || failed == 0 {
			t.Errorf("%s: %d pieces in several windows, %d failures: the test does not reach what it is for", name, stitched, failed)
		}
	}
}

// A megabyte without a break counts exactly. tiktoken-go would take hours, but
// what repeats itself has a count that follows from shorter runs, which it can
// count.
func TestMegabyteRunsAreExact(t *testing.T) {
	size := 1 << 20
	if raceEnabled {
		size = 1 << 15
	}
	for _, e := range counters() {
		for _, unit := range []string{"a", "A", " ", "=", "\n", "é", "漢", "0", "ab", "Ha"} {
			count := func(n int) int { return e.Count(strings.Repeat(unit, n)) }
			// The count of a run goes up by step with every period more of it.
			const period = 2 * 3 * 128
			base, step := count(2*period), count(3*period)-count(2*period)
			want := len(oracles()[e.name].EncodeOrdinary(strings.Repeat(unit, 2*period)))
			if base != want {
				t.Errorf("%s: %d times %q: %d tokens, tiktoken-go says %d", e.name, 2*period, unit, base, want)
			}
			periods := size / len(unit) / period
			if got, want := count(periods*period), base+(periods-2)*step; got != want {
				t.Errorf("%s: %d times %q: %d tokens, want %d", e.name, periods*period, unit, got, want)
			}
		}
	}
}

// What does not repeat itself is merged as if there were one window, too.
func TestLongNoiseIsExact(t *testing.T) {
	size := 1 << 18
	if raceEnabled {
		size = 1 << 14
	}
	for name, table := range tables(t) {
		for _, run := range longRuns(size) {
			w := new(windows)
			piece := []byte(run.text)
			if got, want := w.mergeLong(table, piece), len(w.merge(table, piece)); got != want {
				t.Errorf("%s: %s: %d tokens in windows, %d in one", name, run.name, got, want)
			}
		}
	}
}

func TestCountDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	text := "The quick brown fox, unquestionably! 漢字かな交じり文 x1234567 " + strings.Repeat("ab", 2000) + strings.Repeat(" ", 5000)
	for _, e := range counters() {
		e.Count(text)
		if n := testing.AllocsPerRun(100, func() { e.Count(text) }); n > 0 {
			t.Errorf("%s: Count allocates %v times", e.name, n)
		}
		raw := []byte(text)
		if n := testing.AllocsPerRun(100, func() { e.CountBytes(raw) }); n > 0 {
			t.Errorf("%s: CountBytes allocates %v times", e.name, n)
		}
	}
}
