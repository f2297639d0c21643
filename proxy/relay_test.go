package proxy

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// headUpstream answers 204 and hands on each request's head as it came.
func headUpstream(t *testing.T) (base string, heads chan string) {
	t.Helper()
	heads = make(chan string, 10)
	base = rawUpstream(t, func(conn net.Conn, in *bufio.Reader) {
		head, err := rawHead(in)
		if err != nil {
			return
		}
		heads <- head
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	})
	return base, heads
}

func TestRequestLineIsKept(t *testing.T) {
	base, heads := headUpstream(t)
	r := newRig(t, base+"/base", nil)
	for _, c := range []struct{ sent, want string }{
		{"GET /v1/models", "GET /base/models"},
		{"GET /v1", "GET /base"},
		{"GET /v1/", "GET /base/"},
		{"GET /v1x/models", "GET /v1x/models"},
		{"GET /", "GET /"},
		{"GET /v1/a%2Fb%20c//d/../e/", "GET /base/a%2Fb%20c//d/../e/"},
		{"GET //double", "GET //double"},
		{"GET /x?a=1;b=2&c=%zz&d", "GET /x?a=1;b=2&c=%zz&d"},
		{"GET /x?", "GET /x?"},
		{"GET /x?b=2&a=1&a=+%20", "GET /x?b=2&a=1&a=+%20"},
		{"PROPFIND /dav", "PROPFIND /dav"},
		{"BREW /v1/pot", "BREW /base/pot"},
		{"PURGE /v1/chat/completions", "PURGE /base/chat/completions"},
		{"DELETE /v1/files/f1", "DELETE /base/files/f1"},
		{"OPTIONS *", "OPTIONS *"},
		{"POST /v1/chat/completions/", "POST /base/chat/completions/"},
		{"GET http://elsewhere/v1/models", "GET /base/models"},
		{"POST /openai/deployments/d/chat/completions?api-version=2024-10-21", "POST /openai/deployments/d/chat/completions?api-version=2024-10-21"},
	} {
		t.Run(c.sent, func(t *testing.T) {
			got := r.rawRequest(t, c.sent+" HTTP/1.1\r\nHost: pleat\r\nConnection: close\r\n\r\n")
			if !strings.HasPrefix(got, "HTTP/1.1 204") {
				t.Fatalf("answer %q", got)
			}
			line, _, _ := strings.Cut(<-heads, "\r\n")
			if line != c.want+" HTTP/1.1" {
				t.Errorf("upstream saw %q, want %q", line, c.want)
			}
		})
	}
}

