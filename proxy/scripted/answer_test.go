package scripted

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// client returns the official client, before the upstream.
func client(t *testing.T, u *Upstream) openai.Client {
	t.Helper()
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return openai.NewClient(option.WithBaseURL(server.URL+"/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()))
}

func params() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "m",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Where is it?")},
	}
}

var replies = map[string]Reply{
	"text":      {Text: "Here, <b>at</b> last.\n  Look."},
	"calls":     {ToolCalls: []ToolCall{{ID: "a", Name: "find", Arguments: `{"what": "it"}`}, {ID: "b", Name: "list", Arguments: `{}`}}},
	"both":      {Text: "I will look.", ToolCalls: []ToolCall{{ID: "a", Name: "find", Arguments: `{}`}}},
	"refusal":   {Refusal: "I will not."},
	"cut off":   {Text: "It is in", Finish: "length"},
	"empty":     {},
	"own usage": {Text: "x", Usage: &Usage{Prompt: 70, Completion: 7, Cached: 9}},
}

func TestAnswersForTheOfficialClient(t *testing.T) {
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			u := New(Options{Reply: func(*Request) Reply { return reply }})
			c := client(t, u)
			whole, err := c.Chat.Completions.New(t.Context(), params())
			if err != nil {
				t.Fatal(err)
			}
			expectReply(t, u, reply, whole)

			p := params()
			p.StreamOptions.IncludeUsage = openai.Bool(true)
			stream := c.Chat.Completions.NewStreaming(t.Context(), p)
			var sum openai.ChatCompletionAccumulator
			for stream.Next() {
				if !sum.AddChunk(stream.Current()) {
					t.Fatal("the client could not add an event to those before")
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			expectReply(t, u, reply, &sum.ChatCompletion)
		})
	}
}

// expectReply checks what the client understood against what was scripted.
func expectReply(t *testing.T, u *Upstream, want Reply, got *openai.ChatCompletion) {
	t.Helper()
	if len(got.Choices) != 1 {
		t.Fatalf("%d choices", len(got.Choices))
	}
	m, finish := got.Choices[0].Message, got.Choices[0].FinishReason
	if m.Content != want.Text || m.Refusal != want.Refusal || finish != want.finish() || got.Model != "m" {
		t.Errorf("got %q, refusal %q, finish %q, model %q; want %+v", m.Content, m.Refusal, finish, got.Model, want)
	}
	if len(m.ToolCalls) != len(want.ToolCalls) {
		t.Fatalf("%d calls, want %d", len(m.ToolCalls), len(want.ToolCalls))
	}
	for i, c := range m.ToolCalls {
		if call := (ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}); call != want.ToolCalls[i] {
			t.Errorf("call %d: %+v, want %+v", i, call, want.ToolCalls[i])
		}
	}
	requests := u.Requests()
	usage := requests[len(requests)-1].Usage
	read := Usage{
		Prompt: int(got.Usage.PromptTokens), Completion: int(got.Usage.CompletionTokens),
		Cached: int(got.Usage.PromptTokensDetails.CachedTokens),
	}
	if read != usage || int(got.Usage.TotalTokens) != usage.Prompt+usage.Completion {
		t.Errorf("client read usage %s, the upstream noted %+v", got.Usage.RawJSON(), usage)
	}
	if want.Usage != nil && usage != *want.Usage {
		t.Errorf("usage %+v, want %+v", usage, *want.Usage)
	}
}

func TestErrorsForTheOfficialClient(t *testing.T) {
	for _, status := range []int{401, 429, 500} {
		header := http.Header{"Retry-After": {"7"}}
		u := New(Options{Reply: func(*Request) Reply { return Reply{Status: status, Text: "not now", Header: header} }})
		c := client(t, u)
		_, err := c.Chat.Completions.New(t.Context(), params())
		refused, ok := errors.AsType[*openai.Error](err)
		if !ok || refused.StatusCode != status || refused.Message != "not now" || refused.Response.Header.Get("Retry-After") != "7" {
			t.Errorf("status %d: got %v", status, err)
		}
		if n := u.Totals(); n.Conversation != (Usage{}) || n.Answered != 1 {
			t.Errorf("status %d: totals %+v", status, n)
		}
	}
}

func TestStreamBytes(t *testing.T) {
	const head = `{"id":"chatcmpl-scripted000001","object":"chat.completion.chunk","created":1700000001,"model":"m","choices":[`
	const foot = `"service_tier":"default","system_fingerprint":"fp_scripted"}` + "\n\n"
	event := func(choice, usage string) string { return "data: " + head + choice + "]," + usage + foot }
	delta := func(d, finish, usage string) string {
		return event(`{"index":0,"delta":`+d+`,"logprobs":null,"finish_reason":`+finish+`}`, usage)
	}
	events := func(usage string) string {
		return delta(`{"role":"assistant","content":""}`, "null", usage) + delta(`{"content":"So "}`, "null", usage) +
			delta(`{"content":"be "}`, "null", usage) +
			delta(`{"content":"it"}`, "null", usage) + delta(`{}`, `"stop"`, usage)
	}
	u := func() *Upstream {
		return New(Options{Count: byWords, Reply: func(*Request) Reply { return Reply{Text: "So be it"} }})
	}
	_, got := post(t, u(), strings.Replace(chatBody(user), `{`, `{"stream":true,`, 1))
	if want := events("") + "data: [DONE]\n\n"; got != want {
		t.Errorf("without usage:\n%s\nwant\n%s", got, want)
	}
	_, got = post(t, u(), strings.Replace(chatBody(user), `{`, `{"stream":true,"stream_options":{"include_usage":true},`, 1))
	want := events(`"usage":null,`) +
		event("", `"usage":{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}},`) +
		"data: [DONE]\n\n"
	if got != want {
		t.Errorf("with usage:\n%s\nwant\n%s", got, want)
	}
}
