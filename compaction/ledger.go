package compaction

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

// ledger writes sessions' counters behind the responses: additions to one
// session are summed here and written together, at most once a second.
type ledger struct {
	opt  Options
	wake chan struct{} // holds one token while something is pending
	quit chan struct{}
	once sync.Once // closes quit
	wg   sync.WaitGroup

	cancel context.CancelFunc // of what is being written

	mu      sync.Mutex
	pending map[ledgerKey]store.Delta
}

type ledgerKey struct{ space, row string }

const (
	ledgerPause   = time.Second
	ledgerTimeout = 5 * time.Second
	ledgerRows    = 10_000 // that may be pending; further sessions' counters are dropped and counted
)

func newLedger(o Options) *ledger {
	l := &ledger{opt: o, wake: make(chan struct{}, 1), quit: make(chan struct{}), pending: map[ledgerKey]store.Delta{}}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	l.wg.Go(func() { l.write(ctx) })
	return l
}

// add books an exchange under its session. Sessions of one name whose
// conversations open differently (an agent and its helpers) have a row each.
func (l *ledger) add(p *Plan, u Usage) {
	if p.Session == "" {
		return
	}
	key := ledgerKey{
		space: "s" + digest("counters", p.request.Tenant, p.opening),
		row:   digest("row", p.Session),
	}
	l.mu.Lock()
	d, ok := l.pending[key]
	if !ok {
		if len(l.pending) == ledgerRows {
			l.mu.Unlock()
			l.opt.Observer.JobDropped("counters")
			return
		}
		d = store.Delta{Row: key.row, Expiry: l.opt.CounterLife, Add: map[string]int64{}, Set: map[string]string{}}
		l.pending[key] = d
	}
	d.Add["requests"]++
	if p.Status == Folded {
		d.Add["folded_requests"]++
	}
	d.Add["received_tokens"] += int64(p.TokensReceived)
	d.Add["sent_tokens"] += int64(p.TokensSent)
	d.Add["prompt_tokens"] += int64(u.Prompt)
	d.Add["completion_tokens"] += int64(u.Completion)
	d.Add["cached_tokens"] += int64(u.Cached)
	d.Set["session"] = p.Session
	d.Set["tenant"] = p.request.Tenant
	d.Set["model"] = sessionName(p.Model)
	d.Set["folds"] = p.space
	d.Set["seen_ms"] = strconv.FormatInt(l.opt.Now().UnixMilli(), 10)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *ledger) write(ctx context.Context) {
	for {
		select {
		case <-l.quit:
			l.flush(ctx)
			return
		case <-l.wake:
		}
		l.flush(ctx)
		select {
		case <-l.quit:
			l.flush(ctx)
			return
		case <-time.After(ledgerPause):
		}
	}
}

func (l *ledger) flush(ctx context.Context) {
	l.mu.Lock()
	batch := l.pending
	l.pending = map[ledgerKey]store.Delta{}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	for key, d := range batch {
		if err := l.opt.Store.Add(ctx, key.space, d); err != nil {
			// The rest would most likely fail as well, and is only numbers.
			l.opt.Observer.StoreFailed("Add", err)
			return
		}
	}
}

// close writes what is left until ctx ends.
func (l *ledger) close(ctx context.Context) error {
	l.once.Do(func() { close(l.quit) })
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	l.wg.Wait()
	l.cancel()
	return ctx.Err()
}
