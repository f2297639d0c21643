package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/pleat-proxy/pleat/compaction"
)

// got is a request as an upstream received it.
type got struct {
	body     string
	encoding string
	header   http.Header
	length   int64
}

// recordingUpstream answers every request with a little completion.
func recordingUpstream(t *testing.T) (base string, requests chan got) {
	t.Helper()
	requests = make(chan got, 100)
	up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		requests <- got{string(body), req.Header.Get("Content-Encoding"), req.Header, req.ContentLength}
		jsonAnswer(w, 7, 3)
	})
	return up.URL, requests
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func zstded(s string) string {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	defer func() { _ = w.Close() }()
	return string(w.EncodeAll([]byte(s), nil))
}

func replaceWith(body string) func(compaction.Request) (*compaction.Plan, error) {
	return func(r compaction.Request) (*compaction.Plan, error) {
		p := verbatim(r)
		p.Body, p.Status, p.TokensSent, p.FoldedMessages = []byte(body), compaction.Folded, 4, 6
		return p, nil
	}
}

func TestChatBody(t *testing.T) {
	const body = "{ \"messages\" :[] , \"n\":1.0e2 }\n"
	broken := gzipped(body)[:20]
	for name, c := range map[string]struct {
		sent, encoding   string
		plan             func(compaction.Request) (*compaction.Plan, error)
		seen             string // by the compactor
		want, wantCoding string // by the upstream
	}{
		"unchanged":             {body, "", nil, body, body, ""},
		"empty":                 {"", "", nil, "", "", ""},
		"not JSON":              {"{{ template", "", nil, "{{ template", "{{ template", ""},
		"changed":               {body, "", replaceWith("new"), body, "new", ""},
		"gzip unchanged":        {gzipped(body), "gzip", nil, body, gzipped(body), "gzip"},
		"gzip in capitals":      {gzipped(body), "GZIP", nil, body, gzipped(body), "GZIP"},
		"gzip changed":          {gzipped(body), "gzip", replaceWith("new"), body, "new", ""},
		"zstd unchanged":        {zstded(body), "zstd", nil, body, zstded(body), "zstd"},
		"zstd changed":          {zstded(body), "zstd", replaceWith("new"), body, "new", ""},
		"broken gzip":           {broken, "gzip", nil, broken, broken, "gzip"},
		"gzip that is none":     {body, "gzip", nil, body, body, "gzip"},
		"unknown encoding":      {"xyz", "br", nil, "xyz", "xyz", "br"},
		"encoded twice":         {"xyz", "gzip, gzip", nil, "xyz", "xyz", "gzip, gzip"},
		"part of the same body": {body, "", func(r compaction.Request) (*compaction.Plan, error) { return &compaction.Plan{Body: r.Body[2:]}, nil }, body, body[2:], ""},
		"error beside a plan": {body, "", func(r compaction.Request) (*compaction.Plan, error) {
			return &compaction.Plan{Body: r.Body, Status: compaction.Degraded}, errors.New("store down")
		}, body, body, ""},
		"no plan":                {body, "", func(compaction.Request) (*compaction.Plan, error) { return nil, errors.New("lost") }, body, body, ""},
		"panic in planning":      {body, "", func(compaction.Request) (*compaction.Plan, error) { panic("bug: " + body) }, body, body, ""},
		"panic, gzip":            {gzipped(body), "gzip", func(compaction.Request) (*compaction.Plan, error) { panic("bug") }, body, gzipped(body), "gzip"},
		"more than fits at once": {strings.Repeat("x", 3<<20), "", nil, strings.Repeat("x", 3<<20), strings.Repeat("x", 3<<20), ""},
	} {
		t.Run(name, func(t *testing.T) {
			base, requests := recordingUpstream(t)
			r := newRig(t, base, nil)
			r.fake.plan = c.plan
			header := []string{"X-Pleat-Session", "mine", "Content-Type", "application/json"}
			if c.encoding != "" {
				header = append(header, "Content-Encoding", c.encoding)
			}
			res, _ := r.post(t, c.sent, header...)
			if res.StatusCode != http.StatusOK {
				t.Fatalf("status %d", res.StatusCode)
			}
			if seen := r.fake.last(); string(seen.Body) != c.seen || seen.Session != "mine" || seen.Bypass {
				t.Errorf("the compactor was given %.100q, session %q, bypass %v", seen.Body, seen.Session, seen.Bypass)
			}
			up := <-requests
			if up.body != c.want || up.encoding != c.wantCoding {
				t.Errorf("upstream got %.100q (%q), want %.100q (%q)", up.body, up.encoding, c.want, c.wantCoding)
			}
			if up.length != int64(len(c.want)) {
				t.Errorf("length %d, want %d", up.length, len(c.want))
			}
		})
	}
}

// A base URL with a slash too many makes a path with one at its end.
func TestTrailingSlashIsAChat(t *testing.T) {
	base, _ := recordingUpstream(t)
	r := newRig(t, base, nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath+"/", strings.NewReader("{}"))
	if res, _ := r.do(t, req); res.Header.Get("X-Pleat-Status") != "verbatim" {
		t.Errorf("header %v", res.Header)
	}
}

