package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestServeStopsInOrder: told to stop while an answer streams, Pleat says that
// it is not ready, takes no more requests, and lets the answer end.
func TestServeStopsInOrder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) { // cleanups run before goroutines are counted
		upstream, release := heldStream(t)
		p := startPleat(t, upstream)
		if status, body := p.get(t, p.adminURL("/readyz")); status != http.StatusOK {
			t.Fatalf("/readyz is %d while serving: %s", status, body)
		}
		res := p.postChat(t, chatBody)
		answer := bufio.NewReader(res.Body)
		if line, err := answer.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data:") {
			t.Fatalf("the stream begins with %q, %v", line, err)
		}

		p.stop()
		for refused := false; !refused; { // Shutdown closes the listener at once, if not in this instant
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.public.listener.Addr().String())
			if refused = err != nil; !refused {
				_ = conn.Close()
			}
		}
		if status, body := p.get(t, p.adminURL("/readyz")); status != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
			t.Errorf("/readyz is %d while stopping: %s", status, body)
		}
		if status, _ := p.get(t, p.adminURL("/healthz")); status != http.StatusOK {
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
		res := p.postChat(t, chatBody)
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

// accessLines returns how many lines of the access log a JSON log holds.
func accessLines(t *testing.T, log string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(log) {
		var entry struct {
			Msg string `json:"msg"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%q is not JSON: %v", line, err)
		}
		if entry.Msg == "request" {
			n++
		}
	}
	return n
}

// TestServeWires: a request passes, is counted and is logged.
func TestServeWires(t *testing.T) {
	p := startPleat(t, jsonUpstream(t), "--log-format=json")
	res := p.postChat(t, chatBody)
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Pleat-Status") != "verbatim" {
		t.Fatalf("status %d, X-Pleat-Status %q", res.StatusCode, res.Header.Get("X-Pleat-Status"))
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pleat_requests_total", "pleat_input_tokens_total", "pleat_queue_depth", "go_goroutines", "process_"} {
		p.awaitMetric(t, name)
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
	if res := p.postChat(t, long); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body above limits.body is answered %d", res.StatusCode)
	}
	if status := p.getWithHeader(t, p.url("/v1/models"), 16<<10); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header above limits.headers is answered %d", status)
	}
	if status := p.getWithHeader(t, p.url("/v1/models"), 100); status != http.StatusOK {
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
func (r *running) getWithHeader(t *testing.T, url string, n int) (status int) {
	t.Helper()
	req := newRequest(t, http.MethodGet, url, http.NoBody)
	req.Header.Set("X-Long", strings.Repeat("a", n))
	return r.do(t, req).StatusCode
}

// TestServeAddressTaken: nothing is left running, and the line names the option.
func TestServeAddressTaken(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
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

// awaitMetric reads the metrics until they hold the text: a request is counted
// a moment after its client has the answer.
func (r *running) awaitMetric(t *testing.T, text string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		if _, metrics := r.get(t, r.adminURL("/metrics")); strings.Contains(metrics, text) {
			return
		}
	}
	t.Errorf("/metrics has no %s", text)
}
