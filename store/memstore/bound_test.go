package memstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

// present returns those of keys that have a value, in their order, and uses
// none of them.
func present(s *Store, keys ...string) string {
	var found []string
	for _, key := range keys {
		if s.table.find(id{record, "space", key}, s.now()) != nil {
			found = append(found, key)
		}
	}
	return strings.Join(found, " ")
}

// roomFor is a bound that n records of size bytes fit into, with keys of a byte.
func roomFor(n, size int) int64 {
	return int64(n * (entryOverhead + len("space") + 1 + cap(clone(make([]byte, size)))))
}

func TestDropsTheLongestUnusedRecord(t *testing.T) {
	s, _ := open(t, roomFor(3, 100))
	for _, key := range []string{"a", "b", "c"} {
		mustPut(t, s, key, 100)
	}
	if _, _, err := s.Newest(t.Context(), "space", []string{"x", "a"}); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "d", 100)
	if got := present(s, "a", "b", "c", "d"); got != "a c d" {
		t.Errorf("%s are left, want a c d", got)
	}
}

func TestDropsWhatExpiredFirst(t *testing.T) {
	s, c := open(t, roomFor(3, 100))
	mustPut(t, s, "a", 100)
	if _, err := s.PutIfAbsent(t.Context(), "space", "b", make([]byte, 100), time.Minute); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "c", 100)
	c.advance(2 * time.Minute)
	mustPut(t, s, "d", 100)
	if got := present(s, "a", "b", "c", "d"); got != "a c d" {
		t.Errorf("%s are left, want a c d", got)
	}
}

func TestDropsCountersBeforeRecords(t *testing.T) {
	s, _ := open(t, roomFor(3, 2000))
	mustPut(t, s, "a", 2000)
	mustPut(t, s, "b", 2000)
	mustAdd(t, s, "one", nil)
	mustAdd(t, s, "two", nil)
	mustPut(t, s, "c", 2000) // fits only without the rows, which are newer than a
	if got := present(s, "a", "b", "c"); got != "a b c" {
		t.Errorf("%s are left, want a b c", got)
	}
	if rows, _, err := s.List(t.Context(), "", 10); len(rows) != 0 || err != nil {
		t.Errorf("%d rows are left, want none (%v)", len(rows), err)
	}
}

// TestARowThatGrowsStays: the row that is being added to is not what makes room
// for it.
func TestARowThatGrowsStays(t *testing.T) {
	s, _ := open(t, roomFor(2, 2000))
	mustPut(t, s, "a", 1000)
	mustAdd(t, s, "one", nil)
	mustAdd(t, s, "two", map[string]string{"label": strings.Repeat("x", 3000)})
	rows, _, err := s.List(t.Context(), "", 10)
	if err != nil || len(rows) != 1 || rows[0].Space != "two" {
		t.Fatalf("the rows %v are left, want two's alone (%v)", rows, err)
	}
	mustAdd(t, s, "two", map[string]string{"more": strings.Repeat("x", 400)})
	if got := present(s, "a"); got != "" {
		t.Error("the record is left, want it dropped for the row")
	}

	before := s.table.used
	delta := store.Delta{Row: "row", Set: map[string]string{"huge": strings.Repeat("x", 9000)}, Expiry: time.Hour}
	if err := s.Add(t.Context(), "two", delta); !errors.Is(err, ErrFull) {
		t.Errorf("Add of a label larger than the store: %v, want ErrFull", err)
	}
	if s.table.used != before {
		t.Errorf("%d bytes are charged, want %d as before", s.table.used, before)
	}
}

func TestALabelThatShrinksIsChargedLess(t *testing.T) {
	s, _ := open(t, 0)
	mustAdd(t, s, "one", map[string]string{"label": "short"})
	before := s.table.used
	mustAdd(t, s, "one", map[string]string{"label": strings.Repeat("x", 100)})
	mustAdd(t, s, "one", map[string]string{"label": "small"})
	if s.table.used != before {
		t.Errorf("%d bytes are charged, want %d as before", s.table.used, before)
	}
}

