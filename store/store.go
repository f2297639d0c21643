// Package store is the contract between compaction and whatever keeps its
// results. It holds words and no code: each backend lives in a package of its
// own below this one and passes the suite in store/storetest.
//
// What is kept is opaque here. A space is the tenant and the way a
// conversation opens, hashed; a key is a hash of content. Neither ever holds
// text of a message or a credential, and both are made of the characters
// A-Z a-z 0-9 - _ : only, at most 200 bytes long. Every value has a time to live,
// so a store never needs cleaning by hand. All keys of one space live together
// (one slot of a Redis Cluster), and nothing ever spans two spaces.
//
// Absence is not an error. An error means that the store itself failed (it
// could not be reached, it was full, the context ended); the caller goes on
// without it.
package store

import (
	"context"
	"time"
)

// Store is everything that compaction keeps, shared by all Pleat processes
// that are configured with the same one. Implementations are safe for
// concurrent use.
type Store interface {
	Records
	Leases
	Counters

	// Delete removes all records, leases and counters of the space and leaves
	// a tombstone for at least TombstoneLife. While it stands, PutIfAbsent,
	// Acquire and Add on the space have no effect and report no error, so that
	// a job in flight cannot bring back what its owner had removed.
	Delete(ctx context.Context, space string) error

	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
}

// TombstoneLife is how long a deleted space stays closed: longer than any
// background job may run (compaction ends one after two minutes).
const TombstoneLife = 3 * time.Minute

// Records are values under content keys. A record never changes once it is
// put: two writers of one key wrote the same thing, or the first one wins.
type Records interface {
	// Newest returns the index and value of the first of keys that has a
	// value, or -1 and nil if none has. It is one round trip however many keys
	// are asked for. A record that is found is in use: it lives on for at least
	// the ttl it was put with, counted from now; a backend may renew it as
	// seldom as once an hour. The caller must not modify value.
	Newest(ctx context.Context, space string, keys []string) (index int, value []byte, err error)

	// PutIfAbsent stores value for ttl and reports whether it did; false means
	// that the key had a value already or that the space was deleted a short
	// while ago. It keeps no reference to value. ttl must be positive.
	PutIfAbsent(ctx context.Context, space, key string, value []byte, ttl time.Duration) (stored bool, err error)
}

// Leases let one process at a time do a piece of work. The token says who
// holds a lease and must be random; a lease that is not renewed ends by itself.
type Leases interface {
	// Acquire takes the lease for life, or renews it when token holds it
	// already. It reports false when another token holds it or the space was
	// deleted a short while ago.
	Acquire(ctx context.Context, space, key, token string, life time.Duration) (held bool, err error)

	// Held reports whether any of the leases is held, by whomever, in one round
	// trip however many keys are asked for.
	Held(ctx context.Context, space string, keys []string) (held bool, err error)

	// Release ends the lease if token holds it, and does nothing otherwise.
	Release(ctx context.Context, space, key, token string) error
}

// Counters are the numbers shown for a session. They are kept apart from
// records: a backend short of room drops counters first.
type Counters interface {
	// Add adds the delta's numbers to those of its row, sets its labels, and
	// lets the row live for delta.Expiry from now.
	Add(ctx context.Context, space string, delta Delta) error

	// List returns up to limit rows of all spaces after cursor ("" begins), in
	// a stable but unspecified order, and the cursor that follows, "" at the
	// end. A row that changes meanwhile may be missed or returned twice.
	List(ctx context.Context, cursor string, limit int) (rows []Row, next string, err error)
}

// Delta is one addition to a row of counters.
type Delta struct {
	Row    string            // the row's name within the space: characters as in a key
	Add    map[string]int64  // counter name → how much more
	Set    map[string]string // label name → its new value
	Expiry time.Duration     // time to live of the whole row from now; positive
}

// Row is one row of counters.
type Row struct {
	Space    string
	Name     string
	Counters map[string]int64
	Labels   map[string]string
}
