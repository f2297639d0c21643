package redisstore

import (
	"slices"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

const lives = time.Hour // of what put puts

func TestFoldsOfOthersAreSeen(t *testing.T) {
	server := redistest.Start(t)
	one := open(t, Options{URL: "redis://" + server.Addr})
	two := open(t, Options{URL: "redis://" + server.Addr})
	put(t, one, "space", "a", "older")
	expect(t, two, "space", []string{"b", "a"}, 1, "older")
	put(t, two, "space", "b", "newer")
	expect(t, one, "space", []string{"b", "a"}, 0, "newer")
	expect(t, one, "space", []string{"c", "b", "a"}, 1, "newer")
}

// TestFetchedOnce looks at what crosses the wire: a value that is at hand does
// not.
func TestFetchedOnce(t *testing.T) {
	server := redistest.Start(t)
	writer := open(t, Options{URL: "redis://" + server.Addr})
	put(t, writer, "space", "a", foldText(1))
	s := open(t, Options{URL: "redis://" + server.Addr})
	expect(t, s, "space", []string{"a"}, 0, foldText(1))
	a, err := s.lookup(t.Context(), "space", []string{"b", "a"}, 1)
	if err != nil || a.index != 1 || a.stored != "" {
		t.Errorf("a value at hand came again: %d bytes, %v", len(a.stored), err)
	}
	if a, err = s.lookup(t.Context(), "space", []string{"b", "a"}, 0); err != nil || a.stored == "" {
		t.Errorf("a value that is not at hand did not come: %v", err)
	}
}

// TestPositions looks for one record at each place of histories of all lengths
// up to a few runs of the script, and for one that has an older one behind it.
func TestPositions(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr, CacheBytes: -1})
	keys := keysOf(70)
	put(t, s, "last", keys[69], "oldest")
	for at, key := range slices.Backward(keys) {
		put(t, s, "all", key, key)
		expect(t, s, "all", keys, at, key)
		expect(t, s, "all", keys[at:], 0, keys[at])
		expect(t, s, "all", keys[:at], -1, "")
		expect(t, s, "last", keys[at:], 69-at, "oldest")
	}
}

func TestFlushed(t *testing.T) {
	server := redistest.Start(t)
	log := newJournal()
	s := open(t, Options{URL: "redis://" + server.Addr, Observer: log})
	put(t, s, "space", "a", "a fold")
	put(t, s, "space", "b", "newer")
	server.Do("FLUSHALL")
	key := "pleat:1:{space}:r:b"
	expect(t, s, "space", []string{"c", "b", "a"}, 1, "newer")
	redistest.Eventually(t, "the fold is put back", func() bool {
		return server.Client().Exists(t.Context(), key).Val() == 1
	})
	if left := server.Client().PTTL(t.Context(), key).Val(); left < lives-time.Minute {
		t.Errorf("it is put back for %v, want %v", left, lives)
	}
	// Only Redis has what only Redis was told since.
	other := open(t, Options{URL: "redis://" + server.Addr})
	put(t, other, "space", "c", "newest")
	expect(t, s, "space", []string{"c", "b", "a"}, 0, "newest")
	if log.local["behind"] != 1 {
		t.Errorf("served locally: %v", log.local)
	}
}

// TestDeletedIsNotPutBack: while the space is closed, and long after.
func TestDeletedIsNotPutBack(t *testing.T) {
	server := redistest.Start(t)
	var now clock
	late := open(t, Options{URL: "redis://" + server.Addr, Now: now.Now})
	later := open(t, Options{URL: "redis://" + server.Addr, Now: now.Now})
	latest := open(t, Options{URL: "redis://" + server.Addr, Now: now.Now})
	s := open(t, Options{URL: "redis://" + server.Addr})
	stored, err := s.PutIfAbsent(t.Context(), "space", "a", []byte("private"), 30*24*time.Hour)
	if err != nil || !stored {
		t.Fatal(stored, err)
	}
	for _, other := range []*Store{late, later, latest} {
		expect(t, other, "space", []string{"a"}, 0, "private")
	}
	if err := s.Delete(t.Context(), "space"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "space", []string{"a"}, -1, "")
	expect(t, late, "space", []string{"a"}, -1, "")

	pass := func(d time.Duration) {
		now.ahead.Add(int64(d))
		age(t, server.Client(), d)
	}
	pass(2 * store.TombstoneLife)
	expect(t, later, "space", []string{"a"}, -1, "")
	put(t, later, "space", "b", "a new one")
	expect(t, latest, "space", []string{"b", "a"}, 0, "a new one")
	pass(tombstoneKept)
	expect(t, latest, "space", []string{"c", "a"}, -1, "")
	expect(t, late, "space", []string{"a"}, -1, "")
}

