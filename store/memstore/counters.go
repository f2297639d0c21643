package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/pleat-proxy/pleat/store"
)

// cursorBase is the base in which a cursor spells a row's serial number.
const cursorBase = 36

var errLimit = errors.New("memstore: a page has room for at least one row")

// row is the payload of an entry of kind counter.
type row struct {
	counters map[string]int64
	labels   map[string]string
}

// Add implements store.Counters.
func (s *Store) Add(ctx context.Context, space string, delta store.Delta) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if delta.Expiry <= 0 {
		return errNotPositive
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.closed(space, now) {
		return nil
	}
	name := id{counter, space, delta.Row}
	e := s.table.find(name, now)
	if e == nil {
		e = newEntry(name, nil, now, delta.Expiry)
		e.row = &row{counters: map[string]int64{}, labels: map[string]string{}}
		e.charge += rowOverhead + e.row.growth(delta)
		e.row.apply(delta)
		return s.table.insert(e, now)
	}
	if err := s.table.grow(e, e.row.growth(delta), now); err != nil {
		return err
	}
	e.row.apply(delta)
	s.table.use(e, now.Add(delta.Expiry))
	return nil
}

// List implements store.Counters. Rows come in the order in which they were
// made; a cursor is the serial number of the last one that was returned.
func (s *Store) List(ctx context.Context, cursor string, limit int) ([]store.Row, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if limit < 1 {
		return nil, "", errLimit
	}
	after, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var page []store.Row
	for serial, e := range s.table.rows.after(after) {
		if e.expired(now) {
			continue
		}
		if len(page) == limit {
			return page, strconv.FormatUint(after, cursorBase), nil
		}
		page = append(page, store.Row{
			Space:    e.id.space,
			Name:     e.id.key,
			Counters: maps.Clone(e.row.counters),
			Labels:   maps.Clone(e.row.labels),
		})
		after = serial
	}
	return page, "", nil
}

func parseCursor(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	serial, err := strconv.ParseUint(cursor, cursorBase, 64)
	if err != nil {
		return 0, fmt.Errorf("memstore: not a cursor: %q", cursor)
	}
	return serial, nil
}

// growth returns by how many bytes the delta would make the row larger, which
// is less than nothing where labels become shorter.
func (r *row) growth(delta store.Delta) int64 {
	var bytes int
	for name := range delta.Add {
		if _, known := r.counters[name]; !known {
			bytes += len(name) + nameOverhead
		}
	}
	for name, value := range delta.Set {
		old, known := r.labels[name]
		if !known {
			bytes += len(name) + nameOverhead
		}
		bytes += len(value) - len(old)
	}
	return int64(bytes)
}

// apply clones what it keeps: the caller's strings may be parts of something
// large.
func (r *row) apply(delta store.Delta) {
	for name, more := range delta.Add {
		if _, known := r.counters[name]; !known {
			name = strings.Clone(name)
		}
		r.counters[name] += more
	}
	for name, value := range delta.Set {
		if _, known := r.labels[name]; !known {
			name = strings.Clone(name)
		}
		r.labels[name] = strings.Clone(value)
	}
}
