package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// timedBody gives each read of a request's body a deadline of its own, so that
// a client that stops sending does not hold a connection for ever, while one
// that sends slowly, or that a slow upstream holds up, has all the time it
// needs. Between reads there is no deadline: once the body is read the server
// watches the connection for the client's leaving, and would take a deadline
// for it.
type timedBody struct {
	body    io.ReadCloser
	control *http.ResponseController
	wait    time.Duration

	mu      sync.Mutex // protects all below; a transport reads on its own goroutine
	expires time.Time  // deadline of the read that goes on; zero if none does
	err     error      // why reading failed
	ended   bool       // at its end, or failed
	over    bool       // the handler is done
}

// newTimedBody returns r's body, timed, or nil if it has none.
func newTimedBody(w http.ResponseWriter, r *http.Request, wait time.Duration) *timedBody {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	return &timedBody{body: r.Body, control: http.NewResponseController(w), wait: wait}
}

func (b *timedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.expires = time.Now().Add(b.wait)
	b.deadline(b.expires)
	b.mu.Unlock()

	n, err := b.body.Read(p)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.expires = time.Time{}
	b.ended = b.ended || err != nil
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		if b.err == nil {
			b.err = err
		}
		// The deadline stays: the server may yet look for the body's end.
	case !b.over:
		b.deadline(time.Time{})
	}
	return n, err
}

func (b *timedBody) Close() error { return b.body.Close() }

// finish is called when the handler is done. The server then reads on, in the
// hope of using the connection again, and must not wait for ever either.
func (b *timedBody) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if !b.ended {
		b.deadline(time.Now().Add(b.wait))
	}
}

// whole reports whether the body was read to its proper end, or there is none.
func (b *timedBody) whole() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended && b.err == nil
}

// failure returns why the body could not be read, or nil. The server cancels
// the request's context for a read that fails before that read returns, so one
// that is past its deadline counts as failed.
func (b *timedBody) failure() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil && !b.expires.IsZero() && !time.Now().Before(b.expires) {
		return os.ErrDeadlineExceeded
	}
	return b.err
}

// deadline sets the connection's read deadline. A writer that knows none (a
// test's recorder) has no connection to guard.
func (b *timedBody) deadline(t time.Time) { _ = b.control.SetReadDeadline(t) }
