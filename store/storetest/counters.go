package storetest

import (
	"maps"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

func counterChecks() []check {
	return []check{
		{"Counters/Empty", countersEmpty},
		{"Counters/AddUp", countersAdd},
		{"Counters/LabelsAreOverwritten", countersLabels},
		{"Counters/LoseNothing", countersRace},
		{"Counters/Expire", countersExpire},
		{"Counters/SpacesAndRecordsAreApart", countersApart},
		{"Counters/KeepNoReference", countersNotAliased},
		{"Counters/PagesAreComplete", countersPages},
	}
}

// place names a row among those of all spaces.
type place struct{ space, row string }

// add adds to one row, which lives on.
func add(t testing.TB, s store.Store, space, row string, numbers map[string]int64, labels map[string]string) {
	t.Helper()
	must(t, s.Add(t.Context(), space, store.Delta{Row: row, Add: numbers, Set: labels, Expiry: lasting}))
}

// list returns all rows, a page of at most limit at a time. No row may come
// twice, for none changes meanwhile. A page may be short before the last.
func list(t testing.TB, s store.Store, limit int) map[place]store.Row {
	t.Helper()
	const enough = 10_000 // pages; more than any list here has
	all := map[place]store.Row{}
	cursor := ""
	for range enough {
		rows, next, err := s.List(t.Context(), cursor, limit)
		must(t, err)
		if len(rows) > limit {
			t.Fatalf("List returned %d rows, want at most %d", len(rows), limit)
		}
		for _, row := range rows {
			at := place{row.Space, row.Name}
			if _, twice := all[at]; twice {
				t.Fatalf("List returned the row %v twice", at)
			}
			all[at] = row
		}
		if next == "" {
			return all
		}
		cursor = next
	}
	t.Fatalf("List did not end in %d pages", enough)
	return nil
}

// expectRow compares one row of a listing.
func expectRow(
	t testing.TB, all map[place]store.Row, at place, numbers map[string]int64, labels map[string]string,
) {
	t.Helper()
	row, listed := all[at]
	if !listed {
		t.Fatalf("the row %v is not listed", at)
	}
	if !maps.Equal(row.Counters, numbers) {
		t.Errorf("the row %v counts %v, want %v", at, row.Counters, numbers)
	}
	if !maps.Equal(row.Labels, labels) {
		t.Errorf("the row %v has labels %v, want %v", at, row.Labels, labels)
	}
}

func countersEmpty(t testing.TB, s store.Store, _ func(time.Duration)) {
	if all := list(t, s, 10); len(all) != 0 {
		t.Errorf("an empty store lists %d rows", len(all))
	}
}

func countersAdd(t testing.TB, s store.Store, _ func(time.Duration)) {
	add(t, s, "space", "row", map[string]int64{"requests": 1, "saved": -20}, nil)
	add(t, s, "space", "row", map[string]int64{"requests": 2, "saved": 1 << 40}, nil)
	add(t, s, "space", "row", map[string]int64{"late": 7}, nil)
	expectRow(t, list(t, s, 10), place{"space", "row"},
		map[string]int64{"requests": 3, "saved": 1<<40 - 20, "late": 7}, nil)
}

func countersLabels(t testing.TB, s store.Store, _ func(time.Duration)) {
	add(t, s, "space", "row", map[string]int64{"n": 1}, map[string]string{"model": "m1", "tenant": "t"})
	add(t, s, "space", "row", nil, map[string]string{"model": "m2", "seen": "12:00 \xe2\x82\xac"})
	add(t, s, "space", "row", map[string]int64{"n": 1}, nil)
	expectRow(t, list(t, s, 10), place{"space", "row"}, map[string]int64{"n": 2},
		map[string]string{"model": "m2", "tenant": "t", "seen": "12:00 \xe2\x82\xac"})
}

func countersRace(t testing.TB, s store.Store, _ func(time.Duration)) {
	const adders, each = 20, 25
	together(adders, func(int) {
		for range each {
			delta := store.Delta{Row: "row", Add: map[string]int64{"a": 1, "b": 3}, Expiry: lasting}
			if err := s.Add(t.Context(), "space", delta); err != nil {
				t.Errorf("the store failed: %v", err)
			}
		}
	})
	expectRow(t, list(t, s, 10), place{"space", "row"},
		map[string]int64{"a": adders * each, "b": 3 * adders * each}, nil)
}

func countersExpire(t testing.TB, s store.Store, advance func(time.Duration)) {
	once := store.Delta{
		Row: "row", Add: map[string]int64{"n": 1}, Set: map[string]string{"model": "m"}, Expiry: life,
	}
	must(t, s.Add(t.Context(), "space", once))
	advance(life * 3 / 5)
	once.Set = nil
	must(t, s.Add(t.Context(), "space", once))
	advance(life * 3 / 5)
	expectRow(t, list(t, s, 10), place{"space", "row"},
		map[string]int64{"n": 2}, map[string]string{"model": "m"})
	advance(past)
	if all := list(t, s, 10); len(all) != 0 {
		t.Errorf("%d rows are listed after they expired", len(all))
	}
	must(t, s.Add(t.Context(), "space", once))
	expectRow(t, list(t, s, 10), place{"space", "row"}, map[string]int64{"n": 1}, nil)
}

func countersApart(t testing.TB, s store.Store, _ func(time.Duration)) {
	put(t, s, "one", "row", "a record", lasting)
	add(t, s, "one", "row", map[string]int64{"n": 1}, nil)
	add(t, s, "two", "row", map[string]int64{"n": 2}, nil)
	add(t, s, "x:y", "z", map[string]int64{"n": 3}, nil)
	add(t, s, "x", "y:z", map[string]int64{"n": 4}, nil)
	all := list(t, s, 10)
	if len(all) != 4 {
		t.Errorf("%d rows are listed, want 4", len(all))
	}
	expectRow(t, all, place{"one", "row"}, map[string]int64{"n": 1}, nil)
	expectRow(t, all, place{"two", "row"}, map[string]int64{"n": 2}, nil)
	expectRow(t, all, place{"x:y", "z"}, map[string]int64{"n": 3}, nil)
	expectRow(t, all, place{"x", "y:z"}, map[string]int64{"n": 4}, nil)
	expectNewest(t, s, "one", []string{"row"}, 0, "a record")
}

func countersNotAliased(t testing.TB, s store.Store, _ func(time.Duration)) {
	numbers, labels := map[string]int64{"n": 1}, map[string]string{"model": "m"}
	add(t, s, "space", "row", numbers, labels)
	numbers["n"], labels["model"] = 100, "other"
	at := place{"space", "row"}
	listed := list(t, s, 10)[at]
	expectRow(t, map[place]store.Row{at: listed}, at, map[string]int64{"n": 1}, map[string]string{"model": "m"})
	clear(listed.Counters)
	clear(listed.Labels)
	expectRow(t, list(t, s, 10), at, map[string]int64{"n": 1}, map[string]string{"model": "m"})
}

func countersPages(t testing.TB, s store.Store, _ func(time.Duration)) {
	spaces, rows := names("space", 12), names("row", 9)
	for i, space := range spaces {
		for j, row := range rows {
			add(t, s, space, row, map[string]int64{"n": int64(i*len(rows) + j)}, nil)
		}
	}
	for _, limit := range []int{1, 7, len(spaces) * len(rows), 1000} {
		all := list(t, s, limit)
		if len(all) != len(spaces)*len(rows) {
			t.Fatalf("pages of %d hold %d rows, want %d", limit, len(all), len(spaces)*len(rows))
		}
		for i, space := range spaces {
			for j, row := range rows {
				expectRow(t, all, place{space, row}, map[string]int64{"n": int64(i*len(rows) + j)}, nil)
			}
		}
	}
}
