package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

func generalChecks() []check {
	return []check{
		{"Ping", ping},
		{"AnEndedContextIsAnError", endedContext},
		{"AllAtOnce", allAtOnce},
	}
}

func ping(t testing.TB, s store.Store, _ func(time.Duration)) {
	must(t, s.Ping(t.Context()))
}

// endedContext calls every method with a context that has ended, and then looks
// for what they did.
func endedContext(t testing.TB, s store.Store, _ func(time.Duration)) {
	fill(t, s, "space")
	ended, end := context.WithCancel(t.Context())
	end()
	calls := map[string]func() error{
		"Newest": func() error {
			_, _, err := s.Newest(ended, "space", []string{"a"})
			return err
		},
		"PutIfAbsent": func() error {
			_, err := s.PutIfAbsent(ended, "space", "new", []byte("1"), lasting)
			return err
		},
		"Acquire": func() error {
			_, err := s.Acquire(ended, "space", "new", "token", lasting)
			return err
		},
		"Release": func() error { return s.Release(ended, "space", "work", "token") },
		"Add": func() error {
			return s.Add(ended, "space", store.Delta{Row: "row", Add: map[string]int64{"n": 1}, Expiry: lasting})
		},
		"List": func() error {
			_, _, err := s.List(ended, "", 10)
			return err
		},
		"Delete": func() error { return s.Delete(ended, "space") },
		"Ping":   func() error { return s.Ping(ended) },
	}
	for name, call := range calls {
		if call() == nil {
			t.Errorf("%s reports no error though its context has ended", name)
		}
	}
	expectNewest(t, s, "space", []string{"new", "a"}, 1, "1")
	expectRow(t, list(t, s, 10), place{"space", "row"}, map[string]int64{"n": 1}, nil)
	expectAcquire(t, s, "other", lasting, false)
	held, err := s.Acquire(t.Context(), "space", "new", "another", lasting)
	must(t, err)
	if !held {
		t.Error("an Acquire whose context had ended took the lease")
	}
}

// allAtOnce uses everything from many goroutines: what it looks for is found by
// the race detector. A record, once seen, must be the one that was put.
func allAtOnce(t testing.TB, s store.Store, _ func(time.Duration)) {
	const workers, rounds = 16, 30
	keys := names("k", 5)
	together(workers, func(i int) {
		for round := range rounds {
			space := fmt.Sprintf("space-%d", (i+round)%4)
			if err := oneOfEach(t.Context(), s, space, keys, (i+round)%len(keys)); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
	})
}

func oneOfEach(ctx context.Context, s store.Store, space string, keys []string, i int) error {
	if _, err := s.PutIfAbsent(ctx, space, keys[i], []byte(space+keys[i]), lasting); err != nil {
		return err
	}
	found, value, err := s.Newest(ctx, space, keys)
	if err != nil {
		return err
	}
	if found >= 0 && string(value) != space+keys[found] {
		return fmt.Errorf("the key %s of %s holds %q", keys[found], space, value)
	}
	if err := s.Add(ctx, space, store.Delta{
		Row: keys[i], Add: map[string]int64{"n": 1}, Set: map[string]string{"at": space}, Expiry: lasting,
	}); err != nil {
		return err
	}
	if _, _, err := s.List(ctx, "", 3); err != nil {
		return err
	}
	if _, err := s.Acquire(ctx, space, keys[i], "token", lasting); err != nil {
		return err
	}
	if err := s.Release(ctx, space, keys[i], "token"); err != nil {
		return err
	}
	if i == 0 && space == "space-0" {
		return s.Delete(ctx, space)
	}
	return nil
}
