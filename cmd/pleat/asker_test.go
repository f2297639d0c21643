package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// apiServer plays a server: answers by method and path, 404 for all else.
type apiServer struct {
	answers map[string]string // "GET /v1/models": body, or a status alone
	opens   time.Time         // 503 before
	asked   []string
	keys    []string
}

func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	question := r.Method + " " + r.URL.Path
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		question += " " + string(body)
	}
	s.asked, s.keys = append(s.asked, question), append(s.keys, r.Header.Get("Authorization"))
	w := httptest.NewRecorder()
	body, ok := s.answers[question]
	var status int
	switch {
	case time.Now().Before(s.opens):
		w.WriteHeader(http.StatusServiceUnavailable)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case len(body) == len("500"):
		if _, err := fmt.Sscan(body, &status); err != nil {
			return nil, err
		}
		w.Header().Set("Location", "https://elsewhere.example/")
		w.WriteHeader(status)
	default:
		_, _ = io.WriteString(w, body)
	}
	return w.Result(), nil
}

func askerOf(t *testing.T, base, key string, transport http.RoundTripper) asker {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return newAsker(&Config{Upstream: u, Windows: WindowsConfig{MetadataKey: key}}, transport)
}

func TestAskServers(t *testing.T) {
	for name, c := range map[string]struct {
		base    string
		answers map[string]string
		want    map[string]int // total by model
		asked   int
	}{
		"vLLM": {"http://gpu:8000/v1", map[string]string{
			"GET /v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":8192}]}`,
		}, map[string]int{"m": 8192}, 1},
		"llama.cpp": {"http://gpu:8080/v1", map[string]string{
			"GET /v1/models": `{"data":[{"id":"m","owned_by":"llamacpp"}]}`,
			"GET /props":     `{"default_generation_settings":{"n_ctx":4096}}`,
		}, map[string]int{"m": 4096, "whatever": 4096}, 2},
		"llama.cpp without props": {"http://gpu:8080/v1", map[string]string{
			"GET /v1/models": `{"data":[{"id":"m","owned_by":"llamacpp"}]}`,
		}, map[string]int{"m": 0}, 2},
		"LM Studio below a path": {"http://gpu/studio/v1/", map[string]string{
			"GET /studio/v1/models":     `{"data":[{"id":"m","owned_by":"organization_owner"}]}`,
			"GET /studio/api/v0/models": `{"data":[{"id":"m","max_context_length":32768,"loaded_context_length":4096}]}`,
		}, map[string]int{"m": 4096}, 2},
		"Ollama": {"http://gpu:11434/v1", map[string]string{
			"GET /v1/models":                      `{"data":[{"id":"a:latest","owned_by":"library"},{"id":"b:7b","owned_by":"library"},{"id":"gone","owned_by":"library"}]}`,
			`POST /api/show {"model":"a:latest"}`: `{"model_info":{"llama.context_length":131072}}`,
			`POST /api/show {"model":"b:7b"}`:     `{"parameters":"num_ctx 16384","model_info":{"qwen2.context_length":32768}}`,
			`POST /api/show {"model":"gone"}`:     `{}`,
			"GET /api/ps":                         `{"models":[{"name":"a:latest","context_length":4096}]}`,
		}, map[string]int{"a": 4096, "b:7b": 16384, "gone": 0}, 5},
		"no windows": {"https://api.openai.example/v1", map[string]string{
			"GET /v1/models": `{"data":[{"id":"m","owned_by":"system"}]}`,
		}, map[string]int{"m": 0}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apiServer{answers: c.answers}
			list, err := askerOf(t, c.base, "sk-operator", s).ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r, err := window.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			r.SetUpstream(list)
			for model, total := range c.want {
				if l := r.Lookup(model); l.Total != total {
					t.Errorf("%s: %+v, want %d", model, l, total)
				}
			}
			if len(s.asked) != c.asked {
				t.Errorf("asked %q", s.asked)
			}
			if slices.ContainsFunc(s.keys, func(key string) bool { return key != "Bearer sk-operator" }) {
				t.Errorf("keys %q", s.keys)
			}
		})
	}
}

// run asks in a bubble for a while of its clock.
func (s *apiServer) run(t *testing.T, d time.Duration) (r *window.Resolver, log string) {
	t.Helper()
	r, err := window.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := new(lockedBuffer)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	askerOf(t, "http://gpu/v1", "", s).run(ctx, r, slog.New(slog.NewTextHandler(buf, nil)))
	return r, buf.String()
}

// TestAskAgain: a server that is being started is asked until it answers, at
// growing distances, and whoever reads the log hears of it once.
func TestAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{
			opens:   time.Now().Add(29 * time.Second),
			answers: map[string]string{"GET /v1/models": `{"data":[{"id":"m","max_model_len":8192}]}`},
		}
		r, log := s.run(t, time.Hour)
		if l := r.Lookup("m"); l.Total != 8192 || l.Source != window.SourceUpstream {
			t.Errorf("%+v", l)
		}
		if len(s.asked) != 5 { // at 0, 2, 6, 14 and 30 s
			t.Errorf("asked %d times", len(s.asked))
		}
		if strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "models=1 windows=1") {
			t.Errorf("log:\n%s", log)
		}
		if s.keys[0] != "" {
			t.Errorf("without a key it sent %q", s.keys[0])
		}
	})
}

func TestAskEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{answers: map[string]string{"GET /v1/models": "500"}}
		began := time.Now()
		s.run(t, 24*time.Hour)
		if d := time.Since(began); d != 24*time.Hour {
			t.Errorf("it ended after %s", d)
		}
		if n := len(s.asked); n < 288 || n > 300 { // every 5 minutes
			t.Errorf("asked %d times in a day", n)
		}
	})
}

// TestRefusalIsTaken: what asking again will not change is asked once.
func TestRefusalIsTaken(t *testing.T) {
	for _, answer := range []string{"401", "403", "404", "302", "<html>not a list</html>"} {
		s := &apiServer{answers: map[string]string{"GET /v1/models": answer}}
		r, log := s.run(t, time.Minute)
		if len(s.asked) != 1 || r.Names()[window.SourceUpstream] != 0 ||
			!strings.Contains(log, "does not tell") || strings.Contains(log, "html>") {
			t.Errorf("%s: asked %q:\n%s", answer, s.asked, log)
		}
	}
}

// soon waits for what a running Pleat should do of itself.
func soon(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not come")
	}
}

// TestServeAsksWithTheOperatorsKeyAlone runs Pleat: its question comes once,
// before and beside a client's request, and never with that client's key.
func TestServeAsksWithTheOperatorsKeyAlone(t *testing.T) {
	var mu sync.Mutex
	keys := make(map[string][]string)
	asked := make(chan struct{}, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys[r.URL.Path] = append(keys[r.URL.Path], r.Header.Get("Authorization"))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"data":[{"id":"gpt-4o","max_model_len":8192}]}`)
			asked <- struct{}{}
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
	}))
	defer s.Close()
	p := startPleat(t, s.URL+"/v1", "--upstream-metadata=on", "--upstream-metadata-key=sk-operator")
	soon(t, asked)
	req := newRequest(t, http.MethodPost, p.url("/v1/chat/completions"), strings.NewReader(chatBody))
	req.Header.Set("Authorization", "Bearer sk-client")
	if res := p.do(t, req); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	p.stopAndWait()
	mu.Lock()
	defer mu.Unlock()
	if got := keys["/v1/models"]; !slices.Equal(got, []string{"Bearer sk-operator"}) {
		t.Errorf("the question came with %q", got)
	}
	if got := keys["/v1/chat/completions"]; !slices.Equal(got, []string{"Bearer sk-client"}) {
		t.Errorf("the client's request came with %q", got)
	}
	if strings.Contains(p.log.String(), "sk-operator") {
		t.Error("the log shows the key")
	}
}

// TestServeAsksNothingByDefault: no request goes out that nobody asked for.
func TestServeAsksNothingByDefault(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s", r.Method, r.URL.Path)
	}))
	defer s.Close()
	startPleat(t, s.URL+"/v1").stopAndWait()
}

// TestServeStopsWhileAsking: an upstream that does not answer delays no end.
func TestServeStopsWhileAsking(t *testing.T) {
	reached := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	}))
	defer s.Close()
	p := startPleat(t, s.URL+"/v1", "--upstream-metadata=on")
	soon(t, reached)
	p.stopAndWait()
}

func TestReachErrorHidesTheURL(t *testing.T) {
	err := reachError(&url.Error{Op: "Get", URL: "https://x/?key=hunter2", Err: errors.New("refused")})
	if err.Error() != "refused" {
		t.Error(err)
	}
}
