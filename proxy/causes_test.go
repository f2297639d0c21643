package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An upstream's nonsense is an upstream's error, not a panic of Pleat's.
func TestStatusBelow100(t *testing.T) {
	for _, path := range []string{chatPath, "/v1/models"} {
		up := rawUpstream(t, func(c net.Conn, in *bufio.Reader) {
			_, _ = rawHead(in)
			fmt.Fprint(c, "HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n")
		})
		r := newRig(t, up, nil)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, http.NoBody)
		res, body := r.do(t, req)
		if res.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: status %d, want 502: %s", path, res.StatusCode, body)
		}
		if n := len(res.Header.Values("Server-Timing")); n > 1 {
			t.Errorf("%s: %d Server-Timing headers", path, n)
		}
		if strings.Contains(r.log.String(), `"msg":"panic"`) {
			t.Errorf("%s: panicked", path)
		}
	}
}

// A relayed response that breaks is as much a failure as a chat's.
func TestResponseThatBreaksIsAWarning(t *testing.T) {
	up := rawUpstream(t, func(c net.Conn, in *bufio.Reader) {
		_, _ = rawHead(in)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
	})
	for _, path := range []string{"/v1/responses", chatPath} {
		r := newRig(t, up, nil)
		r.talk(t, time.Second, "POST "+path+" HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
		line := r.waitForLog(t, `"ended":"upstream_broke"`)
		if !strings.Contains(line, `"level":"WARN"`) || !strings.Contains(line, `"error":"unexpected EOF"`) {
			t.Errorf("%s: no warning, or no cause: %s", path, line)
		}
	}
}

// What an upstream sends is nobody's to log.
func TestUpstreamTextStaysOutOfTheLog(t *testing.T) {
	for _, header := range []string{
		"Content-Length: SECRET", "Transfer-Encoding: SECRET", "Content-Length: 1\r\nContent-Length: SECRET",
		"Transfer-Encoding: chunked\r\n\r\n0\r\nSECRET text",
	} {
		up := rawUpstream(t, func(c net.Conn, in *bufio.Reader) {
			_, _ = rawHead(in)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", header)
		})
		r := newRig(t, up, nil)
		body, _ := r.talk(t, 300*time.Millisecond, "POST "+chatPath+" HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
		r.waitForLog(t, `"msg":"request"`)
		if strings.Contains(body+r.log.String(), "SECRET") {
			t.Errorf("%q is quoted: %s %s", header, body, r.log)
		}
	}
}

// Nor what a client sends in the place of a trailer.
func TestClientTextStaysOutOfTheLog(t *testing.T) {
	up := newUpstreamServer(t, func(_ http.ResponseWriter, req *http.Request) { _, _ = io.Copy(io.Discard, req.Body) })
	for _, path := range []string{chatPath, "/v1/files"} {
		r := newRig(t, up.URL, nil)
		answer, _ := r.talk(t, time.Second,
			"POST "+path+" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nSECRET text\r\n\r\n")
		line := r.waitForLog(t, `"msg":"request"`)
		if !strings.HasPrefix(answer, "HTTP/1.1 400") || strings.Contains(answer+r.log.String(), "SECRET") {
			t.Errorf("%s: %s\n%s", path, answer, r.log)
		}
		if !strings.Contains(line, `"error":"`) {
			t.Errorf("%s: no cause: %s", path, line)
		}
	}
}

func TestDiscreet(t *testing.T) {
	private := errors.New("SECRET")
	refused := &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
	for want, err := range map[string]error{
		"lookup nowhere: no such host":             fmt.Errorf("SECRET %w", &net.DNSError{Err: "no such host", Name: "nowhere"}),
		"dial tcp 127.0.0.1:9: connection refused": fmt.Errorf("SECRET %w", refused),
		"broken pipe":                         fmt.Errorf("SECRET %w", syscall.EPIPE),
		"EOF":                                 fmt.Errorf("SECRET %w", io.EOF),
		"context canceled":                    fmt.Errorf("SECRET %w", context.Canceled),
		"http: server closed idle connection": fmt.Errorf("SECRET %w", errors.New("http: server closed idle connection")),
		"the exchange failed (*errors.errorString)": &net.OpError{Op: "SECRET", Err: private},
		"tls: handshake failure":                    fmt.Errorf("SECRET %w", tls.AlertError(40)),
		"tls: the certificate failed verification (x509.HostnameError)": &tls.CertificateVerificationError{
			Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"SECRET"}}, Host: "h"},
		},
	} {
		if got := discreet(err).Error(); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// An HTTP/2 upstream that resets a stream is logged with the code that it gave.
func TestStreamErrorIsTold(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	r := newRig(t, up.URL, func(o *Options) {
		trust(o, up)
	})
	if res, _ := r.post(t, "{}"); res.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d", res.StatusCode)
	}
	if line := r.waitForLog(t, `"msg":"request"`); !strings.Contains(line, "HTTP/2 stream error with code 2") {
		t.Errorf("the line does not say why: %s", line)
	}
}
