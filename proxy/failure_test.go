package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestUpstreamFailures(t *testing.T) {
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := closed.Addr().String()
	_ = closed.Close()
	plain, _ := recordingUpstream(t)
	silent := rawUpstream(t, func(_ net.Conn, in *bufio.Reader) { _, _ = rawHead(in) })

	for name, c := range map[string]struct {
		base      string
		transport http.RoundTripper
		status    int
		want      []string
	}{
		"refused":        {"http://" + refusing, nil, 502, []string{refusing, "connection refused", "upstream_unreachable"}},
		"closed at once": {silent, nil, 502, []string{"closed the connection before answering"}},
		"no TLS there":   {strings.Replace(plain, "http:", "https:", 1), nil, 502, []string{"upstream_error"}},
		"no such name": {"http://nowhere.invalid", failing(&net.DNSError{Err: "no such host", Name: "nowhere.invalid"}), 502,
			[]string{"nowhere.invalid", "does not resolve"}},
		"timeout": {"http://slow", failing(context.DeadlineExceeded), 504, []string{"slow did not answer in time", "upstream_timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.base, func(o *Options) {
				if c.transport != nil {
					o.Transport = c.transport
				}
			})
			res, body := r.post(t, "{}")
			if res.StatusCode != c.status {
				t.Errorf("status %d, want %d", res.StatusCode, c.status)
			}
			for _, want := range append(c.want, `"type":"upstream_error"`) {
				if !strings.Contains(body, want) {
					t.Errorf("no %q in %s\n%s", want, body, r.log)
				}
			}
			if res.Header.Get("X-Pleat-Status") != "verbatim" || res.Header.Get("Content-Type") != "application/json" {
				t.Errorf("header %v", res.Header)
			}
			r.fake.waitEnd(t)
			if len(r.fake.statuses) != 0 {
				t.Error("Responded was called without a response")
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+"/v1/models", nil)
			if res, _ := r.do(t, req); res.StatusCode != c.status || res.Header.Get("X-Pleat-Status") != "" {
				t.Errorf("relayed: %d %v", res.StatusCode, res.Header)
			}
		})
	}
}

type failingTransport struct{ err error }

func failing(err error) http.RoundTripper { return failingTransport{err} }

func (f failingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, fmt.Errorf("wrapped: %w", f.err)
}

// dyingConn fails its writes once it is told that the upstream has hung up.
type dyingConn struct {
	net.Conn

	dead *atomic.Bool
}

func (c dyingConn) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return 0, errors.New("broken pipe")
	}
	return c.Conn.Write(p)
}

// A kept connection that died while idle is replaced, and the body sent again.
func TestStaleConnectionIsRetried(t *testing.T) {
	base, requests := recordingUpstream(t)
	var latest *atomic.Bool
	dials := 0
	r := newRig(t, base, func(o *Options) {
		transport := transportOf(o)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			latest = new(atomic.Bool)
			dials++
			return dyingConn{conn, latest}, err
		}
	})
	r.post(t, "one")
	<-requests
	latest.Store(true)
	if res, _ := r.post(t, "two"); res.StatusCode != http.StatusOK {
		t.Fatalf("status %d", res.StatusCode)
	}
	if got := (<-requests).body; got != "two" || dials != 2 {
		t.Errorf("body %q after %d dials", got, dials)
	}
}

// A client that stops in the middle of its body is not waited for.
func TestStalledBody(t *testing.T) {
	for _, path := range []string{chatPath, "/v1/files"} {
		t.Run(path, func(t *testing.T) {
			base, _ := recordingUpstream(t)
			r := newRig(t, base, func(o *Options) { o.BodyTimeout = 100 * time.Millisecond })
			got := r.rawRequest(t, "POST "+path+" HTTP/1.1\r\nHost: p\r\nContent-Length: 100\r\n\r\n{")
			if !strings.HasPrefix(got, "HTTP/1.1 408") || !strings.Contains(got, "request_timeout") {
				t.Errorf("got %q\n%s", got, r.log)
			}
		})
	}
}

