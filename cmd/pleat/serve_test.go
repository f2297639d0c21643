package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// running is a Pleat that runs in this process.
type running struct {
	*lifecycle
	stop  context.CancelFunc // as a signal would
	ended chan error         // what serve returned
	log   *lockedBuffer
}

func (r *running) url(path string) string {
	return "http://" + r.public.listener.Addr().String() + path
}

func (r *running) adminURL(path string) string {
	return "http://" + r.admin.listener.Addr().String() + path
}

// startPleat runs Pleat before the upstream with further flags, until the test ends.
func startPleat(t *testing.T, upstream string, args ...string) *running {
	t.Helper()
	args = append([]string{"--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--upstream=" + upstream}, args...)
	c := mustLoad(t, "", nil, args...)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, ended: make(chan error, 1), log: new(lockedBuffer)}
	begun := make(chan *lifecycle, 1)
	go func() { r.ended <- serve(ctx, c, newLogger(c.Log, r.log), func(l *lifecycle) { begun <- l }) }()
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
		http.DefaultClient.CloseIdleConnections()
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

func postChat(t *testing.T, r *running, body string) *http.Response {
	t.Helper()
	res, err := http.Post(r.url("/v1/chat/completions"), "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
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

// TestServeStopsInOrder: told to stop while an answer streams, Pleat says that
// it is not ready, takes no more requests, and lets the answer end.
func TestServeStopsInOrder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) { // cleanups run before goroutines are counted
		upstream, release := heldStream(t)
		p := startPleat(t, upstream)
		if status, body := get(t, p.adminURL("/readyz")); status != http.StatusOK {
			t.Fatalf("/readyz is %d while serving: %s", status, body)
		}
		res := postChat(t, p, chatBody)
		answer := bufio.NewReader(res.Body)
		if line, err := answer.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data:") {
			t.Fatalf("the stream begins with %q, %v", line, err)
		}

		p.stop()
		for refused := false; !refused; { // Shutdown closes the listener at once, if not in this instant
			conn, err := net.Dial("tcp", p.public.listener.Addr().String())
			if refused = err != nil; !refused {
				conn.Close()
			}
		}
		if status, body := get(t, p.adminURL("/readyz")); status != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
			t.Errorf("/readyz is %d while stopping: %s", status, body)
		}
		if status, _ := get(t, p.adminURL("/healthz")); status != http.StatusOK {
			t.Errorf("/healthz is %d while stopping", status)
		}

		release()
		rest, err := io.ReadAll(answer)
		if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
			t.Errorf("the stream ends with %q, %v", rest, err)
		}
	})
}

// TestServeCutsOff: an answer that outlasts limits.shutdown does not keep Pleat
// running.
func TestServeCutsOff(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		upstream, _ := heldStream(t)
		p := startPleat(t, upstream, "--limits-shutdown=1s")
		res := postChat(t, p, chatBody)
		p.stop()
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("the stream ended well, though it was cut off")
		}
		p.stopAndWait()
		if !strings.Contains(p.log.String(), "cut off") {
			t.Errorf("the log does not say so:\n%s", p.log)
		}
	})
}

// jsonUpstream answers chats with a usage, and counts what arrives.
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

// accessLines returns how many lines of the access log a JSON log holds.
func accessLines(t *testing.T, log string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(log) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%q is not JSON: %v", line, err)
		}
		if entry.Msg == "request" {
			n++
		}
	}
	return n
}

// stopAndWait ends Pleat: what handlers write behind an answer is written.
func (r *running) stopAndWait() {
	r.stop()
	err := <-r.ended
	r.ended <- err // for the cleanup
}

// TestServeWires: a request passes, is counted and is logged.
func TestServeWires(t *testing.T) {
	p := startPleat(t, jsonUpstream(t), "--log-format=json")
	res := postChat(t, p, chatBody)
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Pleat-Status") != "verbatim" {
		t.Fatalf("status %d, X-Pleat-Status %q", res.StatusCode, res.Header.Get("X-Pleat-Status"))
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	_, metrics := get(t, p.adminURL("/metrics"))
	for _, name := range []string{"pleat_requests_total", "pleat_input_tokens_total", "pleat_queue_depth", "go_goroutines", "process_"} {
		if !strings.Contains(metrics, name) {
			t.Errorf("/metrics has no %s", name)
		}
	}

	p.stopAndWait()
	if n := accessLines(t, p.log.String()); n != 1 {
		t.Errorf("%d access lines:\n%s", n, p.log)
	}
	if strings.Contains(p.log.String(), "hello") {
		t.Errorf("the log holds text of a message:\n%s", p.log)
	}
}

// TestServeLimits: the limits of the configuration reach the servers, and the
// access log can be switched off but for what went wrong.
func TestServeLimits(t *testing.T) {
	p := startPleat(t, jsonUpstream(t), "--limits-body=1KiB", "--limits-headers=4KiB",
		"--limits-idle-timeout=9s", "--limits-header-timeout=7s", "--log-access=off", "--log-format=json")
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("a", 2000) + `"}]}`
	if res := postChat(t, p, long); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body above limits.body is answered %d", res.StatusCode)
	}
	if status := getWithHeader(t, p.url("/v1/models"), 16<<10); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header above limits.headers is answered %d", status)
	}
	if status := getWithHeader(t, p.url("/v1/models"), 100); status != http.StatusOK {
		t.Errorf("a small request is answered %d", status)
	}
	for _, s := range []*server{p.public, p.admin} {
		if s.http.IdleTimeout != 9*time.Second || s.http.ReadHeaderTimeout != 7*time.Second || s.http.WriteTimeout != 0 {
			t.Errorf("server: %v, %v, %v", s.http.IdleTimeout, s.http.ReadHeaderTimeout, s.http.WriteTimeout)
		}
	}
	p.stopAndWait()
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, `"msg":"request"`) && strings.Contains(line, `"status":200`) {
			t.Errorf("an access line, though they are off: %s", line)
		}
	}
}

// getWithHeader asks with a header of n bytes.
func getWithHeader(t *testing.T, url string, n int) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("a", n))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestServeAddressTaken: nothing is left running, and the line names the option.
func TestServeAddressTaken(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := mustLoad(t, "", nil, "--listen=127.0.0.1:0", "--admin="+taken.Addr().String())
	err = serve(t.Context(), c, slog.New(slog.DiscardHandler), func(*lifecycle) { t.Error("started") })
	if err == nil || exitStatus(err) != 1 {
		t.Fatalf("%v, status %d", err, exitStatus(err))
	}
	want := fmt.Sprintf("flag --admin: admin = %q: ", taken.Addr())
	if !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v, want %s…", err, want)
	}
}