// TestDeletedIsForgotten: what is known to be deleted does not return when Redis
// is away.
func TestDeletedIsForgotten(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	other := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "a", "private")
	expect(t, other, "space", []string{"a"}, 0, "private")
	if err := s.Delete(t.Context(), "space"); err != nil {
		t.Fatal(err)
	}
	expect(t, other, "space", []string{"a"}, -1, "")
	server.Kill()
	for _, store := range []*Store{s, other} {
		_, value, err := store.Newest(t.Context(), "space", []string{"a"})
		expectFault(t, err, ErrAway)
		if value != nil {
			t.Error("a deleted value is returned")
		}
	}
}

// TestHalfDeleted: a deletion that was cut short hides what it has not removed.
func TestHalfDeleted(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "a", "private")
	server.Client().Set(t.Context(), "pleat:1:{space}:x", "1", tombstoneKept)
	expect(t, s, "space", []string{"a"}, -1, "")
	if err := s.Delete(t.Context(), "space"); err != nil {
		t.Fatal(err)
	}
	if n := server.Client().Exists(t.Context(), "pleat:1:{space}:r:a").Val(); n != 0 {
		t.Error("the deletion, repeated, left the record")
	}
}

// TestUsedAtFullLength: use renews a record, at most once an hour.
func TestUsedAtFullLength(t *testing.T) {
	const month = 30 * 24 * time.Hour
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	if _, err := s.PutIfAbsent(t.Context(), "space", "a", []byte("v"), month); err != nil {
		t.Fatal(err)
	}
	left := func(key string) time.Duration { return server.Client().PTTL(t.Context(), key).Val() }
	record, list := "pleat:1:{space}:r:a", "pleat:1:{space}:i"

	age(t, server.Client(), 50*time.Minute)
	expect(t, s, "space", []string{"a"}, 0, "v")
	if got := left(record); got > month-50*time.Minute {
		t.Errorf("renewed after 50 minutes: %v left", got)
	}
	age(t, server.Client(), 11*time.Minute)
	expect(t, s, "space", []string{"a"}, 0, "v")
	for _, key := range []string{record, list} {
		if got := left(key); got < month-time.Minute {
			t.Errorf("%s is not renewed after an hour: %v left", key, got)
		}
	}
	ends := server.Client().ZScore(t.Context(), list, "r:a").Val()
	if want := time.Now().Add(month - time.Minute).UnixMilli(); int64(ends) < want {
		t.Errorf("the index drops the record %v before it ends", time.Duration(want-int64(ends))*time.Millisecond)
	}
}

// TestIndexIsPruned: it holds what is alive, however much was there before.
func TestIndexIsPruned(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "lasts", "v")
	for _, key := range keysOf(300) {
		if _, err := s.PutIfAbsent(t.Context(), "space", key, nil, time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(5 * time.Millisecond)
	put(t, s, "space", "a", "v")
	if n := server.Client().ZCard(t.Context(), "pleat:1:{space}:i").Val(); n != 2 {
		t.Errorf("the index lists %d records, want the two that live", n)
	}
}

// TestUsedForDays: what is used goes on being believed in, while Redis confirms it.
func TestUsedForDays(t *testing.T) {
	server := redistest.Start(t)
	var now clock
	s := open(t, Options{URL: "redis://" + server.Addr, Now: now.Now})
	if _, err := s.PutIfAbsent(t.Context(), "space", "a", []byte("v"), 30*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now.ahead.Add(int64(20 * time.Hour))
		age(t, server.Client(), 20*time.Hour)
		expect(t, s, "space", []string{"a"}, 0, "v")
	}
	server.Kill()
	now.ahead.Add(int64(20 * time.Hour))
	expect(t, s, "space", []string{"a"}, 0, "v")
	now.ahead.Add(int64(5 * time.Hour))
	_, _, err := s.Newest(t.Context(), "space", []string{"a"})
	expectFault(t, err, ErrAway) // a deletion would have been forgotten by now
}
