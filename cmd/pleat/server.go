package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-proxy/pleat/proxy"
)

// server is one address and what answers there.
type server struct {
	http     *http.Server
	listener net.Listener
	requests requests
	cut      context.CancelFunc // ends the contexts of all requests
}

// newServer returns a server that takes requests within the limits.
func newServer(h http.Handler, l LimitsConfig, log *slog.Logger) *server {
	base, cut := context.WithCancel(context.Background())
	s := &server{cut: cut}
	s.http = proxy.NewServer(s.requests.count(h), log)
	s.http.BaseContext = func(net.Listener) context.Context { return base }
	s.http.ReadHeaderTimeout, s.http.IdleTimeout = l.HeaderTimeout, l.IdleTimeout
	s.http.MaxHeaderBytes = int(l.Headers) // at most 16 MiB
	return s
}

// listen takes the address, which is the value of the option key.
func (s *server) listen(ctx context.Context, c *Config, key, address string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // without "listen tcp", which the key says
		}
		return &optionError{c.values[key].origin, key, c.values[key].shown, err.Error(), ""}
	}
	s.listener = l
	return nil
}

// cutTime is how long requests that were cut off may take to notice: their
// connections are closed and their contexts ended, so it is a formality.
const cutTime = 5 * time.Second

// stop takes no more requests and waits for those that run, until ctx ends;
// then it cuts them off and returns ctx's error. Connections that were switched
// to another protocol have no end to wait for and are cut off last. When stop
// returns no handler runs.
func (s *server) stop(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close()
	}
	s.cut()
	select {
	case <-s.requests.close():
	case <-time.After(cutTime):
		err = errors.Join(err, errors.New("a request does not end"))
	}
	return err
}

// requests counts the handlers that run. http.Server knows connections only,
// and forgets those that it closes or that a handler takes over.
type requests struct {
	mu      sync.Mutex
	running int
	closed  bool
	none    chan struct{} // closed when, after close, none runs; nil before

	last atomic.Bool // each is to be the last of its connection
}

// count returns h, counted.
func (r *requests) count(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !r.enter() {
			panic(http.ErrAbortHandler) // read in the instant in which its connection was closed
		}
		defer r.leave()
		if r.last.Load() && req.Header.Get("Upgrade") == "" { // whose answer says what becomes of the connection
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, req)
	})
}

func (r *requests) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.running++
	return true
}

func (r *requests) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	if r.closed && r.running == 0 {
		close(r.none)
	}
}

// close lets no more handlers begin and returns a channel that is closed once
// none runs. It is called once.
func (r *requests) close() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.none = true, make(chan struct{})
	if r.running == 0 {
		close(r.none)
	}
	return r.none
}
