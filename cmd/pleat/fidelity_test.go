package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is an upstream that keeps the last body and gives a fixed answer.
type recorder struct {
	mu       sync.Mutex
	received []byte
	answer   []byte
	kind     string
	status   int
	free     bool // another status than that may arrive
	got      int  // the status that arrived
}

func (e *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		return
	}
	e.received = body
	w.Header().Set("Content-Type", e.kind)
	w.WriteHeader(e.status)
	_, _ = w.Write(e.answer)
}

// exchangeThrough posts a body through Pleat and returns what arrived on both sides.
func (e *recorder) exchangeThrough(t *testing.T, r *running, body []byte) (received, answered []byte) {
	t.Helper()
	req := newRequest(t, http.MethodPost, r.url("/v1/chat/completions"), bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if answered, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.got = res.StatusCode; !e.free && e.got != e.status {
		t.Errorf("status %d, want %d", res.StatusCode, e.status)
	}
	return e.received, answered
}

// Every recorded exchange, through all of Pleat: not a byte is different on
// either side, but where the answer is that the window is exceeded.
func TestWireRecordingsEndToEnd(t *testing.T) {
	root := os.Getenv("PLEAT_CORPORA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	metas, err := filepath.Glob(filepath.Join(root, "wire", "*", "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		t.Skip("no corpora: set PLEAT_CORPORA")
	}
	upstream := &recorder{}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	pleat := startPleat(t, server.URL+"/v1", "--trigger=64")
	replayed := 0
	for _, path := range metas {
		dir := filepath.Dir(path)
		var meta struct {
			Status          int               `json:"status"`
			Labels          []string          `json:"labels"`
			ResponseFile    string            `json:"response_file"`
			ResponseHeaders map[string]string `json:"response_headers"`
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &meta); err != nil {
			t.Fatal(err)
		}
		request := firstOf(dir, "request.json", "request.txt")
		response := firstOf(dir, meta.ResponseFile)
		if len(request) == 0 || meta.Status < 200 {
			continue
		}
		upstream.mu.Lock()
		upstream.answer, upstream.status = response, meta.Status
		if upstream.kind = meta.ResponseHeaders["content-type"]; upstream.kind == "" {
			upstream.kind = "application/json"
		}
		upstream.mu.Unlock()
		received, answered := upstream.exchangeThrough(t, pleat, request)
		if !bytes.Equal(received, request) {
			t.Errorf("%s: the request was changed", dir)
		}
		switch refused := slices.Contains(meta.Labels, "context-overflow"); {
		case refused && !bytes.Contains(answered, []byte(`"code":"context_length_exceeded"`)):
			t.Errorf("%s: no report", dir)
		case !refused && !bytes.Equal(answered, response):
			t.Errorf("%s: the response was changed", dir)
		}
		replayed++
	}
	t.Logf("%d exchanges", replayed)
	if replayed < 50 {
		t.Errorf("only %d exchanges were replayed", replayed)
	}
}

func firstOf(dir string, names ...string) []byte {
	for _, name := range names {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return data
		}
	}
	return nil
}

// Odd bodies, legal or not, arrive as they were sent.
func TestOddBodiesEndToEnd(t *testing.T) {
	upstream := &recorder{answer: []byte("{}"), kind: "application/json", status: http.StatusOK}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	pleat := startPleat(t, server.URL+"/v1", "--trigger=64")
	deep := strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)
	for name, body := range map[string]string{
		"empty":                "",
		"not JSON":             "hello",
		"a template":           `{"messages": {{ messages }}}`,
		"cut off":              `{"model":"m","messages":[{"role":"user","content":"hel`,
		"two documents":        `{"messages":[{"role":"user","content":"a"}]}{"messages":[]}`,
		"byte order mark":      "\ufeff" + `{"messages":[{"role":"user","content":"a"}]}`,
		"no messages":          `{"model":"m"}`,
		"null messages":        `{"messages":null}`,
		"null message":         `{"messages":[null,{"role":"user","content":"a"}]}`,
		"messages as object":   `{"messages":{"0":{"role":"user"}}}`,
		"duplicate key":        `{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}`,
		"duplicate inside":     `{"messages":[{"role":"user","role":"system","content":"a"}]}`,
		"numbers":              `{"messages":[{"role":"user","content":"a"}],"seed":123456789012345678901234567890,"t":1e999,"u":-0.0}`,
		"deep nesting":         `{"messages":[{"role":"user","content":"a"}],"x":` + deep + `}`,
		"broken UTF-8":         "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}",
		"lone surrogate":       `{"messages":[{"role":"user","content":"\ud83d"}]}`,
		"odd white space":      "\r\n\t { \"messages\" :\n[\t{ \"role\":\"user\" , \"content\":\"a\" }\r\n] }\n\n",
		"escaped slashes":      `{"messages":[{"role":"user","content":"a\/b \u003c\u2028"}],"z":"\u0000"}`,
		"key order and extras": `{"zeta":1,"messages":[{"x_unknown":{"b":1,"a":2},"content":"a","role":"user"}],"alpha":[]}`,
		"unknown role":         `{"messages":[{"role":"critic","content":"a"},{"role":"user","content":"b"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if received, _ := upstream.exchangeThrough(t, pleat, []byte(body)); string(received) != body {
				t.Errorf("received %q", received)
			}
		})
	}
}
