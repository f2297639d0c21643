package redisstore

import (
	"sync"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

const (
	// tolerable is what the one call may take that finds Redis away: the budget,
	// and what a busy machine adds.
	tolerable = defaultBudget + 400*time.Millisecond

	// slow is what no call may take: a second, and what a busy machine adds.
	slow = 3 * time.Second

	// resumed is when all must work again after Redis does: issue 4.
	resumed = 10 * time.Second
)

// within runs f and expects it to take limit at most.
func within(t testing.TB, limit time.Duration, f func()) {
	t.Helper()
	begun := time.Now()
	f()
	if took := time.Since(begun); took > limit {
		t.Errorf("a call took %v, want %v at most", took, limit)
	}
}

// expectAway expects all calls to fail with a fault, the first within the
// budget and further ones at once (together they take less than one budget each); and what is known to be there still.
func expectAway(t *testing.T, s *Store, space string, known []string, value string, fault *Error) {
	t.Helper()
	var err error
	within(t, tolerable, func() { _, _, err = s.Newest(t.Context(), space, []string{"unknown"}) })
	expectFault(t, err, fault)
	const calls = 20
	within(t, calls*defaultBudget/2, func() {
		for range calls {
			_, _, err := s.Newest(t.Context(), space, []string{"unknown"})
			expectFault(t, err, ErrAway)
			expectFault(t, err, fault)
			expect(t, s, space, known, 0, value)
		}
	})
	_, err = s.Acquire(t.Context(), space, "work", "token", time.Second)
	expectFault(t, err, fault)
	expectFault(t, s.Ping(t.Context()), fault)
	expectFault(t, s.Trouble(), fault)
}

// expectBack waits until the store serves again and says how long that took.
func expectBack(t *testing.T, s *Store) {
	t.Helper()
	begun := time.Now()
	redistest.Eventually(t, "the store is back", func() bool {
		_, _, err := s.Newest(t.Context(), "space", []string{"unknown"})
		return err == nil && s.Ping(t.Context()) == nil && s.Trouble() == nil
	})
	took := time.Since(begun)
	t.Logf("recovered after %v", took.Round(time.Millisecond))
	if took > resumed {
		t.Errorf("recovered after %v, want %v at most", took, resumed)
	}
}

func TestKilled(t *testing.T) {
	server := redistest.Start(t)
	log := newJournal()
	s := open(t, Options{URL: "redis://" + server.Addr, Log: log.logger(), Observer: log})
	put(t, s, "space", "a", "a fold")
	server.Kill()
	expectAway(t, s, "space", []string{"a"}, "a fold", ErrAway)
	server.Start()
	expectBack(t, s)

	// It came back empty: what is in use is put back, for all.
	other := open(t, Options{URL: "redis://" + server.Addr})
	expect(t, other, "space", []string{"a"}, -1, "")
	expect(t, s, "space", []string{"a"}, 0, "a fold")
	redistest.Eventually(t, "the fold is put back", func() bool {
		at, _, err := other.Newest(t.Context(), "space", []string{"a"})
		return err == nil && at == 0
	})
	log.expect(t, "Redis is away", "Redis is back")
	log.expectStates(t, "away", "")
}

func TestPaused(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "a", "a fold")
	server.Pause()
	expectAway(t, s, "space", []string{"a"}, "a fold", ErrAway)

	// A summary that is paid for meanwhile is not lost.
	_, err := s.PutIfAbsent(t.Context(), "space", "b", []byte("paid for"), time.Hour)
	expectFault(t, err, ErrAway)
	expect(t, s, "space", []string{"b", "a"}, 0, "paid for")
	server.Resume()
	expectBack(t, s)
	expect(t, s, "space", []string{"b", "a"}, 0, "paid for")
	redistest.Eventually(t, "it is stored", func() bool {
		return server.Client().Exists(t.Context(), "pleat:1:{space}:r:b").Val() == 1
	})
}

func TestDownAtStart(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	log := newJournal()
	var s *Store
	within(t, 2*defaultTimeout, func() {
		s = open(t, Options{URL: "redis://" + server.Addr, Log: log.logger()})
	})
	expectFault(t, s.Ping(t.Context()), ErrAway)
	log.expect(t, "Redis is away")
	server.Start()
	expectBack(t, s)
	log.expect(t, "Redis is away", "Redis is back")
}

// TestUnderLoad has many callers while Redis is killed, returns, and is paused.
func TestUnderLoad(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "a", "a fold")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var slowest time.Duration
	calls, lost := 0, 0
	for range 20 {
		wg.Go(func() {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				begun := time.Now()
				at, _, err := s.Newest(t.Context(), "space", []string{"b", "a"})
				mu.Lock()
				slowest = max(slowest, time.Since(begun))
				calls++
				if err != nil || at != 1 {
					lost++
				}
				mu.Unlock()
			}
		})
	}
	for range 2 {
		server.Kill()
		redistest.Eventually(t, "the breaker opens", func() bool { return s.Trouble() != nil })
		server.Start()
		expectBack(t, s)
		server.Pause()
		redistest.Eventually(t, "the breaker opens", func() bool { return s.Trouble() != nil })
		server.Resume()
		expectBack(t, s)
	}
	close(stop)
	wg.Wait()
	t.Logf("%d calls, the slowest took %v", calls, slowest)
	if lost > 0 {
		t.Errorf("%d of %d calls did not find the fold", lost, calls)
	}
	if slowest > slow {
		t.Errorf("the slowest call took %v", slowest)
	}
}
