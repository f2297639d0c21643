package memstore

import (
	"container/list"
	"strings"
	"time"
)

// What an entry is charged, in bytes, beside its names and its value (the memory
// that the value takes, see clone). The figures are for a 64-bit Go 1.26, each
// the worst case rather than the mean, so that the bound holds;
// TestChargeCoversHeap compares them with the heap.
const (
	// entryOverhead is the entry itself (144), its list element (48), its slot
	// in the map of entries (57, and a map is at worst half empty: 130), in the
	// heap and in its space (16 each, for slices grow ahead of need), the space
	// where the entry is the only one (64, and 60 for its slot), and 16 for
	// rounding up its strings.
	entryOverhead = 512

	// rowOverhead is the two maps of a row of counters, with room for eight
	// names each (304 and 336), and its place in the roster (64).
	rowOverhead = 704

	// nameOverhead is a name's share in a map that had to grow, at worst half
	// empty (66), and the rounding up of name and value (24: both are short).
	nameOverhead = 96
)

// kind says what an entry is.
type kind uint8

const (
	record kind = iota
	counter
	lease
	tombstone
	kinds // how many kinds there are
)

// pinned reports whether entries of the kind stay until they expire.
func (k kind) pinned() bool { return k == lease || k == tombstone }

// id names an entry. A tombstone has no key.
type id struct {
	kind  kind
	space string
	key   string
}

// entry is one thing that is kept, of whatever kind.
type entry struct {
	id      id
	value   []byte // a record's value, a lease's token
	row     *row   // of a counter
	expires time.Time
	life    time.Duration // what a use of it renews it for
	charge  int64         // bytes

	// Where the entry stands in the table's views of it.
	recent   *list.Element // in recency
	deadline int           // in deadlines
	member   int           // in its space
	serial   uint64        // in rows, of a counter
}

// newEntry copies the key and the value: the key may be part of a request's
// body and would keep it alive.
func newEntry(name id, value []byte, now time.Time, life time.Duration) *entry {
	name.key = strings.Clone(name.key)
	value = clone(value)
	return &entry{
		id:      name,
		value:   value,
		expires: now.Add(life),
		life:    life,
		charge:  entryOverhead + int64(len(name.space)+len(name.key)+cap(value)),
	}
}

// clone returns a copy, never nil, whose capacity is the memory that it takes:
// the allocator rounds up by as much as an eighth, and append says how far.
func clone(value []byte) []byte { return append([]byte{}, value...) }

func (e *entry) expired(now time.Time) bool { return !now.Before(e.expires) }
