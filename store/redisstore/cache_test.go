package redisstore

import (
	"fmt"
	"testing"
	"time"
)

func entryOf(now time.Time, value string) entry {
	return entry{value: []byte(value), life: time.Hour, confirmed: now, expires: now.Add(time.Hour)}
}

func TestCacheIsBounded(t *testing.T) {
	now := time.Now()
	const limit = 10 * (entryOverhead + 100)
	c := newCache(limit, func() time.Time { return now })
	for i := range 100 {
		c.add("space", fmt.Sprint(i), entryOf(now, fmt.Sprintf("%080d", i)))
		c.first("space", []string{"0"}) // in use
		if c.bytes > limit || len(c.entries) != c.used.Len() {
			t.Fatalf("%d bytes in %d entries", c.bytes, len(c.entries))
		}
	}
	if at, _ := c.first("space", []string{"1", "50", "99", "0"}); at != 2 {
		t.Errorf("the first held is at %d, want 2", at)
	}
	if at, _ := c.first("space", []string{"0"}); at != 0 {
		t.Error("what is in use was dropped")
	}
	c.add("space", "0", entryOf(now, string(make([]byte, limit))))
	if at, _ := c.first("space", []string{"0"}); at >= 0 {
		t.Error("a value above the bound, or an older one, is held")
	}
	for key := range 100 {
		c.forget("space", []string{fmt.Sprint(key)}, -1)
	}
	if c.bytes != 0 {
		t.Errorf("%d bytes are charged for nothing", c.bytes)
	}
}

func TestCacheForgets(t *testing.T) {
	begun := time.Now()
	now := begun
	c := newCache(1<<20, func() time.Time { return now })
	fill := func() {
		now = begun
		for _, key := range []string{"a", "b", "c"} {
			c.add("space", key, entryOf(now, key))
			c.add("other", key, entryOf(now, key))
		}
	}
	keys := []string{"a", "b", "c"}
	tests := map[string]struct {
		do    func()
		first int
	}{
		"nothing":           {func() {}, 0},
		"before a position": {func() { c.forget("space", keys, 2) }, 2},
		"all":               {func() { c.forget("space", keys, -1) }, -1},
		"the space":         {func() { c.forgetSpace("space") }, -1},
		"expired":           {func() { now = begun.Add(time.Hour) }, -1},
		"confirmed":         {func() { now = begun.Add(time.Hour); c.confirm("space", "b", now, time.Hour) }, 1},
		"put back": {func() {
			now = begun.Add(time.Hour - 1)
			if !c.restorable("space", "c") || c.restorable("space", "c") {
				t.Error("an entry is put back never, or twice in a row")
			}
			now = begun.Add(time.Hour)
		}, 2},
		"not confirmed for long": {func() {
			c.confirm("space", "c", begun, 10*tombstoneKept)
			now = begun.Add(tombstoneKept)
		}, -1},
	}
	for name, test := range tests {
		fill()
		test.do()
		if at, _ := c.first("space", keys); at != test.first {
			t.Errorf("%s: the first held is at %d, want %d", name, at, test.first)
		}
		now = begun
		if at, _ := c.first("other", keys); at != 0 {
			t.Errorf("%s: another space lost an entry", name)
		}
		c.forgetSpace("space")
	}
	if c.restorable("space", "none") {
		t.Error("what is not held may be put back")
	}
}
