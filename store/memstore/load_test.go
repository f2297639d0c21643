package memstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

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
		if e.expires.Before(table.deadlines[(max(e.deadline, 1)-1)/2].expires) {
			t.Fatalf("the entry %v expires before the one above it in the heap", name)
		}
		if name != e.id || table.deadlines[e.deadline] != e ||
			table.spaces[name.space].members[e.member] != e || e.recent.Value != any(e) {
			t.Fatalf("the entry %v is not where it says that it is", name)
		}
	}
	for name, s := range table.spaces {
		if len(s.members) == 0 {
			t.Fatalf("the space %s is kept for nothing", name)
		}
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
	if table.rows.gaps*2 > len(table.rows.places) {
		t.Fatalf("%d of %d places in the roster are gaps", table.rows.gaps, len(table.rows.places))
	}
	if got := len(table.rows.places) - table.rows.gaps; got != rows {
		t.Fatalf("the roster has %d rows, the table %d", got, rows)
	}
}
