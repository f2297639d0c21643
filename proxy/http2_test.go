package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// transportOf is the transport that newRig made.
func transportOf(o *Options) *http.Transport {
	t, _ := o.Transport.(*http.Transport)
	return t
}

// trust has the proxy believe the upstream's certificate.
func trust(o *Options, up *httptest.Server) {
	roots := x509.NewCertPool()
	roots.AddCert(up.Certificate())
	transportOf(o).TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// Providers speak HTTP/2: bodies, streams, trailers and early answers must
// work there as well.
func TestHTTP2Upstream(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ProtoMajor != 2 {
			t.Errorf("upstream was asked by %s", req.Proto)
		}
		if req.Header.Get("X-Early") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body, _ := io.ReadAll(req.Body)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = w.Write(body)
		w.Header().Set("X-Sum", "42")
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	r := newRig(t, up.URL, func(o *Options) {
		trust(o, up)
	})
	for range 20 {
		if res, _ := r.post(t, strings.Repeat("x", 1<<20), "X-Early", "1"); res.StatusCode != http.StatusBadRequest {
			t.Errorf("early answer: status %d", res.StatusCode)
		}
		body := strings.Repeat("y", 300<<10)
		if res, got := r.post(t, body); got != body || res.Trailer.Get("X-Sum") != "42" {
			t.Errorf("%d bytes of %d, trailers %v", len(got), len(body), res.Trailer)
		}
	}
}
