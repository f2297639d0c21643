package storetest

import (
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

func deletionChecks() []check {
	return []check{
		{"Delete/RemovesTheSpaceAlone", deleteRemoves},
		{"Delete/ClosesTheSpace", deleteCloses},
		{"Delete/ClosesAnUnknownSpace", deleteUnknown},
		{"Delete/TheTombstoneStandsForItsLife", deleteTombstone},
	}
}

// fill gives a space one of everything.
func fill(t testing.TB, s store.Store, space string) {
	t.Helper()
	put(t, s, space, "a", "1", lasting)
	put(t, s, space, "b", "2", lasting)
	add(t, s, space, "row", map[string]int64{"n": 1}, nil)
	held, err := s.Acquire(t.Context(), space, "work", "token", lasting)
	must(t, err)
	if !held {
		t.Fatalf("a lease of %s is not to be had", space)
	}
}

// expectClosed writes all that can be written into "space" and expects no effect.
func expectClosed(t testing.TB, s store.Store) {
	t.Helper()
	const space = "space"
	stored, err := s.PutIfAbsent(t.Context(), space, "a", []byte("back again"), lasting)
	must(t, err)
	if stored {
		t.Errorf("a record was put into %s, which was deleted", space)
	}
	held, err := s.Acquire(t.Context(), space, "work", "late", lasting)
	must(t, err)
	if held {
		t.Errorf("a lease of %s is held, which was deleted", space)
	}
	add(t, s, space, "row", map[string]int64{"n": 1}, nil)
	must(t, s.Release(t.Context(), space, "work", "late"))
	expectNewest(t, s, space, []string{"a", "b"}, -1, "")
	if _, listed := list(t, s, 100)[place{space, "row"}]; listed {
		t.Errorf("a row of %s is listed, which was deleted", space)
	}
}

func deleteRemoves(t testing.TB, s store.Store, _ func(time.Duration)) {
	fill(t, s, "gone")
	fill(t, s, "stays")
	fill(t, s, "gone:too")
	must(t, s.Delete(t.Context(), "gone"))
	expectNewest(t, s, "gone", []string{"a", "b"}, -1, "")
	all := list(t, s, 100)
	if len(all) != 2 {
		t.Errorf("%d rows are listed, want 2", len(all))
	}
	for _, space := range []string{"stays", "gone:too"} {
		expectNewest(t, s, space, []string{"b"}, 0, "2")
		expectRow(t, all, place{space, "row"}, map[string]int64{"n": 1}, nil)
		held, err := s.Acquire(t.Context(), space, "work", "other", lasting)
		must(t, err)
		if held {
			t.Errorf("the lease of %s went with another space", space)
		}
		put(t, s, space, "c", "3", lasting)
	}
}

func deleteCloses(t testing.TB, s store.Store, _ func(time.Duration)) {
	fill(t, s, "space")
	must(t, s.Delete(t.Context(), "space"))
	expectClosed(t, s)
	must(t, s.Delete(t.Context(), "space"))
	expectClosed(t, s)

	// The holder of a lease from before the deletion has lost it.
	held, err := s.Acquire(t.Context(), "space", "work", "token", lasting)
	must(t, err)
	if held {
		t.Error("a lease was renewed after its space was deleted")
	}
}

func deleteUnknown(t testing.TB, s store.Store, _ func(time.Duration)) {
	must(t, s.Delete(t.Context(), "space"))
	expectClosed(t, s)
	fill(t, s, "other")
}

// deleteTombstone asks for minutes: advance may skip.
func deleteTombstone(t testing.TB, s store.Store, advance func(time.Duration)) {
	const margin = 2 * time.Second
	fill(t, s, "space")
	must(t, s.Delete(t.Context(), "space"))
	advance(store.TombstoneLife - margin)
	expectClosed(t, s)
	advance(store.TombstoneLife)
	expectNewest(t, s, "space", []string{"a", "b"}, -1, "")
	fill(t, s, "space")
	expectNewest(t, s, "space", []string{"a", "b"}, 0, "1")
}
