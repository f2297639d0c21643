package proxy

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// BenchmarkProxy compares a chat completion through Pleat, planned by a
// compactor that does nothing, with one through a plain ReverseProxy.
func BenchmarkProxy(b *testing.B) {
	up := newUpstreamServer(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		jsonAnswer(w, 1, 1)
	})
	base, _ := url.Parse(up.URL)
	transport := NewTransport()
	b.Cleanup(transport.CloseIdleConnections)
	plain := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }}
	pleat := newRig(b, up.URL, func(o *Options) {
		o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // what writing lines costs is part of it
		o.Compactor = stillCompactor{new(fakeCompactor)}
	})
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1KB", 1 << 10}, {"100KB", 100 << 10}} {
		body := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", size.bytes) + `"}]}`
		b.Run(size.name+"/plain", func(b *testing.B) {
			s := httptest.NewServer(plain)
			defer s.Close()
			benchmark(b, s.URL+chatPath, body)
		})
		b.Run(size.name+"/pleat", func(b *testing.B) { benchmark(b, pleat.URL+chatPath, body) })
	}
}

func benchmark(b *testing.B, target, body string) {
	b.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, target, strings.NewReader(body))
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}
