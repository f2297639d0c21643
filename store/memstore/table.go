package memstore

import (
	"container/heap"
	"container/list"
	"strings"
	"time"
)

// sweepBatch is how many expired entries one insert removes at most: more than
// one, so that they cannot pile up; few, so that the first request after a
// quiet night does not pay for all of them.
const sweepBatch = 16

// table is the unlocked core: all entries, and the views of them that find the
// one to look up, to expire, to drop, to list or to delete with its space. The
// views are changed together by insert and remove and nowhere else.
type table struct {
	max    int64 // bytes, as charged
	used   int64 // charge of all entries, at most max
	pinned int64 // the part of used that leases and tombstones take

	entries   map[id]*entry
	spaces    map[string]*space
	recency   [kinds]list.List // of *entry; front: used last
	deadlines deadlines
	rows      roster
}

// space is the entries that Delete removes together.
type space struct {
	name    string // the one copy that all its members share
	members []*entry
}

func newTable(limit int64) *table {
	return &table{max: limit, entries: map[id]*entry{}, spaces: map[string]*space{}}
}

// find returns the entry of that name, or nil if there is none that still
// lives.
func (t *table) find(name id, now time.Time) *entry {
	e := t.entries[name]
	if e == nil || e.expired(now) {
		return nil
	}
	return e
}

// insert adds an entry, in the place of an expired one of its name, and makes
// room for it. On ErrFull it is not added, and nothing that lives was dropped.
func (t *table) insert(e *entry, now time.Time) error {
	if old := t.entries[e.id]; old != nil {
		t.remove(old)
	}
	t.sweep(now)
	if err := t.reserve(e.charge, nil, now); err != nil {
		return err
	}
	t.account(e, e.charge)
	t.join(e)
	t.entries[e.id] = e
	e.recent = t.recency[e.id.kind].PushFront(e)
	heap.Push(&t.deadlines, e)
	if e.id.kind == counter {
		t.rows.add(e)
	}
	return nil
}

// remove takes an entry out of all views.
func (t *table) remove(e *entry) {
	t.account(e, -e.charge)
	t.leave(e)
	delete(t.entries, e.id)
	t.recency[e.id.kind].Remove(e.recent)
	heap.Remove(&t.deadlines, e.deadline)
	if e.id.kind == counter {
		t.rows.remove(e)
	}
}

// removeSpace removes all entries of a space.
func (t *table) removeSpace(name string) {
	for s := t.spaces[name]; s != nil && len(s.members) > 0; {
		t.remove(s.members[len(s.members)-1])
	}
}

// use notes that an entry was used and lets it live until expires.
func (t *table) use(e *entry, expires time.Time) {
	t.recency[e.id.kind].MoveToFront(e.recent)
	e.expires = expires
	heap.Fix(&t.deadlines, e.deadline)
}

// grow charges an entry for more bytes. On ErrFull nothing is charged.
func (t *table) grow(e *entry, bytes int64, now time.Time) error {
	t.recency[e.id.kind].MoveToFront(e.recent)
	if err := t.reserve(bytes, e, now); err != nil {
		return err
	}
	e.charge += bytes
	t.account(e, bytes)
	return nil
}

// reserve drops entries until there is room for more bytes: what has expired
// first, and never keep. It drops nothing that lives where that could not make
// enough room.
func (t *table) reserve(bytes int64, keep *entry, now time.Time) error {
	for t.used+bytes > t.max {
		e := t.deadlines.expired(now)
		if e == nil {
			break
		}
		t.remove(e)
	}
	stays := t.pinned
	if keep != nil {
		stays += keep.charge
	}
	if bytes > t.max-stays {
		return ErrFull
	}
	for t.used+bytes > t.max {
		t.remove(t.victim(keep))
	}
	return nil
}

// victim returns what to drop next. The longest unused counter is keep, which
// was just used, only where no other counter is left.
func (t *table) victim(keep *entry) *entry {
	oldest := t.recency[counter].Back()
	if oldest == nil || oldest.Value == any(keep) {
		oldest = t.recency[record].Back()
	}
	return oldest.Value.(*entry) //nolint:forcetypeassert // the lists hold entries alone
}

// sweep removes a few of the entries that have expired, the longest dead first.
func (t *table) sweep(now time.Time) {
	for range sweepBatch {
		e := t.deadlines.expired(now)
		if e == nil {
			return
		}
		t.remove(e)
	}
}

// account adds bytes (or takes them away, where negative) for an entry.
func (t *table) account(e *entry, bytes int64) {
	t.used += bytes
	if e.id.kind.pinned() {
		t.pinned += bytes
	}
}

// join makes an entry a member of its space and gives it the space's own copy
// of the name.
func (t *table) join(e *entry) {
	s := t.spaces[e.id.space]
	if s == nil {
		s = &space{name: strings.Clone(e.id.space)}
		t.spaces[s.name] = s
	}
	e.id.space = s.name
	e.member = len(s.members)
	s.members = append(s.members, e)
}

// leave puts the last member in an entry's place; a space without members is
// forgotten.
func (t *table) leave(e *entry) {
	s := t.spaces[e.id.space]
	last := len(s.members) - 1
	s.members[e.member] = s.members[last]
	s.members[e.member].member = e.member
	s.members[last] = nil
	s.members = s.members[:last]
	if last == 0 {
		delete(t.spaces, s.name)
	}
}
