package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// steps notes in which order parts end.
type steps struct{ taken []string }

type endOf struct {
	steps *steps
	name  string
	err   error
}

func (e endOf) note() error {
	e.steps.taken = append(e.steps.taken, e.name)
	return e.err
}

type contextCloser struct{ endOf }

func (c contextCloser) Close(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("no deadline")
	}
	return c.note()
}

func (contextCloser) Settle(context.Context) error { return nil }

type plainCloser struct{ endOf }

func (c plainCloser) Close() error { return c.note() }

type idleCloser struct{ endOf }

func (c idleCloser) CloseIdleConnections() { _ = c.note() }

// testLifecycle is a lifecycle whose parts note their end.
func testLifecycle(t *testing.T, log *slog.Logger) (*lifecycle, *steps) {
	t.Helper()
	taken := new(steps)
	l := &lifecycle{
		windows:   plainCloser{endOf{taken, "windows", nil}},
		compactor: contextCloser{endOf{taken, "compactor", context.DeadlineExceeded}},
		transport: idleCloser{endOf{taken, "transport", nil}},
		store:     plainCloser{endOf{taken, "store", errors.New("broken")}},
		grace:     time.Minute, log: log,
	}
	for _, s := range []**server{&l.public, &l.admin} {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*s = newServer(http.NotFoundHandler(), LimitsConfig{}, log)
		(*s).listener = listener
	}
	return l, taken
}

func TestLifecycleOrder(t *testing.T) {
	log := new(lockedBuffer)
	l, taken := testLifecycle(t, slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.run(ctx); err != nil {
		t.Fatal(err)
	}
	if want := []string{"windows", "compactor", "transport", "store"}; !slices.Equal(taken.taken, want) {
		t.Errorf("ended in the order %v, want %v", taken.taken, want)
	}
	for _, want := range []string{"given up", "did not close well"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}

// TestLifecycleListenerFails: when one address stops answering, Pleat ends as a
// whole and says why.
func TestLifecycleListenerFails(t *testing.T) {
	l, taken := testLifecycle(t, slog.New(slog.DiscardHandler))
	if err := l.admin.listener.Close(); err != nil {
		t.Fatal(err)
	}
	err := l.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), l.admin.listener.Addr().String()) {
		t.Errorf("run: %v", err)
	}
	if len(taken.taken) != 4 {
		t.Errorf("only %v ended", taken.taken)
	}
}

// TestDrainOff: Pleat serves on for limits.drain, or until a second signal.
func TestDrainOff(t *testing.T) {
	tests := map[string]struct {
		signals int // that came, the first one included
		drain   time.Duration
		want    time.Duration
	}{
		"none":          {0, 3 * time.Second, 3 * time.Second},
		"one signal":    {1, 3 * time.Second, 3 * time.Second},
		"two signals":   {2, 3 * time.Second, 0},
		"nothing to do": {1, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lifecycle{
					drain: test.drain, public: new(server), log: slog.New(slog.DiscardHandler),
					signals: make(chan os.Signal, 2),
				}
				for range test.signals {
					l.signals <- os.Interrupt
				}
				begun := time.Now()
				l.drainOff()
				if took := time.Since(begun); took != test.want {
					t.Errorf("took %v, want %v", took, test.want)
				}
				if l.serving(t.Context()) == nil {
					t.Error("it still calls itself ready")
				}
			})
		})
	}
}

// TestServeDrains: told to stop, Pleat says that it is not ready and answers
// all the same, each connection for the last time, until a second signal.
func TestServeDrains(t *testing.T) {
	p := startPleat(t, jsonUpstream(t), "--limits-drain=5m")
	if res := p.postChat(t, chatBody); res.Close {
		t.Error("a connection is closed before anybody asked Pleat to stop")
	}
	p.stop()
	for status := 0; status != http.StatusServiceUnavailable; { // at once, if not in this instant
		status, _ = p.get(t, p.adminURL("/readyz"))
	}
	for !p.public.requests.last.Load() {
		runtime.Gosched()
	}
	for range 2 {
		if res := p.postChat(t, chatBody); res.StatusCode != http.StatusOK || !res.Close {
			t.Errorf("status %d, the connection is closed: %t", res.StatusCode, res.Close)
		}
	}
	p.signals <- os.Interrupt
	p.signals <- os.Interrupt
	p.stopAndWait()
}
