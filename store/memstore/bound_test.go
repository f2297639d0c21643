package memstore

import (
	"errors"
	"fmt"
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
// for it, but other rows are, and records after them.
func TestARowThatGrowsStays(t *testing.T) {
	s, _ := open(t, 0)
	left := func() string {
		rows, _, err := s.List(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		names := present(s, "a")
		for _, row := range rows {
			names += " " + row.Space
		}
		return names
	}
	mustPut(t, s, "a", 1000)
	mustAdd(t, s, "one", nil)
	mustAdd(t, s, "two", nil)

	s.table.max = s.table.used
	mustAdd(t, s, "one", map[string]string{"some": strings.Repeat("x", 400)})
	if got := left(); got != "a one" {
		t.Errorf("%s are left, want a one", got)
	}
	s.table.max = s.table.used
	mustAdd(t, s, "one", map[string]string{"more": strings.Repeat("x", 400)})
	if got := left(); got != " one" {
		t.Errorf("%s are left, want one", got)
	}

	s.table.max = s.table.used
	delta := store.Delta{Row: "row", Set: map[string]string{"last": "straw"}, Expiry: time.Hour}
	if err := s.Add(t.Context(), "one", delta); !errors.Is(err, ErrFull) {
		t.Errorf("Add to a row that takes the whole store: %v, want ErrFull", err)
	}
	if got := left(); got != " one" || s.table.used != s.table.max {
		t.Errorf("%s are left and charged %d, want one and %d", got, s.table.used, s.table.max)
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

// TestWhatExpiredMakesRoomAtOnce: however much of it there is, and though leases
// are not dropped.
func TestWhatExpiredMakesRoomAtOnce(t *testing.T) {
	const leases = 10 * sweepBatch
	s, c := open(t, roomFor(leases, 100))
	for i := range leases {
		if held, err := s.Acquire(t.Context(), "space", fmt.Sprint(i), "token", time.Minute); !held || err != nil {
			t.Fatalf("Acquire = %t, %v", held, err)
		}
	}
	c.advance(time.Minute)
	mustPut(t, s, "large", leases*400)
	checkViews(t, s.table)
}

// TestTheDeadGiveWayToTheirNames: a name is free again when its time is over,
// though nothing has removed what bore it.
func TestTheDeadGiveWayToTheirNames(t *testing.T) {
	s, c := open(t, 0)
	for range 2 {
		for i := range 10 * sweepBatch {
			name := fmt.Sprint(10*sweepBatch - i)
			if held, err := s.Acquire(t.Context(), "space", name, "token", time.Minute); !held || err != nil {
				t.Fatalf("Acquire = %t, %v", held, err)
			}
			checkViews(t, s.table)
		}
		c.advance(time.Minute)
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
