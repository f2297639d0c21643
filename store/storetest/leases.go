package storetest

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

func leaseChecks() []check {
	return []check{
		{"Leases/OneHolder", leasesOneHolder},
		{"Leases/EndByThemselves", leasesExpire},
		{"Leases/LiveOnWhenRenewed", leasesRenewed},
		{"Leases/ReleasedByTheirHolderOnly", leasesRelease},
		{"Leases/ALateHolderReleasesNothing", leasesLateHolder},
		{"Leases/Race", leasesRace},
		{"Leases/SeenByAll", leasesHeld},
		{"Leases/SpacesAndRecordsAreApart", leasesApart},
	}
}

// expectAcquire takes a lease of the key "work" and compares the answer.
func expectAcquire(t testing.TB, s store.Store, token string, d time.Duration, held bool) {
	t.Helper()
	got, err := s.Acquire(t.Context(), "space", "work", token, d)
	must(t, err)
	if got != held {
		t.Fatalf("Acquire by %s = %t, want %t", token, got, held)
	}
}

func leasesOneHolder(t testing.TB, s store.Store, _ func(time.Duration)) {
	expectAcquire(t, s, "a", lasting, true)
	expectAcquire(t, s, "b", lasting, false)
	expectAcquire(t, s, "a", lasting, true)
	expectAcquire(t, s, "b", lasting, false)
}

func leasesExpire(t testing.TB, s store.Store, advance func(time.Duration)) {
	expectAcquire(t, s, "a", life, true)
	expectAcquire(t, s, "b", life, false)
	advance(past)
	expectAcquire(t, s, "b", lasting, true)
	expectAcquire(t, s, "a", lasting, false)
}

func leasesRenewed(t testing.TB, s store.Store, advance func(time.Duration)) {
	expectAcquire(t, s, "a", life, true)
	advance(life * 3 / 5)
	expectAcquire(t, s, "a", life, true)
	advance(life * 3 / 5)
	expectAcquire(t, s, "b", life, false)
	advance(past)
	expectAcquire(t, s, "b", life, true)
}

func leasesRelease(t testing.TB, s store.Store, _ func(time.Duration)) {
	must(t, s.Release(t.Context(), "space", "work", "a"))
	expectAcquire(t, s, "a", lasting, true)
	must(t, s.Release(t.Context(), "space", "work", "b"))
	must(t, s.Release(t.Context(), "space", "other", "a"))
	must(t, s.Release(t.Context(), "other", "work", "a"))
	expectAcquire(t, s, "b", lasting, false)
	must(t, s.Release(t.Context(), "space", "work", "a"))
	expectAcquire(t, s, "b", lasting, true)
}

func leasesLateHolder(t testing.TB, s store.Store, advance func(time.Duration)) {
	expectAcquire(t, s, "slow", life, true)
	advance(past)
	expectAcquire(t, s, "next", lasting, true)
	must(t, s.Release(t.Context(), "space", "work", "slow"))
	expectAcquire(t, s, "third", lasting, false)
}

// expectHeld asks whether a lease of one of the keys is held.
func expectHeld(t testing.TB, s store.Store, want bool, keys ...string) {
	t.Helper()
	held, err := s.Held(t.Context(), "space", keys)
	must(t, err)
	if held != want {
		t.Fatalf("Held(%q) = %t, want %t", keys, held, want)
	}
}

func leasesHeld(t testing.TB, s store.Store, advance func(time.Duration)) {
	expectHeld(t, s, false)
	expectHeld(t, s, false, "work", "other")
	expectAcquire(t, s, "a", life, true)
	expectHeld(t, s, true, "other", "work")
	expectHeld(t, s, false, "other")
	must(t, s.Release(t.Context(), "space", "work", "b"))
	expectHeld(t, s, true, "work")
	must(t, s.Release(t.Context(), "space", "work", "a"))
	expectHeld(t, s, false, "work")
	expectAcquire(t, s, "a", life, true)
	advance(past)
	expectHeld(t, s, false, "work")
}

func leasesRace(t testing.TB, s store.Store, _ func(time.Duration)) {
	const workers = 50
	var holders atomic.Int64
	var holder atomic.Int64
	together(workers, func(i int) {
		held, err := s.Acquire(t.Context(), "space", "work", strconv.Itoa(i), lasting)
		if err != nil {
			t.Errorf("the store failed: %v", err)
		}
		if held {
			holders.Add(1)
			holder.Store(int64(i))
		}
	})
	if holders.Load() != 1 {
		t.Fatalf("%d of %d workers hold the lease, want 1", holders.Load(), workers)
	}
	expectAcquire(t, s, strconv.FormatInt(holder.Load(), 10), lasting, true)
}

func leasesApart(t testing.TB, s store.Store, _ func(time.Duration)) {
	expectAcquire(t, s, "a", lasting, true)
	held, err := s.Acquire(t.Context(), "elsewhere", "work", "b", lasting)
	must(t, err)
	if !held {
		t.Error("a lease of one space holds in another")
	}
	held, err = s.Acquire(t.Context(), "space", "other", "b", lasting)
	must(t, err)
	if !held {
		t.Error("a lease of one key holds for another")
	}
	expectNewest(t, s, "space", []string{"work"}, -1, "")
	put(t, s, "space", "work", "a record", lasting)
	expectAcquire(t, s, "b", lasting, false)
	must(t, s.Release(t.Context(), "space", "work", "a"))
	expectNewest(t, s, "space", []string{"work"}, 0, "a record")
}
