package compaction

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// A conversation whose summary failed rests for a while, longer each time.
//
// Its failures are marks in the store that every process finds: records under
// the key where the fold was to end, so that every extension of the same
// history has them among its boundaries, while a conversation that merely opens
// alike has not. One that got a newer fold starts without marks. The n-th try
// to end at one place is a record of its own, put by whoever meets it first, so
// marks need no update, and two processes that fail at once count once.
const (
	maxMarks = 24             // at one place; by then a conversation has rested for most of a day
	markLife = 24 * time.Hour // the next failure in a row within this time rests longer
)

// mark is what a record says: how many failures in a row, and until when the
// conversation rests.
type mark struct {
	at       int // which try at its place, from 1
	failures int
	until    time.Time
}

func markKey(b boundary, at int) string { return "rest:" + b.key + ":" + strconv.Itoa(at) }

// resting says that the conversation rests, by the word of any process.
func (f *flight) resting(ctx context.Context, j *job) bool {
	m, b := f.lastMark(ctx, j)
	if m.failures == 0 || !f.c.opt.Now().Before(m.until) {
		return false
	}
	f.c.gates.restUntil(j.space+b.key, m.until)
	return true
}

// lastMark finds the newest mark, and the boundary that it is kept under.
func (f *flight) lastMark(ctx context.Context, j *job) (mark, boundary) {
	keys := newestFirst(j.bounds, func(b boundary) string { return markKey(b, 1) })
	found, _, err := f.c.opt.Store.Newest(ctx, j.space, keys)
	if err != nil {
		f.c.storeFailed("Newest", err)
	}
	if err != nil || found < 0 {
		return mark{}, boundary{}
	}
	b := j.bounds[len(keys)-1-found]
	keys = keys[:0]
	for at := maxMarks; at > 0; at-- {
		keys = append(keys, markKey(b, at))
	}
	found, value, err := f.c.opt.Store.Newest(ctx, j.space, keys)
	if err != nil {
		f.c.storeFailed("Newest", err)
	}
	if err != nil || found < 0 {
		return mark{}, boundary{}
	}
	m, ms := mark{at: maxMarks - found}, int64(0)
	if _, err := fmt.Sscanf(string(value), "%d %d", &m.failures, &ms); err != nil || m.failures < 1 {
		return mark{}, boundary{}
	}
	m.until = time.UnixMilli(ms)
	return m, b
}

// fail lets the conversation rest, here and in the store. all is the context of
// all jobs: the job's own may be what ended.
func (f *flight) fail(all context.Context, j *job) {
	ctx, cancel := context.WithTimeout(all, time.Second)
	defer cancel()
	m, b := f.lastMark(ctx, j)
	next := mark{at: 1, failures: m.failures + 1}
	if b.key == j.cut.key {
		next.at = min(m.at+1, maxMarks)
	}
	next.until = f.c.opt.Now().Add(backoff(failRest, m.failures))
	f.c.gates.restUntil(j.space+j.cut.key, next.until)
	value := fmt.Appendf(nil, "%d %d", next.failures, next.until.UnixMilli())
	if _, err := f.c.opt.Store.PutIfAbsent(ctx, j.space, markKey(j.cut, next.at), value, markLife); err != nil {
		f.c.storeFailed("PutIfAbsent", err)
	}
}
