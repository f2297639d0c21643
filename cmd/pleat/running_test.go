package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// running is a Pleat that runs in this process.
type running struct {
	*lifecycle

	stop   context.CancelFunc // as a signal would
	ended  chan error         // what serve returned
	log    *lockedBuffer
	client *http.Client // with connections of its own, so that none outlives the test
}

func (r *running) url(path string) string {
	return "http://" + r.public.listener.Addr().String() + path
}

func (r *running) adminURL(path string) string {
	return "http://" + r.admin.listener.Addr().String() + path
}

// startPleat runs Pleat before the upstream with further flags, until the test ends.
func startPleat(t testing.TB, upstream string, args ...string) *running {
	t.Helper()
	args = append([]string{
		"--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--upstream=" + upstream, "--limits-drain=0s",
	}, args...)
	c := mustLoad(t, "", nil, args...)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{
		stop: cancel, ended: make(chan error, 1), log: new(lockedBuffer),
		client: &http.Client{Transport: &http.Transport{}},
	}
	begun := make(chan *lifecycle, 1)
	go func() {
		r.ended <- serve(ctx, c, newLogger(c.Log, r.log), func(l *lifecycle) {
			l.signals = make(chan os.Signal, 2)
			begun <- l
		})
	}()
	select {
	case r.lifecycle = <-begun:
	case err := <-r.ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Errorf("serve: %v", err)
		}
		r.client.CloseIdleConnections()
	})
	return r
}

// lockedBuffer is a log that is written and read at the same time.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

const chatBody = `{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hello there"}]}`

func (r *running) postChat(t *testing.T, body string) *http.Response {
	t.Helper()
	req := newRequest(t, http.MethodPost, r.url("/v1/chat/completions"), strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return r.do(t, req)
}

func (r *running) get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res := r.do(t, newRequest(t, http.MethodGet, url, http.NoBody))
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// do sends a request; the answer's body is closed when the test ends.
func (r *running) do(t *testing.T, req *http.Request) *http.Response {
	t.Helper()
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func newRequest(t testing.TB, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// heldStream is an upstream whose answer has begun and ends when it is let go.
func heldStream(t *testing.T) (url string, release func()) {
	t.Helper()
	held := make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[]}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-held:
			fmt.Fprint(w, "data: [DONE]\n\n")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { release(); s.Close() })
	return s.URL + "/v1", release
}

// stopAndWait ends Pleat: what handlers write behind an answer is written.
func (r *running) stopAndWait() {
	r.stop()
	err := <-r.ended
	r.ended <- err // for the cleanup
}

// jsonUpstream answers chats with a usage.
func jsonUpstream(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
