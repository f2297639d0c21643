package proxy

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recording is one exchange of the corpora: see their README.
type recording struct {
	name              string
	request, response []byte
	meta              struct {
		Method          string            `json:"method"`
		Status          int               `json:"status"`
		Labels          []string          `json:"labels"`
		ResponseHeaders map[string]string `json:"response_headers"`
		ResponseFile    string            `json:"response_file"`
	}
}

// recordings returns all wire recordings, or skips the test.
func recordings(t *testing.T) []recording {
	t.Helper()
	root := os.Getenv("PLEAT_CORPORA")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "corpora")
	}
	metas, err := filepath.Glob(filepath.Join(root, "wire", "*", "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		t.Skip("no corpora here: set PLEAT_CORPORA")
	}
	var all []recording
	for _, path := range metas {
		dir := filepath.Dir(path)
		rec := recording{name: filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)}
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &rec.meta) != nil {
			t.Fatalf("%s: unreadable, %v", path, err)
		}
		if rec.request, err = os.ReadFile(filepath.Join(dir, "request.json")); err != nil {
			rec.request = []byte(`{"messages":[]}`) // some were recorded without
		}
		if rec.response, err = os.ReadFile(filepath.Join(dir, rec.meta.ResponseFile)); err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	return all
}

// TestWireRecordings sends every recorded request through the proxy and every
// recorded response back, in pieces cut at odd places, plain and compressed.
func TestWireRecordings(t *testing.T) {
	all := recordings(t)
	var answer http.HandlerFunc // the recording that is being replayed
	up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) { answer(w, req) })
	r := newRig(t, up.URL, nil)
	for _, rec := range all {
		t.Run(rec.name, func(t *testing.T) {
			for _, encoding := range []string{"", "gzip", "zstd"} {
				seen := make(chan string, 1)
				answer = rec.answer(encoding, seen)
				replay(t, r, rec, encoding, seen)
			}
		})
	}
}

// answer plays the recorded response, and notes the request's body.
func (rec recording) answer(encoding string, seen chan<- string) http.HandlerFunc {
	random := rand.New(rand.NewPCG(uint64(len(rec.response)), 1))
	response := encode(string(rec.response), encoding)
	return func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		seen <- string(body)
		w.Header()["Content-Type"] = nil
		for name, value := range rec.meta.ResponseHeaders {
			// The recordings are stored inflated.
			if name != "content-length" && name != "content-encoding" {
				w.Header().Set(name, value)
			}
		}
		if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
		}
		w.WriteHeader(rec.meta.Status)
		for rest := response; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(len(response)/20+2))
			_, _ = w.Write(rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}
}

func replay(t *testing.T, r *rig, rec recording, encoding string, seen <-chan string) {
	t.Helper()
	response := encode(string(rec.response), encoding)
	request := encode(string(rec.request), encoding)
	res, body := r.post(t, string(request), "Content-Type", "application/json", "Content-Encoding", encoding)

	if got := <-seen; got != string(request) {
		t.Errorf("%q: the upstream got another request", encoding)
	}
	if string(r.fake.last().Body) != string(rec.request) {
		t.Errorf("%q: the compactor got another request", encoding)
	}
	if body != string(response) || res.StatusCode != rec.meta.Status {
		t.Errorf("%q: the client got another response, status %d", encoding, res.StatusCode)
	}
	if got := res.Header.Get("Content-Type"); got != rec.meta.ResponseHeaders["content-type"] {
		t.Errorf("%q: content type %q", encoding, got)
	}
	usage := r.fake.waitEnd(t)
	if want := slowUsage(rec.response); usage.Prompt != want.Prompt || usage.Completion != want.Completion {
		t.Errorf("%q: usage %+v, want %+v", encoding, usage, want)
	}
}

// statedUsage is what slowUsage finds.
type statedUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
}

// slowUsage finds a response's usage the plain way: the last one of all its
// documents that says anything.
func slowUsage(response []byte) statedUsage {
	var last statedUsage
	look := func(text string) {
		var doc struct {
			Usage statedUsage `json:"usage"`
		}
		if json.Unmarshal([]byte(text), &doc) == nil && doc.Usage != (statedUsage{}) {
			last = doc.Usage
		}
	}
	look(string(response))
	for line := range strings.Lines(strings.ReplaceAll(string(response), "\r", "\n")) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok {
			look(data)
		}
	}
	return last
}

// A header that Connection names is for this hop only, the forwarding ones too.
func TestHopByHopForwardingHeader(t *testing.T) {
	got := make(chan http.Header, 1)
	up := newUpstreamServer(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header })
	r := newRig(t, up.URL, nil)
	r.talk(t, 300*time.Millisecond, "GET /v1/x HTTP/1.1\r\nHost: a\r\nConnection: X-Forwarded-For\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n")
	if h := <-got; h.Get("X-Forwarded-For") != "" {
		t.Errorf("X-Forwarded-For: %q went on", h.Get("X-Forwarded-For"))
	}
}
