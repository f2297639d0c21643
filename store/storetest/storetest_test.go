package storetest

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/memstore"
)

// recorder is a testing.TB that notes a failure instead of failing.
type recorder struct {
	testing.TB

	mu     sync.Mutex // protects failed
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Error(...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Errorf(string, ...any) { r.Error() }

func (r *recorder) Fatal(...any) {
	r.Error()
	runtime.Goexit()
}

func (r *recorder) Fatalf(string, ...any) { r.Fatal() }

// passes runs one check against what wrap makes of a sound store.
func passes(t *testing.T, c check, wrap func(s *memstore.Store) store.Store) bool {
	t.Helper()
	at := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Options{Now: func() time.Time { return at }})
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // Fatal ends the goroutine that calls it
		defer close(done)
		c.run(r, wrap(s), func(d time.Duration) { at = at.Add(d) })
	}()
	<-done
	return !r.failed
}

// TestFindsFaults plants one fault at a time in a sound store, and expects the
// check to fail that is there for it.
func TestFindsFaults(t *testing.T) {
	tests := []struct {
		fault string
		check string
		wrap  func(s *memstore.Store) store.Store
	}{
		{
			"prefers the last key", "Records/NewestIsTheFirstThatHasAValue",
			func(s *memstore.Store) store.Store { return lastKey{s} },
		},
		{
			"an error for what is absent", "Records/Absent",
			func(s *memstore.Store) store.Store { return absentFails{s} },
		},
		{
			"reads without renewing", "Records/LiveOnWhenUsed",
			func(s *memstore.Store) store.Store { return ageing{s} },
		},
		{
			"keeps the caller's slice", "Records/KeepNoReference",
			func(s *memstore.Store) store.Store { return &aliasing{Store: s, last: map[string][]byte{}} },
		},
		{
			"joins space and key", "Records/SpacesAreApart",
			func(s *memstore.Store) store.Store { return joined{s} },
		},
		{
			"nothing expires", "Records/Expire",
			func(s *memstore.Store) store.Store { return endless{s} },
		},
		{
			"leases do not end", "Leases/EndByThemselves",
			func(s *memstore.Store) store.Store { return endless{s} },
		},
		{
			"counters do not end", "Counters/Expire",
			func(s *memstore.Store) store.Store { return endless{s} },
		},
		{
			"looks before it leases", "Leases/OneHolder",
			func(s *memstore.Store) store.Store { return generous{s} },
		},
		{
			"everybody holds in a race", "Leases/Race",
			func(s *memstore.Store) store.Store { return generous{s} },
		},
		{
			"releases for anybody", "Leases/ReleasedByTheirHolderOnly",
			func(s *memstore.Store) store.Store { return &anyRelease{Store: s, holder: map[string]string{}} },
		},
		{
			"releases for a late holder", "Leases/ALateHolderReleasesNothing",
			func(s *memstore.Store) store.Store { return &anyRelease{Store: s, holder: map[string]string{}} },
		},
		{
			"sets in place of adding", "Counters/AddUp",
			func(s *memstore.Store) store.Store { return &setting{Store: s} },
		},
		{
			"loses an addition in a race", "Counters/LoseNothing",
			func(s *memstore.Store) store.Store { return &setting{Store: s} },
		},
		{
			"drops the last row of a page", "Counters/PagesAreComplete",
			func(s *memstore.Store) store.Store { return shortPages{s} },
		},
		{
			"returns more than the limit", "Counters/PagesAreComplete",
			func(s *memstore.Store) store.Store { return longPages{s} },
		},
		{
			"leaves no tombstone", "Delete/ClosesTheSpace",
			func(s *memstore.Store) store.Store { return reopening{s} },
		},
		{
			"reports a closed space", "Delete/ClosesAnUnknownSpace",
			func(s *memstore.Store) store.Store { return closedFails{s} },
		},
		{
			"closes a space for good", "Delete/TheTombstoneStandsForItsLife",
			func(s *memstore.Store) store.Store { return &forever{Store: s, gone: map[string]bool{}} },
		},
		{
			"works on after the context ended", "AnEndedContextIsAnError",
			func(s *memstore.Store) store.Store { return deaf{s} },
		},
		{
			"does not answer", "Ping",
			func(*memstore.Store) store.Store { return Failing(errors.New("down")) },
		},
	}
	for _, test := range tests {
		t.Run(test.fault, func(t *testing.T) {
			if passes(t, named(t, test.check), test.wrap) {
				t.Errorf("the check %s passes", test.check)
			}
		})
	}
}

func named(t *testing.T, name string) check {
	t.Helper()
	all := checks()
	i := slices.IndexFunc(all, func(c check) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("there is no check %s", name)
	}
	return all[i]
}

func TestASoundStorePasses(t *testing.T) {
	for _, c := range checks() {
		if !passes(t, c, func(s *memstore.Store) store.Store { return s }) {
			t.Errorf("the check %s fails on a sound store", c.name)
		}
	}
}

func TestFailing(t *testing.T) {
	down := errors.New("down")
	s := Failing(down)
	ctx := t.Context()
	_, _, newest := s.Newest(ctx, "space", nil)
	_, put := s.PutIfAbsent(ctx, "space", "key", nil, time.Hour)
	_, acquire := s.Acquire(ctx, "space", "key", "token", time.Hour)
	_, _, list := s.List(ctx, "", 1)
	errs := []error{
		newest, put, acquire, list, s.Release(ctx, "space", "key", "token"),
		s.Add(ctx, "space", store.Delta{}), s.Delete(ctx, "space"), s.Ping(ctx), s.Ping(ctx),
	}
	for i, err := range errs {
		if !errors.Is(err, down) {
			t.Errorf("call %d: %v, want %v", i, err, down)
		}
	}
	if all, some := s.Calls(), s.Calls("Ping", "List", "none"); all != len(errs) || some != 3 {
		t.Errorf("counted %d calls and %d, want %d and 3", all, some, len(errs))
	}
}
