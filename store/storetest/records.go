package storetest

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

func recordChecks() []check {
	return []check{
		{"Records/Absent", recordsAbsent},
		{"Records/NewestIsTheFirstThatHasAValue", recordsPreference},
		{"Records/FirstWriterWins", recordsFirstWriter},
		{"Records/WritersRace", recordsRace},
		{"Records/Expire", recordsExpire},
		{"Records/LiveOnWhenUsed", recordsRenewed},
		{"Records/KeepNoReference", recordsNotAliased},
		{"Records/SpacesAreApart", recordsSpaces},
		{"Records/OddSizes", recordsSizes},
	}
}

// put stores a value that must not be there yet.
func put(t testing.TB, s store.Store, space, key, value string, ttl time.Duration) {
	t.Helper()
	stored, err := s.PutIfAbsent(t.Context(), space, key, []byte(value), ttl)
	must(t, err)
	if !stored {
		t.Fatalf("PutIfAbsent(%s, %s) = false for a key without a value", space, key)
	}
}

// expectNewest asks for keys and compares the answer; index -1 wants none.
func expectNewest(t testing.TB, s store.Store, space string, keys []string, index int, value string) {
	t.Helper()
	gotIndex, gotValue, err := s.Newest(t.Context(), space, keys)
	must(t, err)
	if gotIndex != index {
		t.Fatalf("Newest(%s, %d keys) has index %d, want %d", space, len(keys), gotIndex, index)
	}
	if index < 0 && gotValue != nil {
		t.Fatalf("Newest(%s) found nothing and returned %d bytes, want nil", space, len(gotValue))
	}
	if string(gotValue) != value {
		t.Fatalf("Newest(%s) returned another value: %d bytes, want %d", space, len(gotValue), len(value))
	}
}

func recordsAbsent(t testing.TB, s store.Store, _ func(time.Duration)) {
	expectNewest(t, s, "space", nil, -1, "")
	expectNewest(t, s, "space", []string{"a"}, -1, "")
	expectNewest(t, s, "space", names("k", 100), -1, "")
	put(t, s, "space", "a", "1", lasting)
	expectNewest(t, s, "space", nil, -1, "")
	expectNewest(t, s, "space", []string{"b", "A", "aa"}, -1, "")
}

func recordsPreference(t testing.TB, s store.Store, _ func(time.Duration)) {
	keys := names("k", 500)
	put(t, s, "space", keys[499], "old", lasting)
	expectNewest(t, s, "space", keys, 499, "old")
	put(t, s, "space", keys[7], "newer", lasting)
	expectNewest(t, s, "space", keys, 7, "newer")
	put(t, s, "space", keys[250], "late but older", lasting)
	expectNewest(t, s, "space", keys, 7, "newer")
	expectNewest(t, s, "space", []string{keys[499], keys[7]}, 0, "old")
	expectNewest(t, s, "space", []string{"none", keys[7], keys[7]}, 1, "newer")
}

func recordsFirstWriter(t testing.TB, s store.Store, _ func(time.Duration)) {
	put(t, s, "space", "a", "first", lasting)
	stored, err := s.PutIfAbsent(t.Context(), "space", "a", []byte("second"), lasting)
	must(t, err)
	if stored {
		t.Error("a second PutIfAbsent says that it stored")
	}
	expectNewest(t, s, "space", []string{"a"}, 0, "first")
}

func recordsRace(t testing.TB, s store.Store, _ func(time.Duration)) {
	const writers = 20
	for _, key := range names("k", 10) {
		var winner atomic.Int64
		var won atomic.Int64
		together(writers, func(i int) {
			stored, err := s.PutIfAbsent(t.Context(), "space", key, []byte(strconv.Itoa(i)), lasting)
			if err != nil {
				t.Errorf("the store failed: %v", err)
			}
			if stored {
				won.Add(1)
				winner.Store(int64(i))
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d of %d writers were told that they stored, want 1", won.Load(), writers)
		}
		expectNewest(t, s, "space", []string{key}, 0, strconv.FormatInt(winner.Load(), 10))
	}
}

func recordsExpire(t testing.TB, s store.Store, advance func(time.Duration)) {
	put(t, s, "space", "long", "kept", lasting)
	put(t, s, "space", "short", "first", life)
	expectNewest(t, s, "space", []string{"short", "long"}, 0, "first")
	advance(past)
	expectNewest(t, s, "space", []string{"short", "long"}, 1, "kept")
	put(t, s, "space", "short", "second", lasting)
	expectNewest(t, s, "space", []string{"short", "long"}, 0, "second")
}

// recordsRenewed uses hours, since a backend may renew as seldom as that.
func recordsRenewed(t testing.TB, s store.Store, advance func(time.Duration)) {
	const ttl = 4 * time.Hour
	put(t, s, "space", "used", "1", ttl)
	put(t, s, "space", "unused", "2", ttl)
	for range 3 {
		advance(ttl / 2)
		expectNewest(t, s, "space", []string{"none", "used", "unused"}, 1, "1")
	}
	expectNewest(t, s, "space", []string{"unused"}, -1, "")
	advance(ttl + time.Minute)
	expectNewest(t, s, "space", []string{"used"}, -1, "")
}

func recordsNotAliased(t testing.TB, s store.Store, _ func(time.Duration)) {
	value := []byte("as it was put")
	stored, err := s.PutIfAbsent(t.Context(), "space", "a", value, lasting)
	must(t, err)
	if !stored {
		t.Fatal("PutIfAbsent did not store")
	}
	copy(value, "overwritten!!")
	expectNewest(t, s, "space", []string{"a"}, 0, "as it was put")
}

func recordsSpaces(t testing.TB, s store.Store, _ func(time.Duration)) {
	put(t, s, "one", "a", "1", lasting)
	expectNewest(t, s, "two", []string{"a"}, -1, "")
	put(t, s, "two", "a", "2", lasting)
	expectNewest(t, s, "one", []string{"a"}, 0, "1")
	expectNewest(t, s, "two", []string{"a"}, 0, "2")

	// Names that run into each other when a backend joins them carelessly.
	put(t, s, "x:y", "z", "left", lasting)
	expectNewest(t, s, "x", []string{"y:z"}, -1, "")
	put(t, s, "x", "y:z", "right", lasting)
	expectNewest(t, s, "x:y", []string{"z"}, 0, "left")
}

func recordsSizes(t testing.TB, s store.Store, _ func(time.Duration)) {
	put(t, s, "space", "empty", "", lasting)
	expectNewest(t, s, "space", []string{"empty"}, 0, "")

	large := string(bytes.Repeat([]byte("0123456789abcde\x00"), 1<<16))
	put(t, s, "space", "large", large, lasting)
	expectNewest(t, s, "space", []string{"large"}, 0, large)

	const longest = 200 // bytes; the contract's bound of a key
	key := string(bytes.Repeat([]byte("Az09-_:k"), longest/8))
	put(t, s, key, key, "\xff\xfe\r\n", lasting)
	expectNewest(t, s, key, []string{key}, 0, "\xff\xfe\r\n")
}
