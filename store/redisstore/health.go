package redisstore

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// outageError is an open breaker: what opened it, and when. It is both ErrAway and
// its cause.
type outageError struct {
	cause error
	since time.Time
}

func (o *outageError) Error() string {
	if errors.Is(o.cause, ErrAway) {
		return o.cause.Error()
	}
	return ErrAway.text + ": " + o.cause.Error()
}

func (o *outageError) Unwrap() []error { return []error{ErrAway, o.cause} }

// health holds the breaker, and whether Redis takes writes. It logs each change
// once.
type health struct {
	log      *slog.Logger
	observer Observer
	opened   chan struct{} // holds one token after the breaker opened

	mu      sync.Mutex   // protects all below
	open    *outageError // nil: the breaker is closed
	epoch   int          // counts how often it closed
	refusal error        // why writes are refused; nil: they are not
}

func newHealth(log *slog.Logger, observer Observer) *health {
	return &health{log: log, observer: observer, opened: make(chan struct{}, 1)}
}

// allow says that Redis may be called, and in which epoch; an error says that
// the breaker is open.
func (h *health) allow() (epoch int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open != nil {
		return h.epoch, h.open
	}
	return h.epoch, nil
}

// note takes note of how a call of an epoch went. One that began before the
// breaker last closed says nothing of now.
func (h *health) note(epoch int, op string, err error) {
	f := faultOf(err)
	if f != nil && f.shuts {
		h.mu.Lock()
		defer h.mu.Unlock()
		if epoch == h.epoch {
			h.fail(err)
		}
		return
	}
	switch op {
	case "put", "acquire", "add", "delete", "mark":
		h.noteWrite(f, err)
	}
}

// noteWrite takes note of how a write went. A slot on its way is no refusal.
func (h *health) noteWrite(f *Error, err error) {
	if err != nil && (f == nil || f == ErrMoving || f == ErrValue) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := faultOf(h.refusal)
	h.refusal = err
	switch {
	case f != nil && f != before:
		h.log.Warn("Redis takes no writes: folds are applied, new ones are not kept",
			slog.Any("error", err), slog.String("hint", f.Hint))
	case f == nil && before != nil:
		h.log.Info("Redis takes writes again")
	}
}

// fail opens the breaker, or notes that the cause has changed. The caller holds
// mu.
func (h *health) fail(err error) {
	f, before := faultOf(err), (*Error)(nil)
	now := &outageError{cause: err, since: time.Now()}
	if h.open != nil {
		before, now.since = faultOf(h.open.cause), h.open.since
	}
	h.open = now
	if f != before {
		h.observer.StoreState(f.Name)
		h.log.Warn("Redis is away: requests pass, folds come from memory only",
			slog.Any("error", err), slog.String("hint", f.Hint))
	}
	select {
	case h.opened <- struct{}{}:
	default:
	}
}

// probed takes note of what the background found out, which is what closes the
// breaker.
func (h *health) probed(err error) {
	f := faultOf(err)
	if f != nil && !f.shuts {
		f = nil // it answers
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if f != nil {
		h.fail(err)
		return
	}
	if h.open == nil {
		return
	}
	h.log.Info("Redis is back", slog.Duration("after", time.Since(h.open.since)))
	h.observer.StoreState("")
	h.open = nil
	h.epoch++
	select { // a token that is left is of the outage that has just ended
	case <-h.opened:
	default:
	}
}

func (h *health) away() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open != nil
}

func (h *health) trouble() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open != nil {
		return h.open
	}
	return h.refusal
}
