package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// heldUpstream takes bodies whole, tells of each, and answers once it is told
// to: its header at begin, its end at end.
func heldUpstream(t *testing.T) (base string, bodies chan string, begin, end chan struct{}) {
	t.Helper()
	bodies, begin, end = make(chan string, 10), make(chan struct{}), make(chan struct{})
	wait := func(r *http.Request, c chan struct{}) {
		select {
		case <-c:
		case <-r.Context().Done():
		}
	}
	up := newUpstreamServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		wait(r, begin)
		_ = http.NewResponseController(w).Flush()
		wait(r, end)
	})
	return up.URL, bodies, begin, end
}

// A body is held until the upstream answers, not until its answer ends.
func TestBodyIsFreedWhenTheAnswerBegins(t *testing.T) {
	base, bodies, begin, end := heldUpstream(t)
	for name, plan := range map[string]func(compaction.Request) (*compaction.Plan, error){
		"as it came": nil, "replaced": replaceWith("new"),
	} {
		r := newRig(t, base, nil)
		r.fake.plan = plan
		answered := make(chan *http.Response)
		go func() {
			body := strings.NewReader(strings.Repeat("x", 100_000))
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath, body)
			res, err := r.client.Do(req)
			if err != nil {
				t.Error(err)
			}
			answered <- res
		}()
		<-bodies
		if held := r.metric(t, "pleat_body_bytes"); held < 100_000 || held > 110_000 {
			t.Errorf("%s: %v bytes are held before the answer", name, held)
		}
		begin <- struct{}{}
		res := <-answered
		// The transport's own hold ends a moment after the answer's header is there.
		held := r.metric(t, "pleat_body_bytes")
		for began := time.Now(); held != 0 && time.Since(began) < 10*time.Second; {
			held = r.metric(t, "pleat_body_bytes")
		}
		if held != 0 {
			t.Errorf("%s: %v bytes are held while the answer runs", name, held)
		}
		end <- struct{}{}
		_ = res.Body.Close()
	}
}

// Above the bound a chat goes upstream unplanned, whole, and as it came.
func TestMemoryBound(t *testing.T) {
	const size = 50_000
	text := strings.Repeat("0123456789", size/10)
	for name, c := range map[string]struct {
		body, encoding string
		chunked        bool
	}{
		"declared": {text, "", false},
		"chunked":  {text, "", true},
		"inflated": {gzipped(strings.Repeat(text, 4)), "gzip", false},
	} {
		t.Run(name, func(t *testing.T) {
			base, bodies, begin, end := heldUpstream(t)
			close(end)
			r := newRig(t, base, func(o *Options) { o.MaxMemory = size + 30_000 })
			first := make(chan struct{})
			go func() {
				defer close(first)
				r.post(t, text)
			}()
			<-bodies

			second := make(chan *http.Response)
			go func() {
				var in io.Reader = strings.NewReader(c.body)
				if c.chunked {
					in = io.MultiReader(in)
				}
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath, in)
				res, _ := r.do(t, req, "Content-Encoding", c.encoding)
				second <- res
			}()
			if got := <-bodies; got != c.body {
				t.Errorf("upstream got %d bytes of %d", len(got), len(c.body))
			}
			close(begin)
			<-first
			if res := <-second; res.StatusCode != http.StatusOK || res.Header.Get("X-Pleat-Status") != "degraded" {
				t.Errorf("status %d, header %v", res.StatusCode, res.Header)
			}
			r.Close()
			if !strings.Contains(r.log.String(), `"unplanned":"limits.memory is reached"`) {
				t.Errorf("log: %s", r.log)
			}
			if n := len(r.fake.requests); n != 1 {
				t.Errorf("%d requests were planned, want the first alone", n)
			}
			if n := r.metric(t, "pleat_failures_total", "part=memory"); n != 1 {
				t.Errorf("%v counted", n)
			}
			if held := r.metric(t, "pleat_body_bytes"); held != 0 {
				t.Errorf("%v bytes are held in the end", held)
			}
		})
	}
}

// However a body's reading ends, what it took is given back.
func TestBudgetIsGivenBack(t *testing.T) {
	memory := &budget{limit: 100_000, gauge: NewMetrics(nil).bodies}
	pool := bufferPool{memory: memory}
	text := bytes.Repeat([]byte("x"), 60_000)
	for name, c := range map[string]struct {
		in          io.Reader
		length, max int64
		err         error
	}{
		"whole":     {bytes.NewReader(text), 60_000, 60_000, nil},
		"growing":   {bytes.NewReader(text[:20_000]), -1, 60_000, nil},
		"too large": {bytes.NewReader(text), -1, 10_000, errTooLarge},
		"short":     {bytes.NewReader(bytes.Repeat(text, 2)), 120_000, 1 << 20, errNoMemory},
		"broken":    {io.MultiReader(bytes.NewReader(text), errReader{}), 60_000, 1 << 20, io.ErrUnexpectedEOF},
	} {
		b, err := pool.read(c.in, c.length, c.max)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if b != nil {
			if used := memory.used.Load(); used != int64(cap(b.data)) {
				t.Errorf("%s: %d bytes are taken for an array of %d", name, used, cap(b.data))
			}
			b.release()
		}
		if used := memory.used.Load(); used != 0 {
			t.Errorf("%s: %d bytes are never given back", name, used)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What a request let go is not kept by the transport's means to send it again.
func TestNothingIsSentAgainOnceLetGo(t *testing.T) {
	var pool bufferPool
	b, _ := pool.read(strings.NewReader("text"), -1, 10)
	c := &chat{received: &received{wire: b, plain: b}, plan: &compaction.Plan{Body: b.data}}
	c.payload = c.choose()
	out, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a", http.NoBody)
	c.attach(out)
	again, err := out.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	c.letGo()
	c.letGo() // more than once is once
	if got, _ := io.ReadAll(again); string(got) != "text" {
		t.Errorf("a body that is being sent gave %q", got)
	}
	if _, err := out.GetBody(); !errors.Is(err, errReleased) {
		t.Errorf("GetBody: %v", err)
	}
	_, _ = again.Close(), out.Body.Close()
	if b.data != nil {
		t.Error("the array was not given back")
	}
}