// One that is slow, but sends something now and then, is waited for.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	for _, path := range []string{chatPath, "/v1/files"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			base, _ := recordingUpstream(t)
			r := newRig(t, base, func(o *Options) { o.BodyTimeout = 2 * time.Second })
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: p\r\nConnection: close\r\nContent-Length: 11\r\n\r\n")
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for range 11 { // longer in all than one read may take
				<-tick.C
				_, _ = io.WriteString(conn, "x")
			}
			if answer, _ := io.ReadAll(conn); !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
				t.Errorf("got %q", answer)
			}
		})
	}
}

// The deadline of the body is gone once the body is there: an answer that
// takes longer than it is not cut, nor taken for a client that left.
func TestBodyTimeoutEndsWithTheBody(t *testing.T) {
	for _, path := range []string{chatPath, "/v1/files"} {
		up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			select {
			case <-req.Context().Done():
			case <-time.After(300 * time.Millisecond):
				_, _ = io.WriteString(w, "late")
			}
		})
		r := newRig(t, up.URL, func(o *Options) { o.BodyTimeout = 100 * time.Millisecond })
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, strings.NewReader("{}"))
		if _, body := r.do(t, req); body != "late" {
			t.Errorf("%s: got %q", path, body)
		}
	}
}

func TestServer(t *testing.T) {
	r := newRig(t, "http://unused", nil)
	s := r.Config
	if s.WriteTimeout != 0 || s.ReadTimeout != 0 || s.ReadHeaderTimeout != 10*time.Second {
		t.Errorf("timeouts %v %v %v", s.WriteTimeout, s.ReadTimeout, s.ReadHeaderTimeout)
	}
	transport := NewTransport()
	if transport.ResponseHeaderTimeout != 0 || !transport.DisableCompression || transport.MaxIdleConnsPerHost != 256 {
		t.Errorf("transport %+v", transport)
	}
}

// What net/http quotes of a broken answer stands nowhere.
func TestBrokenAnswerIsNotQuoted(t *testing.T) {
	for _, answer := range []string{"SECRET text\r\n\r\n", "HTTP/1.1 200 OK\r\nSECRET text\r\n\r\n", "HTTP/1.1 SECRET x\r\n\r\n"} {
		base := rawUpstream(t, func(conn net.Conn, in *bufio.Reader) {
			_, _ = rawHead(in)
			_, _ = io.CopyN(io.Discard, in, 2)
			_, _ = io.WriteString(conn, answer)
		})
		r := newRig(t, base, nil)
		res, body := r.post(t, "{}")
		r.Close()
		if res.StatusCode != http.StatusBadGateway || strings.Contains(body+r.log.String(), "SECRET") {
			t.Errorf("%q: %d %s\n%s", answer, res.StatusCode, body, r.log)
		}
	}
}

func TestErrorsSayNothingPrivate(t *testing.T) {
	base, _ := url.Parse("http://127.0.0.1:1")
	r := newRig(t, base.String(), func(o *Options) {
		o.Transport = failing(errors.New("Bearer SECRET at 10.0.0.7"))
	})
	if _, body := r.post(t, "{}"); strings.Contains(body, "SECRET") || strings.Contains(body, "10.0.0.7") {
		t.Errorf("envelope: %s", body)
	}
}

// A body that ends early or is garbled goes nowhere.
func TestUnfinishedBody(t *testing.T) {
	for name, c := range map[string]struct{ rest, status, log string }{
		"client leaves": {"Content-Length: 100\r\n\r\n{", "", `"status":499`},
		"bad chunks":    {"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", "HTTP/1.1 400", `"status":400`},
	} {
		t.Run(name, func(t *testing.T) {
			base, requests := recordingUpstream(t)
			r := newRig(t, base, nil)
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "POST "+chatPath+" HTTP/1.1\r\nHost: p\r\nConnection: close\r\n"+c.rest)
			if half, ok := conn.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			if answer, _ := io.ReadAll(conn); !strings.HasPrefix(string(answer), c.status) {
				t.Errorf("got %q", answer)
			}
			r.Close()
			if len(requests) != 0 || !strings.Contains(r.log.String(), c.log) {
				t.Errorf("%d requests went upstream, log %s", len(requests), r.log)
			}
		})
	}
}