func TestPlanIsDescribed(t *testing.T) {
	base, _ := recordingUpstream(t)
	r := newRig(t, base, nil)
	r.fake.plan = func(req compaction.Request) (*compaction.Plan, error) {
		p, err := replaceWith("{}")(req)
		p.Session = "a\r\nSet-Cookie: x\xc3\xa9"
		return p, err
	}
	res, _ := r.post(t, `{}`)
	for name, want := range map[string]string{
		"X-Pleat-Session": "a%0D%0ASet-Cookie: x%C3%A9", "X-Pleat-Status": "folded", "X-Pleat-Folded-Messages": "6",
		"X-Pleat-Tokens-Received": "10", "X-Pleat-Tokens-Sent": "4",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	timing, ok := strings.CutPrefix(res.Header.Get("Server-Timing"), "pleat;dur=")
	if ms, err := strconv.ParseFloat(timing, 64); !ok || err != nil || ms < 0 ||
		len(timing)-strings.IndexByte(timing, '.') != 4 {
		t.Errorf("Server-Timing %q", res.Header.Get("Server-Timing"))
	}
	if res.Header.Get("Set-Cookie") != "" {
		t.Error("a session's name wrote a header of its own")
	}
	if u := r.fake.waitEnd(t); u != (compaction.Usage{Prompt: 7, Completion: 3}) {
		t.Errorf("usage %+v", u)
	}
	r.Close() // waits for the handler, which counts last
	if got := r.metric(t, "pleat_saved_tokens_total", "model=m"); got != 6 {
		t.Errorf("saved %v tokens, want 6", got)
	}
	if got := r.metric(t, "pleat_upstream_tokens_total", "kind=prompt"); got != 7 {
		t.Errorf("upstream prompt tokens %v, want 7", got)
	}
}

func TestSignedBodiesAreNotTouched(t *testing.T) {
	for _, header := range [][2]string{
		{"Authorization", "AWS4-HMAC-SHA256 Credential=x"}, {"Signature", "s"}, {"Signature-Input", "s"},
		{"Content-Digest", "sha-256=:x:"}, {"Digest", "SHA-256=x"},
	} {
		t.Run(header[0], func(t *testing.T) {
			base, requests := recordingUpstream(t)
			r := newRig(t, base, nil)
			r.fake.plan = replaceWith("changed all the same")
			r.post(t, gzipped("{}"), header[0], header[1], "Content-Encoding", "gzip", "Accept-Encoding", "br")
			if !r.fake.last().Bypass {
				t.Error("Bypass was not asked for")
			}
			up := <-requests
			if up.body != gzipped("{}") || up.encoding != "gzip" || up.header.Get("Accept-Encoding") != "br" {
				t.Errorf("upstream got %q %v", up.body, up.header)
			}
		})
	}
}

func TestBypassHeader(t *testing.T) {
	base, _ := recordingUpstream(t)
	r := newRig(t, base, nil)
	for value, want := range map[string]bool{"true": true, "1": true, "TRUE": true, "false": false, "yes?": false, "": false} {
		r.post(t, "{}", "X-Pleat-Bypass", value)
		if got := r.fake.last().Bypass; got != want {
			t.Errorf("%q: bypass %v, want %v", value, got, want)
		}
	}
}

func TestCaller(t *testing.T) {
	base, _ := recordingUpstream(t)
	r := newRig(t, base+"/base", nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/v1/chat/completions?api-version=1;x", strings.NewReader("{}"))
	r.do(t, req, "Authorization", "Bearer k", "OpenAI-Organization", "o", "Api-Key", "a", "Cookie", "c", "X-Other", "x")
	caller := r.fake.last().Caller
	if got, want := caller.URL.String(), base+"/base/chat/completions?api-version=1;x"; got != want {
		t.Errorf("URL %s, want %s", got, want)
	}
	if len(caller.Header) != 3 || caller.Header.Get("Authorization") != "Bearer k" ||
		caller.Header.Get("Openai-Organization") != "o" || caller.Header.Get("Api-Key") != "a" {
		t.Errorf("header %v", caller.Header)
	}
}

func TestTooLarge(t *testing.T) {
	bomb := strings.Repeat("a", 100_000)
	for name, c := range map[string]struct {
		body, encoding string
		chunked        bool
	}{
		"declared":  {bomb, "", false},
		"chunked":   {bomb, "", true},
		"gzip bomb": {gzipped(bomb), "gzip", false},
		"zstd bomb": {zstded(bomb), "zstd", false},
	} {
		t.Run(name, func(t *testing.T) {
			base, requests := recordingUpstream(t)
			r := newRig(t, base, func(o *Options) { o.MaxBody = 10_000 })
			var body io.Reader = strings.NewReader(c.body)
			if c.chunked {
				body = io.MultiReader(body)
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath, body)
			req.Header.Set("Content-Encoding", c.encoding)
			res, answer := r.do(t, req)
			if res.StatusCode != http.StatusRequestEntityTooLarge ||
				!strings.Contains(answer, `"type":"invalid_request_error"`) || !strings.Contains(answer, `"code":"request_too_large"`) {
				t.Errorf("got %d %s", res.StatusCode, answer)
			}
			if len(requests) != 0 {
				t.Error("it went upstream")
			}
		})
	}
	t.Run("exactly the limit", func(t *testing.T) {
		base, _ := recordingUpstream(t)
		r := newRig(t, base, func(o *Options) { o.MaxBody = 10_000 })
		if res, _ := r.post(t, bomb[:10_000]); res.StatusCode != http.StatusOK {
			t.Errorf("status %d", res.StatusCode)
		}
	})
}
