package compaction

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strconv"
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
	busy   map[string]bool // spaces with a job that waits or runs
	bytes  int64
	idle   chan struct{} // closed while nothing waits or runs
}

// A lease says which process makes a conversation's next fold.
const (
	leaseKey   = "lease"
	leaseLife  = 6 * time.Second
	leaseRenew = leaseLife / 3
)

func newFlight(c *Compactor) *flight {
	f := &flight{c: c, queue: make(chan *job, c.opt.Queue), busy: map[string]bool{}, idle: make(chan struct{})}
	close(f.idle)
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(context.Background())
	for range c.opt.Workers {
		f.wg.Go(func() {
			for j := range f.queue {
				c.opt.Observer.QueueDepth(len(f.queue))
				f.run(ctx, j)
			}
		})
	}
	return f
}

// submit queues a job, or drops it: the client's next request makes it again.
// prepare copies what the job needs and is called only if it is wanted.
func (f *flight) submit(space string, prepare func() *job, caller Caller) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.busy[space]:
		return
	case f.closed:
		f.c.opt.Observer.JobDropped("closing")
		return
	case len(f.queue) == cap(f.queue):
		f.c.opt.Observer.JobDropped("queue_full")
		return
	}
	j := prepare()
	if f.bytes+j.size() > f.c.opt.JobBytes {
		f.c.opt.Observer.JobDropped("memory")
		return
	}
	j.caller.Store(&caller)
	j.deadline = time.Now().Add(jobLife)
	j.forget = time.AfterFunc(jobLife, func() { j.caller.Store(nil) })
	if len(f.busy) == 0 {
		f.idle = make(chan struct{})
	}
	f.busy[space] = true
	f.bytes += j.size()
	f.queue <- j // there is room: only submit sends, under the lock
	f.c.opt.Observer.QueueDepth(len(f.queue))
}

// done forgets a job.
func (f *flight) done(j *job) {
	j.forget.Stop()
	j.caller.Store(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes -= j.size()
	delete(f.busy, j.space)
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
// the summarizer was at fault.
func (f *flight) run(all context.Context, j *job) {
	defer f.done(j)
	ctx, cancel := context.WithDeadline(all, j.deadline)
	defer cancel()
	if j.caller.Load() == nil {
		f.c.opt.Observer.JobDropped("expired")
		return
	}
	release, ok := f.lease(ctx, cancel, j.space)
	if !ok {
		return
	}
	defer release()
	if f.overtaken(ctx, j) {
		return
	}
	key, err := f.c.make(ctx, j)
	if key != "" {
		f.c.hindsight.made(j.tenant, j.space+key, j.end)
	}
	var stored storeError
	switch {
	case err == nil:
		f.c.opt.Log.Debug("fold made", slog.Int("messages", j.bounds[len(j.bounds)-1].pos))
	case errors.As(err, &stored), errors.Is(err, context.Canceled), errors.Is(err, errSpared):
		f.c.opt.Log.Warn("fold not made", slog.Any("error", err))
	default:
		f.fail(all, j)
		f.c.opt.Log.Warn("fold not made, the conversation rests", slog.Any("error", err))
	}
}

// lease takes the conversation's lease and renews it until release is called;
// cancel is called if it is lost. It reports false if another process has it.
func (f *flight) lease(ctx context.Context, cancel func(), space string) (release func(), ok bool) {
	st, token := f.c.opt.Store, rand.Text()
	held, err := st.Acquire(ctx, space, leaseKey, token, leaseLife)
	if err != nil {
		f.c.opt.Observer.StoreFailed("Acquire", err)
	}
	if err != nil || !held {
		return nil, false
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(leaseRenew)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				held, err := st.Acquire(ctx, space, leaseKey, token, leaseLife)
				if err != nil {
					f.c.opt.Observer.StoreFailed("Acquire", err)
				} else if !held {
					cancel()
					return
				}
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
		// The job's context may have ended; the lease shall end all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := st.Release(ctx, space, leaseKey, token); err != nil {
			f.c.opt.Observer.StoreFailed("Release", err)
		}
	}, true
}

// overtaken says that the job is not to be done: another process has made its
// fold meanwhile, or noted that the conversation rests.
func (f *flight) overtaken(ctx context.Context, j *job) bool {
	keys := make([]string, 0, len(j.bounds))
	for _, b := range slices.Backward(j.bounds) {
		keys = append(keys, b.key)
	}
	found, _, err := f.c.opt.Store.Newest(ctx, j.space, keys)
	if err != nil {
		f.c.opt.Observer.StoreFailed("Newest", err)
		return true
	}
	if found >= 0 {
		return true
	}
	n, until := f.failures(ctx, j)
	if n > 0 && f.c.opt.Now().Before(until) && !j.urgent {
		f.c.gates.restUntil(j.space+j.base, until)
		return true
	}
	return false
}

// A conversation's failures are marks in the store that every process finds:
// the n-th is a record of its own, put by whoever meets it first, so marks need
// no update and two processes that fail at once count once.
const maxMarks = 8

// markKey names a mark by the fold that the job builds on: every extension of
// the same history finds it, and a conversation that got a newer fold starts
// without marks.
func (j *job) markKey(n int) string { return "rest:" + j.base + ":" + strconv.Itoa(n) }

// failures reads how often the job's fold was tried in vain, and until when
// the conversation rests.
func (f *flight) failures(ctx context.Context, j *job) (n int, until time.Time) {
	keys := make([]string, 0, maxMarks)
	for i := maxMarks; i > 0; i-- {
		keys = append(keys, j.markKey(i))
	}
	found, value, err := f.c.opt.Store.Newest(ctx, j.space, keys)
	if err != nil {
		f.c.opt.Observer.StoreFailed("Newest", err)
	}
	if err != nil || found < 0 {
		return 0, time.Time{}
	}
	ms, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, time.Time{}
	}
	return maxMarks - found, time.UnixMilli(ms)
}

// fail lets the conversation rest, here and in the store. The mark outlives
// the rest, so that the next failure in a row rests longer.
//
// all is the context of all jobs: the job's own may be what ended.
func (f *flight) fail(all context.Context, j *job) {
	ctx, cancel := context.WithTimeout(all, time.Second)
	defer cancel()
	n, _ := f.failures(ctx, j)
	rest := backoff(failRest, n)
	until := f.c.opt.Now().Add(rest)
	f.c.gates.restUntil(j.space+j.base, until)
	mark := j.markKey(min(n+1, maxMarks))
	value := strconv.AppendInt(nil, until.UnixMilli(), 10)
	if _, err := f.c.opt.Store.PutIfAbsent(ctx, j.space, mark, value, 3*rest); err != nil {
		f.c.opt.Observer.StoreFailed("PutIfAbsent", err)
	}
}
