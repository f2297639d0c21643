package compaction

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// A lease under the key where a fold is to end says which process makes it.
// Every extension of the same history has that key among its boundaries, and a
// conversation that merely opens alike has not.
const (
	leaseLife  = 6 * time.Second
	leaseRenew = leaseLife / 3
)

func leaseKey(b boundary) string { return "lease:" + b.key }

// lease takes the job's lease and renews it until release is called; cancel is
// called if it is lost. It reports false if another process works on the
// conversation.
func (f *flight) lease(ctx context.Context, cancel func(), j *job) (release func(), ok bool) {
	st, token := f.c.opt.Store, rand.Text()
	held, err := st.Acquire(ctx, j.space, leaseKey(j.cut), token, leaseLife)
	if err != nil {
		f.c.storeFailed("Acquire", err)
	}
	if err != nil || !held {
		return nil, false
	}
	giveBack := func() {
		// The job's context may have ended; the lease shall end all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := st.Release(ctx, j.space, leaseKey(j.cut), token); err != nil {
			f.c.storeFailed("Release", err)
		}
	}
	if f.elsewhere(ctx, j) {
		giveBack()
		return nil, false
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { f.renew(ctx, cancel, j, token, stop) })
	return func() {
		close(stop)
		wg.Wait()
		giveBack()
	}, true
}

func (f *flight) renew(ctx context.Context, cancel func(), j *job, token string, stop <-chan struct{}) {
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		held, err := f.c.opt.Store.Acquire(ctx, j.space, leaseKey(j.cut), token, leaseLife)
		if err != nil {
			f.c.storeFailed("Acquire", err)
		} else if !held {
			cancel()
			return
		}
	}
}

// elsewhere says that another process makes a fold that ends at another of the
// request's boundaries.
func (f *flight) elsewhere(ctx context.Context, j *job) bool {
	var keys []string
	for _, b := range j.bounds {
		if b.key != j.cut.key {
			keys = append(keys, leaseKey(b))
		}
	}
	if len(keys) == 0 {
		return false
	}
	held, err := f.c.opt.Store.Held(ctx, j.space, keys)
	if err != nil {
		f.c.storeFailed("Held", err)
	}
	return err != nil || held
}

// overtaken says that the job is not to be done: another process has made its
// fold, or a longer one, meanwhile.
func (f *flight) overtaken(ctx context.Context, j *job) bool {
	keys := newestFirst(j.bounds, foldKey)
	for len(keys) > 0 {
		found, value, err := f.c.opt.Store.Newest(ctx, j.space, keys)
		if err != nil {
			f.c.storeFailed("Newest", err)
			return true
		}
		if found < 0 {
			return false
		}
		if _, err := decodeFold(value, j.bounds[len(keys)-1-found].pos); err == nil {
			return true
		}
		keys = keys[found+1:] // a record that nobody can read is as good as none
	}
	return false
}

// storeFailed counts a failure of the store. An operation that was called off
// is none.
func (c *Compactor) storeFailed(op string, err error) {
	if !errors.Is(err, context.Canceled) {
		c.opt.Observer.StoreFailed(op, err)
	}
}
