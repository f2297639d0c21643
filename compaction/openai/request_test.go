package openai

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction"
)

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
	members := slices.Sorted(maps.Keys(r.body))
	if !slices.Equal(members, []string{"max_completion_tokens", "messages", "model"}) {
		t.Errorf("body has %q", members)
	}
	if r.body["max_completion_tokens"] != float64(100+50) {
		t.Errorf("limit %v", r.body["max_completion_tokens"])
	}
	messages, err := json.Marshal(r.body["messages"])
	if err != nil {
		t.Fatal(err)
	}
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
	type answers []func() *http.Response
	const older, newer = "max_tokens", "max_completion_tokens"
	tests := []struct {
		name    string
		field   string
		limit   int
		answers answers
		want    []string // limit fields sent
		status  int      // 0: answered
	}{
		{"taken at once", "", 100, answers{ok}, []string{newer}, 0},
		{"as the client named it", older, 100, answers{ok}, []string{older}, 0},
		{"newer refused", "", 100, answers{refuse(400), ok}, []string{newer, older}, 0},
		{"older refused", older, 100, answers{refuse(400), ok}, []string{older, newer}, 0},
		{"refused as unprocessable", "", 100, answers{refuse(422), ok}, []string{newer, older}, 0},
		{"both refused", "", 100, answers{refuse(400)}, []string{newer, older}, 400},
		{"refused for another reason", "", 100, answers{refuse(401)}, []string{newer}, 401},
		{"no limit, nothing to swap", "", 0, answers{refuse(400)}, []string{""}, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests []sent
			c := newClient(t, Options{Client: &http.Client{Transport: record(t, &requests, tt.answers...)}})
			q := question(t, "https://api.example/v1/chat/completions")
			q.LimitField, q.MaxTokens = tt.field, tt.limit
			_, err := c.Summarize(t.Context(), q)
			status := 0
			if asked, failed := errors.AsType[*compaction.AskError](err); failed {
				status = asked.Status
			}
			if status != tt.status {
				t.Errorf("error %v, want status %d", err, tt.status)
			}
			var got []string
			for _, r := range requests {
				field := ""
				for _, f := range []string{older, newer} {
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

// The conversation's own model is asked where the client asked it: a
// deployment need not be called after the model that it holds.
func TestOwnModelKeepsItsDeployment(t *testing.T) {
	const azure = "https://unit.openai.azure.com/openai/deployments/prod/chat/completions?api-version=2024-10-21"
	var requests []sent
	client, err := New(Options{Client: &http.Client{Transport: record(t, &requests, ok)}})
	if err != nil {
		t.Fatal(err)
	}
	q := question(t, azure)
	q.Model, q.Same = "gpt-4o", true
	if _, err := client.Summarize(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := requests[0].URL.String(); got != azure {
		t.Errorf("asked at %s, want %s", got, azure)
	}
}