func TestRequestHeadersAreKept(t *testing.T) {
	base, heads := headUpstream(t)
	host := strings.TrimPrefix(base, "http://")
	r := newRig(t, base, nil)
	for _, path := range []string{"GET /v1/models", "POST /v1/chat/completions"} {
		t.Run(path, func(t *testing.T) {
			r.rawRequest(t, path+" HTTP/1.1\r\nHost: pleat\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n"+
				"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Host: h\r\nX-Forwarded-Proto: https\r\nForwarded: for=1\r\n"+
				"X-Pleat-Session: s\r\nx-pleat-anything: x\r\nAuthorization: Bearer k\r\nX-Custom: a\r\nX-Custom: b\r\n"+
				"Accept-Encoding: br, zstd;q=0.5\r\nContent-Length: 0\r\n\r\n")
			got := strings.Split(strings.TrimSuffix(<-heads, "\r\n\r\n"), "\r\n")[1:]
			slices.Sort(got)
			accept := "Accept-Encoding: br, zstd;q=0.5"
			if strings.HasPrefix(path, "POST") {
				accept = "Accept-Encoding: zstd;q=0.5"
			}
			want := []string{
				accept, "Authorization: Bearer k", "Forwarded: for=1", "Host: " + host,
				"X-Custom: a", "X-Custom: b", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 5.6.7.8",
				"X-Forwarded-Host: h", "X-Forwarded-Proto: https",
			}
			got = slices.DeleteFunc(got, func(l string) bool { return l == "Content-Length: 0" })
			if !slices.Equal(got, want) {
				t.Errorf("upstream saw\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// An answer reaches the client as it was sent: nothing guessed, nothing added
// but what HTTP itself needs.
func TestResponseIsKept(t *testing.T) {
	base := rawUpstream(t, func(conn net.Conn, in *bufio.Reader) {
		if _, err := rawHead(in); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 418 Teapot\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n"+
				"X-Request-Id: r1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-Pleat-Session: forged\r\nServer-Timing: up;dur=1\r\n"+
				"Content-Length: 6\r\nConnection: close\r\n\r\n<html>")
		}
	})
	r := newRig(t, base, nil)
	common := []string{
		"Connection: close", "Content-Length: 6", "Date: Mon, 01 Jan 2024 00:00:00 GMT",
		"Server-Timing: up;dur=1", "Set-Cookie: a", "Set-Cookie: b", "X-Request-Id: r1",
	}
	read := func(path string) []string {
		got := r.rawRequest(t, path+" HTTP/1.1\r\nHost: pleat\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		head, body, _ := strings.Cut(got, "\r\n\r\n")
		if body != "<html>" {
			t.Errorf("body %q", body)
		}
		lines := strings.Split(head, "\r\n")[1:]
		slices.Sort(lines)
		return lines
	}
	want := append([]string{"X-Pleat-Session: forged"}, common...)
	slices.Sort(want)
	if got := read("GET /x"); !slices.Equal(got, want) {
		t.Errorf("relayed: %q\nwant %q", got, want)
	}
	got := slices.DeleteFunc(read("POST /v1/chat/completions"), func(l string) bool {
		return strings.HasPrefix(l, "Server-Timing: pleat;dur=")
	})
	want = append([]string{
		"X-Pleat-Folded-Messages: 0", "X-Pleat-Session: s1", "X-Pleat-Status: verbatim",
		"X-Pleat-Tokens-Received: 10", "X-Pleat-Tokens-Sent: 10",
	}, common...)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("chat: %q\nwant %q", got, want)
	}
}

func TestUploadStreams(t *testing.T) {
	first, answered := make(chan struct{}), make(chan []byte, 1)
	up := newUpstreamServer(t, func(_ http.ResponseWriter, req *http.Request) {
		head := make([]byte, 4)
		_, _ = io.ReadFull(req.Body, head)
		close(first) // arrived before the client has sent the rest
		rest, _ := io.ReadAll(req.Body)
		answered <- slices.Concat(head, rest)
	})
	r := newRig(t, up.URL, nil)
	sent := make([]byte, 3<<20)
	rand.Read(sent)
	pr, pw := io.Pipe()
	go func() {
		_, _ = pw.Write(sent[:4])
		<-first
		_, _ = pw.Write(sent[4:])
		_ = pw.Close()
	}()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/v1/files", pr)
	r.do(t, req)
	if !bytes.Equal(<-answered, sent) {
		t.Error("the upload was changed")
	}
}

func TestRedirectsAndErrorsPass(t *testing.T) {
	up := newUpstreamServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	r := newRig(t, up.URL, nil)
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, _ := r.post(t, `{}`)
	if res.StatusCode != http.StatusTemporaryRedirect ||
		res.Header.Get("Location") != "/elsewhere" || res.Header.Get("Retry-After") != "7" {
		t.Errorf("got %d %v", res.StatusCode, res.Header)
	}
}

func TestUncompactedPathsAreCounted(t *testing.T) {
	up := newUpstreamServer(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, up.URL, nil)
	for path, family := range map[string]string{
		"/v1/responses": "responses", "/v1/messages": "messages", "/v1/completions": "completions",
		"/v1/realtime": "realtime", "/api/chat": "ollama", "/api/generate": "ollama",
		"/v1beta/models/g:generateContent": "gemini", "/v1beta/models/g:streamGenerateContent": "gemini",
	} {
		before := r.metric(t, "pleat_uncompacted_requests_total", "path="+family)
		for range 2 {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, strings.NewReader("{}"))
			r.do(t, req)
		}
		if got := r.metric(t, "pleat_uncompacted_requests_total", "path="+family) - before; got != 2 {
			t.Errorf("%s: counted %v times", path, got)
		}
	}
	if got := strings.Count(r.log.String(), "relayed without compaction"); got != int(families)-1 {
		t.Errorf("%d notices in the log, want one for each of %d families", got, families-1)
	}
}

func TestConnectIsRefused(t *testing.T) {
	base, heads := headUpstream(t)
	r := newRig(t, base, nil)
	got := r.rawRequest(t, "CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 405") || !strings.Contains(got, "\r\nAllow: GET, ") || len(heads) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	good, fake := &url.URL{Scheme: "http", Host: "h"}, new(fakeCompactor)
	tenants := NewCredentialTenants(nil)
	for i, o := range []Options{
		{},
		{Upstream: good, Compactor: fake},
		{Upstream: good, Tenants: tenants},
		{Compactor: fake, Tenants: tenants},
		{Compactor: fake, Tenants: tenants, Upstream: &url.URL{Scheme: "ftp", Host: "h"}},
		{Compactor: fake, Tenants: tenants, Upstream: &url.URL{Scheme: "http"}},
		{Compactor: fake, Tenants: tenants, Upstream: &url.URL{Scheme: "http", Host: "h", RawQuery: "a"}},
		{Compactor: fake, Tenants: tenants, Upstream: &url.URL{Scheme: "http", Host: "h", User: url.User("u")}},
		{Compactor: fake, Tenants: tenants, Upstream: good, MaxBody: -1},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("options %d were accepted", i)
		}
	}
	if _, err := New(Options{Upstream: good, Compactor: fake, Tenants: tenants}); err != nil {
		t.Error(err)
	}
}

func TestLargeBinaryDownload(t *testing.T) {
	body := make([]byte, 5<<20)
	rand.Read(body)
	up := newUpstreamServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body)
	})
	r := newRig(t, up.URL, nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+"/v1/files/f/content", nil)
	if _, got := r.do(t, req); got != string(body) {
		t.Error("the download was changed")
	}
}
