package redisstore

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

// TestReplicas has as many stores as a large installation has processes, all at
// one conversation: each piece of work has one holder who may renew, a lease whose
// holder crashed stays taken, and no number is lost.
func TestReplicas(t *testing.T) {
	const replicas, rounds = 200, 5
	server := redistest.Start(t)
	var took atomic.Int64
	var wg sync.WaitGroup
	for i := range replicas {
		s := open(t, Options{
			URL: "redis://" + server.Addr, PoolSize: 2, DialTimeout: patience, ReadTimeout: patience,
		})
		wg.Go(func() {
			token := fmt.Sprint("replica-", i)
			for round := range rounds {
				err := s.Add(t.Context(), "space", store.Delta{
					Row: "row", Add: map[string]int64{"requests": 1, "tokens": int64(i)}, Expiry: time.Hour,
				})
				if err != nil {
					t.Errorf("Add: %v", err)
				}
				key := fmt.Sprint("work-", round)
				held, err := s.Acquire(t.Context(), "space", key, token, time.Minute)
				if err != nil {
					t.Errorf("Acquire: %v", err)
				}
				if !held {
					continue
				}
				took.Add(1)
				if again, err := s.Acquire(t.Context(), "space", key, token, time.Minute); !again || err != nil {
					t.Errorf("the holder cannot renew: %t, %v", again, err)
				}
				if round%2 == 0 { // else it crashes, and holds it on
					if err := s.Release(t.Context(), "space", key, token); err != nil {
						t.Errorf("Release: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d leases were taken", took.Load())
	s := open(t, Options{URL: "redis://" + server.Addr})
	rows, _, err := s.List(t.Context(), "", 10)
	if err != nil || len(rows) != 1 {
		t.Fatalf("List = %v, %v", rows, err)
	}
	want := map[string]int64{"requests": replicas * rounds, "tokens": rounds * replicas * (replicas - 1) / 2}
	for name, n := range want {
		if got := rows[0].Counters[name]; got != n {
			t.Errorf("%s = %d, want %d", name, got, n)
		}
	}
	for round := 1; round < rounds; round += 2 {
		if held, err := s.Acquire(t.Context(), "space", fmt.Sprint("work-", round), "late", time.Minute); held || err != nil {
			t.Errorf("a lease that is held was given away: %t, %v", held, err)
		}
	}
}

// TestOneHolderAtATime: 200 stores want one lease, each holds it for a moment.
func TestOneHolderAtATime(t *testing.T) {
	const replicas = 200
	server := redistest.Start(t)
	var holders atomic.Int64
	var wg sync.WaitGroup
	for i := range replicas {
		s := open(t, Options{
			URL: "redis://" + server.Addr, PoolSize: 1, DialTimeout: patience, ReadTimeout: patience,
		})
		wg.Go(func() {
			token := fmt.Sprint("replica-", i)
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for tries := 0; ; tries++ {
				held, err := s.Acquire(t.Context(), "space", "work", token, time.Minute)
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				if held {
					break
				}
				<-tick.C
			}
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d hold the lease", n)
			}
			holders.Add(-1)
			if err := s.Release(t.Context(), "space", "work", token); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestDiscreet looks at all that is in Redis after everything was used: it all
// ends by itself, and nothing holds a credential.
func TestDiscreet(t *testing.T) {
	const password = "a-credential-of-Redis"
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "folder", "on", ">"+password, "~*", "+@all")
	s := open(t, Options{URL: "redis://folder:" + password + "@" + server.Addr})
	put(t, s, "space", "a", "short")
	put(t, s, "space", "b", foldText(1))
	if _, err := s.Acquire(t.Context(), "space", "work", "token", time.Minute); err != nil {
		t.Fatal(err)
	}
	row := store.Delta{Row: "row", Set: map[string]string{"model": "m"}, Expiry: time.Hour}
	if err := s.Add(t.Context(), "space", row); err != nil {
		t.Fatal(err)
	}
	put(t, s, "gone", "a", "v")
	if err := s.Delete(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	keys := allKeys(t, server.Client())
	if len(keys) != 7 {
		t.Errorf("there are %d keys, want 7: %q", len(keys), keys)
	}
	for _, key := range keys {
		if left := server.Client().PTTL(t.Context(), key).Val(); left <= 0 {
			t.Errorf("%s does not end by itself: %v", key, left)
		}
		dump := key + server.Client().Dump(t.Context(), key).Val()
		if strings.Contains(dump, password) || strings.Contains(key, "short") {
			t.Errorf("%s holds what it must not", key)
		}
	}
}

// TestMemory measures what a conversation takes in Redis: the figures are those
// of docs/operations.md. One that has been folded eight times, with names as long
// as compaction's.
func TestMemory(t *testing.T) {
	const folds = 8
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	for i, key := range keysOf(folds) {
		put(t, s, benchSpace, key, foldText(uint64(i)))
	}
	err := s.Add(t.Context(), "s"+benchSpace, store.Delta{
		Row: benchSpace, Expiry: time.Hour,
		Add: map[string]int64{
			"requests": 60, "folded_requests": 40, "received_tokens": 1e6, "sent_tokens": 1e5,
			"prompt_tokens": 1e5, "completion_tokens": 1e4, "cached_tokens": 1e5,
		},
		Set: map[string]string{
			"session": benchSpace, "tenant": benchSpace, "model": "gpt-5-mini", "folds": benchSpace, "seen_ms": "1764615000000",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int64{}
	var all int64
	for _, key := range allKeys(t, server.Client()) {
		n := server.Client().MemoryUsage(t.Context(), key, 0).Val()
		all += n
		used[key[len("pleat:"):]] = n
	}
	t.Logf("%d folds of %d bytes each: %d keys, %d bytes in all: %v", folds, len(foldText(0)), len(used), all, used)
	if limit := int64(folds*len(foldText(0)) + 4<<10); all > limit {
		t.Errorf("a conversation takes %d bytes, want less than its folds uncompressed", all)
	}
}
