package redisstore

import (
	"container/list"
	"sync"
	"time"
)

const (
	// entryOverhead is charged for an entry besides key and value, in bytes.
	entryOverhead = 256

	// restorePause is the least time between two attempts to put one fold back:
	// a full Redis would refuse it at every request.
	restorePause = 5 * time.Second
)

// cache holds values of records lately used, bounded by bytes; the longest
// unused go first. It holds no order of its own: which fold is newest is for
// Redis to say.
type cache struct {
	now func() time.Time
	max int64

	mu      sync.Mutex // protects all below
	bytes   int64
	entries map[name]*list.Element // of *node
	used    *list.List             // most recently used first
}

type name struct{ space, key string }

type node struct {
	name  name
	entry entry
}

// entry is a value and what is known of it in Redis.
type entry struct {
	value     []byte
	life      time.Duration // that the record was put with
	expires   time.Time     // when Redis drops it, unless it is used
	confirmed time.Time     // when Redis last had it, or was to have it
	restored  time.Time     // when it was last put back
}

func newCache(limit int64, now func() time.Time) *cache {
	return &cache{now: now, max: limit, entries: map[name]*list.Element{}, used: list.New()}
}

// first returns the position of the first of keys that is held, and its entry;
// -1 if none is.
func (c *cache) first(space string, keys []string) (int, entry) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, key := range keys {
		e, ok := c.entries[name{space, key}]
		if !ok {
			continue
		}
		n := e.Value.(*node) //nolint:forcetypeassert // the list holds nothing else
		if !now.Before(n.entry.expires) || now.Sub(n.entry.confirmed) >= tombstoneKept {
			c.remove(e)
			continue
		}
		c.used.MoveToFront(e)
		return i, n.entry
	}
	return -1, entry{}
}

// add holds an entry, in place of an older one.
func (c *cache) add(space, key string, e entry) {
	at := name{space, key}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.entries[at]; ok {
		c.remove(old)
	}
	n := &node{at, e}
	if n.charge() > c.max {
		return
	}
	c.entries[at] = c.used.PushFront(n)
	c.bytes += n.charge()
	for c.bytes > c.max {
		c.remove(c.used.Back())
	}
}

func (n *node) charge() int64 {
	return int64(len(n.name.space)+len(n.name.key)+len(n.entry.value)) + entryOverhead
}

// remove drops an element; the caller holds mu.
func (c *cache) remove(e *list.Element) {
	n := e.Value.(*node) //nolint:forcetypeassert // the list holds nothing else
	c.used.Remove(e)
	delete(c.entries, n.name)
	c.bytes -= n.charge()
}

// confirm notes that Redis had an entry at a time, with left to live.
func (c *cache) confirm(space, key string, at time.Time, left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[name{space, key}]; ok {
		n := e.Value.(*node) //nolint:forcetypeassert // the list holds nothing else
		n.entry.confirmed, n.entry.expires = at, at.Add(left)
	}
}

// restorable reports whether an entry is to be put back now, and notes that it
// is: it is in use, so it gets its whole life again.
func (c *cache) restorable(space, key string) bool {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[name{space, key}]
	if !ok {
		return false
	}
	n := e.Value.(*node) //nolint:forcetypeassert // the list holds nothing else
	if now.Sub(n.entry.restored) < restorePause {
		return false
	}
	n.entry.restored, n.entry.expires = now, now.Add(n.entry.life)
	return true
}

// forget drops those of keys that stand before position at, or all if at is
// less than 0.
func (c *cache) forget(space string, keys []string, at int) {
	if at >= 0 {
		keys = keys[:at]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if e, ok := c.entries[name{space, key}]; ok {
			c.remove(e)
		}
	}
}

// forgetSpace drops a whole space. It looks at all entries, which is what a
// deletion may cost.
func (c *cache) forgetSpace(space string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, e := range c.entries {
		if at.space == space {
			c.remove(e)
		}
	}
}
