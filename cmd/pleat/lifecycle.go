package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"
)

// background is a part that works behind the requests.
type background interface {
	// Settle waits until it has nothing to do, or ctx ends.
	Settle(ctx context.Context) error
	// Close ends it in the time that ctx gives it.
	Close(ctx context.Context) error
}

// lifecycle is everything that runs, in the order in which it stops.
type lifecycle struct {
	public, admin *server
	windows       io.Closer
	compactor     background
	store         io.Closer
	transport     interface{ CloseIdleConnections() }
	drain, grace  time.Duration
	log           *slog.Logger

	// signals, if not nil, gets every signal to stop, the one that ends the
	// context of run included.
	signals chan os.Signal

	stopping atomic.Bool // set once requests should go elsewhere
}

// serving is the readiness check that fails first when Pleat stops, so that a
// load balancer looks elsewhere while the last answers run.
func (l *lifecycle) serving(context.Context) error {
	if l.stopping.Load() {
		return errors.New("stopping")
	}
	return nil
}

// listen takes both addresses, or neither.
func (l *lifecycle) listen(ctx context.Context, c *Config) error {
	if err := l.public.listen(ctx, c, "listen", c.Listen); err != nil {
		return err
	}
	if err := l.admin.listen(ctx, c, "admin", c.Admin); err != nil {
		return errors.Join(err, l.public.listener.Close())
	}
	return nil
}

// run serves until ctx ends or a listener fails, then stops everything. It
// returns nil if it ended because ctx did and nothing was cut off that the
// caller should know of.
func (l *lifecycle) run(ctx context.Context) error {
	failed := make(chan error, 2)
	var serving sync.WaitGroup
	for _, s := range []*server{l.public, l.admin} {
		serving.Go(func() {
			if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving on %s: %w", s.listener.Addr(), err)
			}
		})
	}

	var err error
	select {
	case <-ctx.Done():
		l.drainOff()
	case err = <-failed:
	}
	l.stop(context.WithoutCancel(ctx))
	serving.Wait()
	return err
}

// drainOff goes on serving for a while, and says that it will not for long:
// whoever spreads requests over replicas needs a moment to see it, and would
// meet a closed door until then. Clients are told with each answer to come back
// on another connection. A second signal means that nobody needs this.
func (l *lifecycle) drainOff() {
	defer signal.Stop(l.signals) // the next signal ends the process at once
	l.stopping.Store(true)
	if l.drain == 0 {
		return
	}
	l.log.Info("draining", "drain", spell(l.drain))
	l.public.requests.last.Store(true)
	over := time.After(l.drain)
	for range 2 { // the first is the one that began this
		select {
		case <-l.signals:
		case <-over:
			return
		}
	}
}

// stop ends everything under one deadline: new requests are refused at once,
// running answers may finish, then running summaries, then the store closes.
// The admin listener goes last, so that until then it can say what happens.
func (l *lifecycle) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.grace)
	defer cancel()
	l.log.Info("stopping", "grace", spell(l.grace))
	l.stopping.Store(true)

	if err := l.public.stop(ctx); err != nil {
		l.log.Warn("answers still running were cut off", "cause", err)
	}
	l.closeParts(ctx)
	_ = l.admin.stop(ctx) // its answers take no time
	l.log.Info("stopped")
}

// closeParts ends what works behind the servers.
func (l *lifecycle) closeParts(ctx context.Context) {
	_ = l.windows.Close() // it never fails
	if err := l.compactor.Close(ctx); err != nil {
		l.log.Warn("summaries still running were given up; their conversations ask again", "cause", err)
	}
	l.transport.CloseIdleConnections()
	if err := l.store.Close(); err != nil {
		l.log.Warn("the store did not close well", "cause", err)
	}
}
