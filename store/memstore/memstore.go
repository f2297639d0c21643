// Package memstore keeps what compaction stores in the memory of one process.
// It is the store of a single Pleat that needs no other service, and what the
// other packages test against.
//
// # What it costs
//
// Everything kept is charged against one bound: names, values and a flat
// overhead for the bookkeeping (see entryOverhead), which is set so that the
// charge is at least the live heap in use. Two things come on top. The Go
// collector lets the heap grow before it cleans it, by as much again under the
// default GOGC. And a hash table does not shrink: a store that was once full of
// tiny entries keeps their slots when large ones take their place.
//
// # What goes first
//
// A store short of room drops what has expired, then counters, then records,
// each the longest unused first. Leases and tombstones are never dropped before
// their time, since two processes would do one job, or a deleted space come
// back: a store that holds nothing else answers ErrFull.
//
// No goroutine is started. What expires is unreachable at that moment and is
// freed when its place is wanted, or a few at a time by whatever is stored next.
package memstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

// DefaultMaxBytes bounds a store whose Options name no bound.
const DefaultMaxBytes = 256 << 20

// ErrFull says that there is no room: what was to be stored is larger than the
// bound, less what leases and tombstones take of it.
var ErrFull = errors.New("memstore: full")

// errNotPositive reports a caller's mistake: nothing lives for no time at all.
var errNotPositive = errors.New("memstore: time to live is not positive")

// Options are the choices that a Store is made with. The zero value is usable.
type Options struct {
	// MaxBytes bounds what is kept, in bytes as charged; 0 or less means
	// DefaultMaxBytes.
	MaxBytes int64

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Store implements store.Store. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	mu    sync.Mutex // protects table and all that hangs from it
	table *table
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(options Options) *Store {
	if options.MaxBytes <= 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Store{now: options.Now, table: newTable(options.MaxBytes)}
}

// Delete implements store.Store. ErrFull means that the space is empty but that
// no tombstone stands.
func (s *Store) Delete(ctx context.Context, space string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.removeSpace(space)
	now := s.now()
	return s.table.insert(newEntry(id{kind: tombstone, space: space}, nil, now, store.TombstoneLife), now)
}

// Ping implements store.Store: a store in memory answers while its caller
// still listens.
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }

// Close has nothing to wait for; it is there so that all backends end alike.
func (s *Store) Close() error { return nil }

// closed reports whether the space was deleted a short while ago.
func (s *Store) closed(space string, now time.Time) bool {
	return s.table.find(id{kind: tombstone, space: space}, now) != nil
}
