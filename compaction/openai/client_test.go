package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// What must be in no error, and nowhere but where it belongs.
const (
	clientKey = "sk-client-7Qx1"
	ownKey    = "sk-own-9Zk2"
	secret    = "the transcript's secret"
)

const okBody = `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"A summary."}}],"usage":{"prompt_tokens":120,"completion_tokens":7}}`

// roundTrip is an upstream without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newClient(t *testing.T, opt Options) *Client {
	t.Helper()
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func question(t *testing.T, target string) compaction.Question {
	t.Helper()
	return compaction.Question{
		Model:        "gpt-4o",
		Instructions: "Write a summary.",
		Transcript:   "=====\n" + secret + "\n=====",
		MaxTokens:    100,
		Allowance:    50,
		Caller: compaction.Caller{
			URL: parse(t, target),
			Header: http.Header{
				"Authorization":       {"Bearer " + clientKey},
				"Openai-Organization": {"org-1"},
				"Openai-Project":      {"proj-1"},
			},
		},
	}
}

// sent is a request as it left, with its body decoded.
type sent struct {
	*http.Request

	body map[string]any
}

// record returns a transport that keeps what is sent and answers in turn, the
// last answer again and again.
func record(t *testing.T, requests *[]sent, answers ...func() *http.Response) http.RoundTripper {
	t.Helper()
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		var s sent
		s.Request = r
		if err := json.NewDecoder(r.Body).Decode(&s.body); err != nil {
			t.Errorf("request body: %v", err)
		}
		*requests = append(*requests, s)
		return answers[min(len(*requests), len(answers))-1](), nil
	})
}

func ok() *http.Response { return respond(http.StatusOK, okBody) }

func TestNew(t *testing.T) {
	tests := []struct {
		name, base, key, want string
	}{
		{"the client's account", "", "", ""},
		{"a key of its own", "", ownKey, ""},
		{"an upstream of its own", "https://llm.example/v1", ownKey, ""},
		{"an upstream and no key", "https://llm.example/v1", "", "api key"},
		{"no http", "ftp://llm.example", ownKey, "http"},
		{"no host", "https:///v1", ownKey, "http"},
	}
	for _, tt := range tests {
		opt := Options{APIKey: tt.key}
		if tt.base != "" {
			opt.BaseURL = parse(t, tt.base)
		}
		_, err := New(opt)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

func TestNewDoesNotChangeTheGivenClient(t *testing.T) {
	given := &http.Client{}
	newClient(t, Options{Client: given})
	if given.CheckRedirect != nil {
		t.Error("the caller's http.Client was changed")
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 307, 308} {
		upstream := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		_, err := newClient(t, Options{}).Summarize(t.Context(), question(t, upstream.URL+"/chat/completions"))
		if asked, _ := errors.AsType[*compaction.AskError](err); asked == nil || asked.Status != status {
			t.Errorf("%d: error %v", status, err)
		}
		upstream.Close()
	}
}

func TestDeadlineIsKept(t *testing.T) {
	release := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer upstream.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	q := question(t, upstream.URL+"/chat/completions?key="+clientKey)
	_, err := newClient(t, Options{APIKey: ownKey}).Summarize(ctx, q)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	if strings.Contains(err.Error(), clientKey) || strings.Contains(err.Error(), "?") {
		t.Errorf("error %q shows the URL's query", err)
	}
}
