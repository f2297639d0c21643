package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// flight runs jobs in the background: one a conversation at a time, bounded in
// number and in bytes. Nothing here ever makes a request wait.
type flight struct {
	c      *Compactor
	queue  chan *job
	cancel context.CancelFunc // of all jobs; called when Close gives up waiting
	wg     sync.WaitGroup

	mu     sync.Mutex // protects what follows, and sending on queue
	closed bool
	busy   map[string]chan struct{} // by where jobs that wait or run are to end, space and key; closed when they do
	queued int                      // places in queue that are taken or promised
	bytes  int64
	idle   chan struct{} // closed while nothing waits or runs
}

// order is a job that is wanted: all that must be known before anything is
// copied for it.
type order struct {
	tenant, space string
	bounds        []boundary // of the request, after the fold in use
	cut           boundary   // where the new fold is to end
	size          int64      // bytes that the job will hold
	tokens        int        // about what it will cost
	overflow      bool       // whatever it costs: the request passes its window
	caller        Caller
	prepare       func() *job
}

func newFlight(c *Compactor) *flight {
	f := &flight{c: c, queue: make(chan *job, c.opt.Queue), busy: map[string]chan struct{}{}, idle: make(chan struct{})}
	close(f.idle)
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(context.Background())
	for range c.opt.Workers {
		f.wg.Go(func() {
			for j := range f.queue {
				f.mu.Lock()
				f.queued--
				c.opt.Observer.QueueDepth(f.queued)
				f.mu.Unlock()
				f.run(ctx, j)
			}
		})
	}
	return f
}

// submit queues a job, or drops it: the client's next request makes it again.
// A job of the same conversation that waits or runs already is one that ends at
// a boundary of this request. The channel is closed when the job, or that one,
// has ended; it is nil if there is none.
func (f *flight) submit(o order) <-chan struct{} {
	done, mine := f.reserve(o)
	if !mine {
		return done
	}
	j := o.prepare()
	j.order = o
	j.caller.Store(&o.caller)
	j.order.caller, j.prepare = Caller{}, nil // the job's own is forgotten in time
	j.deadline = time.Now().Add(jobLife)
	j.forget = time.AfterFunc(jobLife, func() { j.caller.Store(nil) })

	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		f.c.opt.Observer.JobDropped("closing")
		f.queued--
		f.free(j)
		return nil
	}
	f.queue <- j // there is room: it was promised
	f.c.opt.Observer.QueueDepth(f.queued)
	return done
}

// reserve takes a place in the queue and the bytes that the job will hold. If it
// is not mine, done is another job's of the conversation, or nil.
func (f *flight) reserve(o order) (done chan struct{}, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range o.bounds {
		if done := f.busy[o.space+b.key]; done != nil {
			return done, false
		}
	}
	dropped := ""
	switch {
	case f.closed:
		dropped = "closing"
	case f.queued == cap(f.queue):
		dropped = "queue_full"
	case f.bytes+o.size > f.c.opt.JobBytes:
		dropped = "memory"
	case !f.c.gates.promise(o.tenant, o.tokens, o.overflow):
		return nil, false
	}
	if dropped != "" {
		f.c.opt.Observer.JobDropped(dropped)
		return nil, false
	}
	if len(f.busy) == 0 {
		f.idle = make(chan struct{})
	}
	done = make(chan struct{})
	f.busy[o.space+o.cut.key] = done
	f.queued++
	f.bytes += o.size
	return done, true
}

// free gives back what reserve took, but for the place in the queue.
func (f *flight) free(j *job) {
	j.forget.Stop()
	j.caller.Store(nil)
	f.c.gates.settle(j.tenant, j.tokens)
	f.bytes -= j.size
	close(f.busy[j.space+j.cut.key])
	delete(f.busy, j.space+j.cut.key)
	if len(f.busy) == 0 {
		close(f.idle)
	}
}

// settle waits until no job waits or runs.
func (f *flight) settle(ctx context.Context) error {
	f.mu.Lock()
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close stops intake, lets the jobs that there are end until ctx does, then
// cancels them; it returns when all have ended.
func (f *flight) close(ctx context.Context) error {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.queue)
	}
	f.mu.Unlock()
	err := f.settle(ctx)
	f.cancel()
	f.wg.Wait()
	return err
}

// run makes one job's fold under a lease, and lets the conversation rest if
// the summarizer was at fault. all is the context of all jobs.
func (f *flight) run(all context.Context, j *job) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.free(j)
	}()
	ctx, cancel := context.WithDeadline(all, j.deadline)
	defer cancel()
	if j.caller.Load() == nil {
		f.c.opt.Observer.JobDropped("expired")
		return
	}
	release, ok := f.lease(ctx, cancel, j)
	if !ok {
		return
	}
	defer release()
	if f.overtaken(ctx, j) || f.resting(ctx, j) {
		return
	}
	err := f.attempt(ctx, j)
	var stored storeError
	switch {
	case err == nil:
		f.c.opt.Log.Debug("fold made", slog.Int("messages", j.cut.pos))
	case errors.As(err, &stored), errors.Is(err, context.Canceled), errors.Is(err, errSpared):
		f.c.opt.Log.Warn("fold not made", slog.Any("error", err))
	default:
		f.fail(all, j)
		f.c.opt.Log.Warn("fold not made, the conversation rests", slog.Any("error", err))
	}
}

// attempt makes the fold. A panic on the way is a failure like any other: it
// must not take the process and everybody's requests with it.
func (f *flight) attempt(ctx context.Context, j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.c.opt.Observer.JobDropped("panic")
			err = fmt.Errorf("panic in a job: %T\n%s", p, debug.Stack()) // its value may hold text
		}
	}()
	key, err := f.c.make(ctx, j)
	if key != "" {
		f.c.hindsight.made(j.tenant, j.space+key, j.end, j.session)
	}
	return err
}
