package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/proxy"
)

// BenchmarkAdded measures what Pleat, as it is served, adds to a chat
// completion over a plain httputil.ReverseProxy, in the median and at the 99th
// percentile. All targets take turns, request by request, so that they meet the
// same weather; the plain proxy runs twice, and the difference of its two
// medians says how large the noise is. Every request ends with a message of its
// own, as the turns of a chat do; what stands before it was seen before.
func BenchmarkAdded(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, benchAnswer)
	}))
	b.Cleanup(upstream.Close)
	for _, bc := range []struct {
		name    string
		history int // bytes
		trigger string
	}{
		{"1KB", 1 << 10, "8192"},
		{"100KB/whole", 100 << 10, "10000000"},
		{"100KB/folded", 100 << 10, "8192"},
		{"1MB/whole", 1 << 20, "10000000"},
		{"1MB/folded", 1 << 20, "8192"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			pleat := startPleat(b, upstream.URL+"/v1", "--trigger="+bc.trigger, "--summarizer-share=100%", "--log-access=off")
			base, err := url.Parse(upstream.URL)
			if err != nil {
				b.Fatal(err)
			}
			targets := map[string]string{
				"direct": upstream.URL, "plain": plainProxy(b, base), "plain again": plainProxy(b, base),
				"pleat": "http://" + pleat.public.listener.Addr().String(),
			}
			measure(b, pleat, targets, benchHistory(bc.history), strings.HasSuffix(bc.name, "folded"))
		})
	}
}

const benchAnswer = `{"id":"c","object":"chat.completion","created":1,"model":"gpt-4.1","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"The boxes were counted and most of them stand in the barn."},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":14,"total_tokens":114}}`

func plainProxy(b *testing.B, base *url.URL) string {
	b.Helper()
	transport := proxy.NewTransport()
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) },
	})
	b.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	return server.URL
}

// benchHistory is a history of about size bytes in messages of 1 KB, encoded
// and without the closing bracket.
func benchHistory(size int) string {
	var out strings.Builder
	for i := 0; out.Len() < size; i++ {
		text, err := json.Marshal(words(fmt.Sprintf("Message %d:", i), min(1<<10, size)))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&out, `{"role":%q,"content":%s},`, []string{"user", "assistant"}[i%2], text)
		if i%2 == 0 && out.Len() >= size {
			fmt.Fprintf(&out, `{"role":"assistant","content":"Noted."},`)
		}
	}
	return `{"model":"gpt-4.1","messages":[` + out.String()
}

func measure(b *testing.B, pleat *running, targets map[string]string, history string, folded bool) {
	b.Helper()
	transport := &http.Transport{DisableCompression: true}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	send := func(target string, n int) (time.Duration, string) {
		text := words(fmt.Sprintf("Question %d of mine:", n), min(2<<10, len(history)))
		body := history + fmt.Sprintf(`{"role":"user","content":%q}]}`, text)
		req := newRequest(b, http.MethodPost, target+"/v1/chat/completions", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		began := time.Now()
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return time.Since(began), res.Header.Get("X-Pleat-Status")
	}
	status := ""
	for i := range 30 { // everything is warm, and folds are made
		for _, target := range targets {
			if _, s := send(target, -i); s != "" {
				status = s
			}
			if err := pleat.compactor.Settle(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if folded != (status == "folded") {
		b.Fatalf("status %q", status)
	}

	took := map[string][]time.Duration{}
	n := 0
	for b.Loop() {
		for name, target := range targets { // in another order each time
			n++
			d, _ := send(target, n)
			took[name] = append(took[name], d)
		}
	}
	at := func(name string, share float64) float64 {
		all := took[name]
		slices.Sort(all)
		return float64(all[int(float64(len(all)-1)*share)]) / float64(time.Millisecond)
	}
	b.ReportMetric(at("plain", 0.5)-at("direct", 0.5), "plain-p50-ms")
	b.ReportMetric(at("pleat", 0.5)-at("plain", 0.5), "added-p50-ms")
	b.ReportMetric(at("pleat", 0.99)-at("plain", 0.99), "added-p99-ms")
	b.ReportMetric(at("plain again", 0.5)-at("plain", 0.5), "noise-p50-ms")
	b.ReportMetric(0, "ns/op")
}
