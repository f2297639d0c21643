package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
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

// Lessons 32, 33, 64, 68, 82, 152: the body holds these members and no other.
func TestRequestIsBuiltFromScratch(t *testing.T) {
	var requests []sent
	c := newClient(t, Options{Client: &http.Client{Transport: record(t, &requests, ok)}, UserAgent: "pleat/1.2"})
	answer, err := c.Summarize(t.Context(), question(t, "https://api.example/v1/chat/completions?api-version=1&x=a%2Fb"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (compaction.Answer{Text: "A summary.", Finish: "stop", Prompt: 120, Completion: 7}); answer != want {
		t.Errorf("answer %+v, want %+v", answer, want)
	}
	r := requests[0]
	if keys := slices.Sorted(maps.Keys(r.body)); !slices.Equal(keys, []string{"max_completion_tokens", "messages", "model"}) {
		t.Errorf("body has %q", keys)
	}
	if r.body["max_completion_tokens"] != float64(100+ReasoningAllowance) {
		t.Errorf("limit %v", r.body["max_completion_tokens"])
	}
	messages, _ := json.Marshal(r.body["messages"])
	if want := `[{"content":"Write a summary.","role":"system"},{"content":"=====\n` + secret + `\n=====","role":"user"}]`; string(messages) != want {
		t.Errorf("messages %s, want %s", messages, want)
	}
	if got := r.URL.String(); got != "https://api.example/v1/chat/completions?api-version=1&x=a%2Fb" {
		t.Errorf("asked %s", got)
	}
	want := http.Header{
		"Authorization":       {"Bearer " + clientKey},
		"Openai-Organization": {"org-1"},
		"Openai-Project":      {"proj-1"},
		"Content-Type":        {"application/json"},
		"Accept":              {"application/json"},
		"Accept-Encoding":     {"gzip"},
		"User-Agent":          {"pleat/1.2"},
	}
	if !maps.EqualFunc(r.Header, want, slices.Equal) {
		t.Errorf("header %v, want %v", r.Header, want)
	}
}

func TestWhereAndAsWhom(t *testing.T) {
	const azure = "https://unit.openai.azure.com/openai/deployments/prod/chat/completions?api-version=2024-10-21"
	tests := []struct {
		name                    string
		base, key, caller       string
		model, url, bearer, api string
	}{
		{"the client's", "", "", "https://api.example/v1/chat/completions", "m", "https://api.example/v1/chat/completions", clientKey, ""},
		{"own key, the client's upstream", "", ownKey, "https://api.example/v1/chat/completions", "m", "https://api.example/v1/chat/completions", ownKey, ""},
		{"own upstream", "https://llm.example/v1", ownKey, "https://api.example/v1/chat/completions", "m", "https://llm.example/v1/chat/completions", ownKey, ""},
		{"own upstream with slash and query", "https://llm.example/v1/?v=2", ownKey, "https://api.example/x", "m", "https://llm.example/v1/chat/completions?v=2", ownKey, ""},
		{"deployment replaced", "", "", azure, "small", "https://unit.openai.azure.com/openai/deployments/small/chat/completions?api-version=2024-10-21", clientKey, ""},
		{"deployment escaped", "", "", azure, "a/b c", "https://unit.openai.azure.com/openai/deployments/a%2Fb%20c/chat/completions?api-version=2024-10-21", clientKey, ""},
		{"no model, deployment kept", "", "", azure, "", azure, clientKey, ""},
		{"own key at Azure", "https://unit.openai.azure.com/openai/v1", ownKey, azure, "small", "https://unit.openai.azure.com/openai/v1/chat/completions", "", ownKey},
		{"escapes kept", "", "", "https://api.example/a%2Fb/chat/completions", "m", "https://api.example/a%2Fb/chat/completions", clientKey, ""},
		{"deployments elsewhere in a path", "", "", "https://api.example/deployments/x/v1/chat/completions", "m", "https://api.example/deployments/x/v1/chat/completions", clientKey, ""},
		{"a look-alike host is no Azure", "https://azure.com.example/v1", ownKey, azure, "m", "https://azure.com.example/v1/chat/completions", ownKey, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests []sent
			opt := Options{APIKey: tt.key, Client: &http.Client{Transport: record(t, &requests, ok)}}
			if tt.base != "" {
				opt.BaseURL = parse(t, tt.base)
			}
			q := question(t, tt.caller)
			q.Model = tt.model
			caller := q.Caller.URL.String()
			if _, err := newClient(t, opt).Summarize(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			r := requests[0]
			if got := r.URL.String(); got != tt.url {
				t.Errorf("asked %s, want %s", got, tt.url)
			}
			bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if bearer != tt.bearer || r.Header.Get("Api-Key") != tt.api {
				t.Errorf("Authorization %q, Api-Key %q; want %q, %q", bearer, r.Header.Get("Api-Key"), tt.bearer, tt.api)
			}
			if tt.key != "" && (r.Header.Get("Openai-Organization") != "" || r.Header.Get("Openai-Project") != "") {
				t.Error("the client's organization is sent with a key of Pleat's")
			}
			if q.Caller.URL.String() != caller || q.Caller.Header.Get("Content-Type") != "" {
				t.Error("the question was changed")
			}
		})
	}
}

func TestNowhereToAsk(t *testing.T) {
	_, err := newClient(t, Options{}).Summarize(t.Context(), compaction.Question{Model: "m"})
	if _, is := errors.AsType[*compaction.AskError](err); !is {
		t.Errorf("error %v is no AskError", err)
	}
}

func TestLimitFieldIsSwappedOnce(t *testing.T) {
	refuse := func(status int) func() *http.Response {
		return func() *http.Response {
			return respond(status, `{"error":{"code":"unsupported_parameter","message":"use the other"}}`)
		}
	}
	tests := []struct {
		name    string
		field   string
		limit   int
		answers []func() *http.Response
		want    []string // limit fields sent
		status  int      // 0: answered
	}{
		{"taken at once", "", 100, []func() *http.Response{ok}, []string{"max_completion_tokens"}, 0},
		{"as the client named it", "max_tokens", 100, []func() *http.Response{ok}, []string{"max_tokens"}, 0},
		{"newer refused", "", 100, []func() *http.Response{refuse(400), ok}, []string{"max_completion_tokens", "max_tokens"}, 0},
		{"older refused", "max_tokens", 100, []func() *http.Response{refuse(400), ok}, []string{"max_tokens", "max_completion_tokens"}, 0},
		{"refused as unprocessable", "", 100, []func() *http.Response{refuse(422), ok}, []string{"max_completion_tokens", "max_tokens"}, 0},
		{"both refused", "", 100, []func() *http.Response{refuse(400)}, []string{"max_completion_tokens", "max_tokens"}, 400},
		{"refused for another reason", "", 100, []func() *http.Response{refuse(401)}, []string{"max_completion_tokens"}, 401},
		{"no limit, nothing to swap", "", 0, []func() *http.Response{refuse(400)}, []string{""}, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests []sent
			c := newClient(t, Options{Client: &http.Client{Transport: record(t, &requests, tt.answers...)}})
			q := question(t, "https://api.example/v1/chat/completions")
			q.LimitField, q.MaxTokens = tt.field, tt.limit
			_, err := c.Summarize(t.Context(), q)
			if asked, _ := errors.AsType[*compaction.AskError](err); (tt.status == 0) != (err == nil) || err != nil && asked.Status != tt.status {
				t.Errorf("error %v, want status %d", err, tt.status)
			}
			var got []string
			for _, r := range requests {
				field := ""
				for _, f := range []string{"max_tokens", "max_completion_tokens"} {
					if _, there := r.body[f]; there {
						field += f
					}
				}
				got = append(got, field)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("sent %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLimitFieldIsLearned(t *testing.T) {
	var requests []sent
	c := newClient(t, Options{Client: &http.Client{Transport: record(t, &requests,
		func() *http.Response { return respond(400, `{}`) }, ok)}})
	q := question(t, "https://api.example/v1/chat/completions")
	for range 3 {
		if _, err := c.Summarize(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if len(requests) != 4 {
		t.Errorf("%d requests for 3 questions, want 4: the swap is remembered", len(requests))
	}
	q.Model = "another"
	if _, err := c.Summarize(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if _, there := requests[4].body["max_completion_tokens"]; !there {
		t.Error("what one model takes was assumed of another")
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
