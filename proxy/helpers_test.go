package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pleat-proxy/pleat/compaction"
)

// rig is a proxy before an upstream.
type rig struct {
	*httptest.Server

	proxy  *Proxy
	fake   *fakeCompactor
	log    *safeBuffer
	reg    *prometheus.Registry
	client *http.Client
}

// newRig starts a proxy before the upstream at base. change may edit the options.
func newRig(t testing.TB, base string, change func(*Options)) *rig {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		fake: &fakeCompactor{ended: make(chan compaction.Usage, 10000)},
		log:  new(safeBuffer), reg: prometheus.NewRegistry(),
	}
	transport := NewTransport()
	opts := Options{
		Upstream: u, Compactor: r.fake, Tenants: NewCredentialTenants(DeriveKey(u)),
		Metrics: NewMetrics(r.reg), Transport: transport,
		Log: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&opts)
	}
	if r.proxy, err = New(opts); err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewUnstartedServer(nil)
	r.Config = NewServer(r.proxy, opts.Log)
	r.Start()
	clientTransport := &http.Transport{DisableCompression: true}
	r.client = &http.Client{Transport: clientTransport}
	t.Cleanup(func() {
		clientTransport.CloseIdleConnections()
		r.Close()
		transport.CloseIdleConnections()
	})
	return r
}

// newUpstreamServer starts an upstream that ends with the test.
func newUpstreamServer(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

const chatPath = "/v1/chat/completions"

// post sends a chat completion and returns the response with its body read.
func (r *rig) post(t *testing.T, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r.do(t, req, header...)
}

func (r *rig) do(t *testing.T, req *http.Request, header ...string) (*http.Response, string) {
	t.Helper()
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(got)
}

// metric returns the sum of a metric's series that have all the labels
// (name=value).
func (r *rig) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	all, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range all {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			have := map[string]bool{}
			for _, l := range m.GetLabel() {
				have[l.GetName()+"="+l.GetValue()] = true
			}
			match := true
			for _, l := range labels {
				match = match && have[l]
			}
			if match {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// rawUpstream accepts connections and hands each to serve.
func rawUpstream(t testing.TB, serve func(conn net.Conn, in *bufio.Reader)) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[conn] = true
			mu.Unlock()
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn, bufio.NewReader(conn))
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return "http://" + ln.Addr().String()
}

// rawHead reads a request's head from in: the bytes as they were sent.
func rawHead(in *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String(), nil
		}
	}
}

// rawRequest sends text to the proxy and returns everything that comes back
// until the connection ends.
func (r *rig) rawRequest(t *testing.T, text string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("after %q: %v", got, err)
	}
	return string(got)
}

func jsonAnswer(w http.ResponseWriter, prompt, completion int) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, prompt, completion)
}
