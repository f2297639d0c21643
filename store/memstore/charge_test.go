package memstore

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

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
		"names cut out of something large": {2.5, func(s *Store, i int) error {
			large := fmt.Sprintf("%05d%4000s", i, "")
			name := large[:5]
			if _, err := s.PutIfAbsent(t.Context(), "r"+name, name, nil, time.Hour); err != nil {
				return err
			}
			if err := s.Delete(t.Context(), name); err != nil {
				return err
			}
			return s.Add(t.Context(), "c"+name, store.Delta{
				Row: name, Add: map[string]int64{name: 1}, Set: map[string]string{name: name}, Expiry: time.Hour,
			})
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
