package memstore

import (
	"errors"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/storetest"
)

// clock is time that passes when a test says so.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{at: time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func open(t *testing.T, maxBytes int64) (*Store, *clock) {
	t.Helper()
	c := newClock()
	s := New(Options{MaxBytes: maxBytes, Now: c.now})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s, c
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, func(time.Duration)) {
		t.Helper()
		s, c := open(t, 0)
		return s, c.advance
	})
}

// TestDefaults runs on the real clock.
func TestDefaults(t *testing.T) {
	s := New(Options{})
	if s.table.max != DefaultMaxBytes {
		t.Errorf("the bound is %d, want %d", s.table.max, DefaultMaxBytes)
	}
	stored, err := s.PutIfAbsent(t.Context(), "space", "key", []byte("value"), time.Hour)
	if err != nil || !stored {
		t.Fatalf("PutIfAbsent = %t, %v", stored, err)
	}
	if i, value, err := s.Newest(t.Context(), "space", []string{"key"}); i != 0 || string(value) != "value" || err != nil {
		t.Errorf("Newest = %d, %q, %v", i, value, err)
	}
}

// TestExpiresToTheInstant: what lives for an hour is gone when the hour is over.
func TestExpiresToTheInstant(t *testing.T) {
	s, c := open(t, 0)
	mustPut(t, s, "key", 1)
	c.advance(time.Hour - 1)
	if got := present(s, "key"); got == "" {
		t.Error("the record is gone before its time")
	}
	c.advance(1)
	if got := present(s, "key"); got != "" {
		t.Error("the record is still there when its time is over")
	}
}

func TestRefusesWhatNeverLives(t *testing.T) {
	s, _ := open(t, 0)
	for _, d := range []time.Duration{0, -time.Second} {
		if stored, err := s.PutIfAbsent(t.Context(), "space", "key", nil, d); stored || !errors.Is(err, errNotPositive) {
			t.Errorf("PutIfAbsent for %s = %t, %v", d, stored, err)
		}
		if held, err := s.Acquire(t.Context(), "space", "key", "token", d); held || !errors.Is(err, errNotPositive) {
			t.Errorf("Acquire for %s = %t, %v", d, held, err)
		}
		if err := s.Add(t.Context(), "space", store.Delta{Row: "row", Expiry: d}); !errors.Is(err, errNotPositive) {
			t.Errorf("Add for %s: %v", d, err)
		}
	}
	if s.table.used != 0 {
		t.Errorf("%d bytes are charged for nothing", s.table.used)
	}
}

func TestListRefusesForeignCursors(t *testing.T) {
	s, _ := open(t, 0)
	for _, cursor := range []string{"!", "-1", "zzzzzzzzzzzzzzzzzzzz"} {
		if _, _, err := s.List(t.Context(), cursor, 1); err == nil {
			t.Errorf("List after %q reports no error", cursor)
		}
	}
	if _, _, err := s.List(t.Context(), "", 0); err == nil {
		t.Error("List of no rows at all reports no error")
	}
}

// TestListGoesOnAfterRemovals: the row that a cursor names may be gone, and its
// neighbours with it.
func TestListGoesOnAfterRemovals(t *testing.T) {
	s, _ := open(t, 0)
	spaces := []string{"a", "b", "c", "d", "e", "f"}
	for _, space := range spaces {
		mustAdd(t, s, space, nil)
	}
	page, cursor, err := s.List(t.Context(), "", 3)
	if err != nil || len(page) != 3 {
		t.Fatalf("List = %d rows, %v", len(page), err)
	}
	for _, space := range []string{"a", "b", "c", "d"} {
		if err := s.Delete(t.Context(), space); err != nil {
			t.Fatal(err)
		}
	}
	mustAdd(t, s, "g", nil)
	page, cursor, err = s.List(t.Context(), cursor, 10)
	if err != nil || cursor != "" {
		t.Fatalf("List ends with cursor %q, %v", cursor, err)
	}
	var got string
	for _, row := range page {
		got += row.Space
	}
	if got != "efg" {
		t.Errorf("the rest of the list is %q, want %q", got, "efg")
	}
}

func mustAdd(t *testing.T, s *Store, space string, labels map[string]string) {
	t.Helper()
	delta := store.Delta{Row: "row", Add: map[string]int64{"n": 1}, Set: labels, Expiry: time.Hour}
	if err := s.Add(t.Context(), space, delta); err != nil {
		t.Fatalf("Add: %v", err)
	}
}

func mustPut(t *testing.T, s *Store, key string, size int) {
	t.Helper()
	stored, err := s.PutIfAbsent(t.Context(), "space", key, make([]byte, size), time.Hour)
	if err != nil || !stored {
		t.Fatalf("PutIfAbsent(%s) = %t, %v", key, stored, err)
	}
}