func TestLeasesAndTombstonesStay(t *testing.T) {
	s, c := open(t, roomFor(4, 100))
	if err := s.Delete(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if held, err := s.Acquire(t.Context(), "space", "work", "token", time.Hour); !held || err != nil {
		t.Fatalf("Acquire = %t, %v", held, err)
	}
	for i := range 100 {
		mustPut(t, s, fmt.Sprint(i), 100)
	}
	if held, err := s.Acquire(t.Context(), "space", "work", "other", time.Hour); held || err != nil {
		t.Errorf("Acquire by another = %t, %v: the lease was dropped", held, err)
	}
	if stored, err := s.PutIfAbsent(t.Context(), "gone", "a", nil, time.Hour); stored || err != nil {
		t.Errorf("PutIfAbsent = %t, %v: the tombstone was dropped", stored, err)
	}

	c.advance(2 * time.Hour)
	mustPut(t, s, "z", 1700) // fits into the whole bound, and not beside a lease
}

func TestFull(t *testing.T) {
	s, c := open(t, roomFor(2, 100))
	mustPut(t, s, "a", 10)
	if _, err := s.PutIfAbsent(t.Context(), "space", "large", make([]byte, 2000), time.Hour); !errors.Is(err, ErrFull) {
		t.Errorf("PutIfAbsent of more than the bound: %v, want ErrFull", err)
	}
	if got := present(s, "a", "large"); got != "a" {
		t.Errorf("%q is left, want a: nothing is dropped in vain", got)
	}
	for _, key := range []string{"1", "2"} {
		if held, err := s.Acquire(t.Context(), "space", key, "token", time.Minute); !held || err != nil {
			t.Fatalf("Acquire(%s) = %t, %v", key, held, err)
		}
	}
	if held, err := s.Acquire(t.Context(), "space", "3", "token", time.Minute); held || !errors.Is(err, ErrFull) {
		t.Errorf("Acquire beside two leases = %t, %v, want ErrFull", held, err)
	}
	c.advance(2 * time.Minute)
	if held, err := s.Acquire(t.Context(), "space", "3", "token", time.Minute); !held || err != nil {
		t.Errorf("Acquire once they ended = %t, %v", held, err)
	}
}

// TestTheDeadDoNotPileUp: leases that nobody asks for again are freed by those
// that come after them.
func TestTheDeadDoNotPileUp(t *testing.T) {
	s, c := open(t, 0)
	for i := range 10_000 {
		if _, err := s.Acquire(t.Context(), "space", fmt.Sprint(i), "token", time.Second); err != nil {
			t.Fatal(err)
		}
		c.advance(10 * time.Millisecond)
	}
	if n := len(s.table.entries); n > 101+sweepBatch {
		t.Errorf("%d leases are kept, of which 100 live", n)
	}
}

// TestStaysUnderTheBound loads a small store at random, and checks after each
// step that the charge is under the bound and that the views agree.
func TestStaysUnderTheBound(t *testing.T) {
	const bound = 100_000
	s, c := open(t, bound)
	random := rand.New(rand.NewPCG(1, 2))
	for step := range 20_000 {
		if err := randomStep(t, s, random); err != nil && !errors.Is(err, ErrFull) {
			t.Fatalf("step %d: %v", step, err)
		}
		c.advance(time.Duration(random.IntN(200)) * time.Millisecond)
		if s.table.used > bound {
			t.Fatalf("step %d: %d bytes are charged, the bound is %d", step, s.table.used, bound)
		}
		if step%500 == 0 {
			checkViews(t, s.table)
		}
	}
	checkViews(t, s.table)
}

func randomStep(t *testing.T, s *Store, random *rand.Rand) error {
	t.Helper()
	space := fmt.Sprint("space-", random.IntN(20))
	key := fmt.Sprint("key-", random.IntN(50))
	ttl := time.Duration(1+random.IntN(60)) * time.Second
	switch random.IntN(8) {
	case 0, 1:
		_, err := s.PutIfAbsent(t.Context(), space, key, make([]byte, random.IntN(5000)), ttl)
		return err
	case 2:
		_, _, err := s.Newest(t.Context(), space, []string{key, "key-1", "key-2"})
		return err
	case 3:
		_, err := s.Acquire(t.Context(), space, key, fmt.Sprint(random.IntN(3)), ttl)
		return err
	case 4:
		return s.Release(t.Context(), space, key, fmt.Sprint(random.IntN(3)))
	case 5:
		if random.IntN(20) > 0 {
			return nil
		}
		return s.Delete(t.Context(), space)
	default:
		return s.Add(t.Context(), space, store.Delta{
			Row:    key,
			Add:    map[string]int64{fmt.Sprint("n", random.IntN(20)): 1},
			Set:    map[string]string{"label": strings.Repeat("x", random.IntN(300))},
			Expiry: ttl,
		})
	}
}

// checkViews compares all views of a table with each other.
func checkViews(t *testing.T, table *table) {
	t.Helper()
	var used, pinned int64
	var rows, members, recent int
	for name, e := range table.entries {
		used += e.charge
		if name.kind.pinned() {
			pinned += e.charge
		}
		if name.kind == counter {
			rows++
		}
		if name != e.id || table.deadlines[e.deadline] != e ||
			table.spaces[name.space].members[e.member] != e || e.recent.Value != any(e) {
			t.Fatalf("the entry %v is not where it says that it is", name)
		}
	}
	for _, s := range table.spaces {
		members += len(s.members)
	}
	for k := range table.recency {
		recent += table.recency[k].Len()
	}
	total := len(table.entries)
	if len(table.deadlines) != total || members != total || recent != total {
		t.Fatalf("%d entries: %d deadlines, %d members, %d recent", total, len(table.deadlines), members, recent)
	}
	if used != table.used || pinned != table.pinned {
		t.Fatalf("charged %d and %d pinned, the sum is %d and %d", table.used, table.pinned, used, pinned)
	}
	if got := len(table.rows.places) - table.rows.gaps; got != rows {
		t.Fatalf("the roster has %d rows, the table %d", got, rows)
	}
}

// TestChargeCoversHeap compares what is charged with what the heap grew by: at
// least that, for the bound must hold, and not several times as much, for room
// would be wasted.
func TestChargeCoversHeap(t *testing.T) {
	const n = 20_000
	hash := strings.Repeat("0123456789abcdef", 3)
	tests := map[string]struct {
		generous float64 // the charge may be this many times the growth
		fill     func(s *Store, i int) error
	}{
		"records of one space each, empty": {2.5, func(s *Store, i int) error {
			_, err := s.PutIfAbsent(t.Context(), fmt.Sprint(hash, i), fmt.Sprint(hash, i), nil, time.Hour)
			return err
		}},
		"records of one space": {3.5, func(s *Store, i int) error {
			_, err := s.PutIfAbsent(t.Context(), hash, fmt.Sprint(hash, i), make([]byte, 10), time.Hour)
			return err
		}},
		"folds": {1.5, func(s *Store, i int) error {
			_, err := s.PutIfAbsent(t.Context(), fmt.Sprint(hash, i/4), fmt.Sprint(hash, i), make([]byte, 2500), time.Hour)
			return err
		}},
		"records just too large for their size class": {1.2, func(s *Store, i int) error {
			_, err := s.PutIfAbsent(t.Context(), hash, fmt.Sprint(hash, i), make([]byte, 4097), time.Hour)
			return err
		}},
		"leases": {2.5, func(s *Store, i int) error {
			_, err := s.Acquire(t.Context(), fmt.Sprint(hash, i), hash, hash, time.Hour)
			return err
		}},
		"tombstones": {2.5, func(s *Store, i int) error { return s.Delete(t.Context(), fmt.Sprint(hash, i)) }},
		"rows of one counter": {2.5, func(s *Store, i int) error {
			delta := store.Delta{Row: hash, Add: map[string]int64{"requests": 1}, Expiry: time.Hour}
			return s.Add(t.Context(), fmt.Sprint(hash, i), delta)
		}},
		"rows of twenty counters and nine labels": {2.5, func(s *Store, i int) error {
			delta := store.Delta{Row: hash, Add: map[string]int64{}, Set: map[string]string{}, Expiry: time.Hour}
			for j := range 20 {
				delta.Add[fmt.Sprint("counter_", j)] = 1
			}
			for j := range 9 {
				delta.Set[fmt.Sprint("label_", j)] = fmt.Sprint("value ", j)
			}
			return s.Add(t.Context(), fmt.Sprint(hash, i), delta)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, 1<<40)
			before := liveHeap()
			for i := range n {
				if err := test.fill(s, i); err != nil {
					t.Fatal(err)
				}
			}
			grown, charged := float64(liveHeap()-before), float64(s.table.used)
			t.Logf("%.0f bytes charged an entry, %.0f used", charged/n, grown/n)
			if charged < grown {
				t.Errorf("%.0f bytes are charged, the heap grew by %.0f", charged, grown)
			}
			if charged > grown*test.generous {
				t.Errorf("%.0f bytes are charged, over %.1f times the %.0f that the heap grew by",
					charged, test.generous, grown)
			}
			runtime.KeepAlive(s)
		})
	}
}

// liveHeap returns the bytes of what is reachable.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one only found to be garbage
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkNewest asks for the keys of a long conversation: a hundred, the one
// that has a fold in their midst, in a store that holds many others.
func BenchmarkNewest(b *testing.B) {
	const conversations, boundaries = 10_000, 100
	s := New(Options{MaxBytes: 1 << 30})
	keys := make([]string, boundaries)
	for i := range keys {
		keys[i] = fmt.Sprintf("%032x", i*7919)
	}
	spaces := make([]string, conversations)
	for i := range spaces {
		spaces[i] = fmt.Sprintf("%064x", i)
		if _, err := s.PutIfAbsent(b.Context(), spaces[i], keys[boundaries/2], make([]byte, 2000), time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	for _, bench := range []struct {
		name string
		keys []string
		want int
	}{
		{"found", keys, boundaries / 2},
		{"none", keys[:boundaries/2], -1},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				got, _, err := s.Newest(b.Context(), spaces[i%conversations], bench.keys)
				if got != bench.want || err != nil {
					b.Fatalf("Newest = %d, %v", got, err)
				}
				i++
			}
		})
	}
}
