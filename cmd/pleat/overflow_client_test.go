package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/pleat-proxy/pleat/proxy/scripted"
)

// streamRefusal is an upstream that refuses long chats once their stream has
// begun, as vLLM, SGLang and OpenRouter do, behind a comment and an opening.
func streamRefusal(t *testing.T, u *scripted.Upstream) (base string, refused *int) {
	t.Helper()
	refused = new(int)
	counter, err := countTokens()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if len(body) < 20_000 || !bytes.Contains(body, []byte(`"stream":true`)) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			u.ServeHTTP(w, r)
			return
		}
		*refused++
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		for _, event := range []string{
			": waiting",
			`data: {"id":"chatcmpl-first","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			fmt.Sprintf(`data: {"error":{"object":"error","message":"The input (%d tokens) is longer than the model's context length (%d tokens).","type":"BadRequestError","param":null,"code":400}}`,
				counter.For("gpt-4o").CountBytes(body), tightWindow),
			"data: [DONE]",
		} {
			fmt.Fprintf(w, "%s\n\n", event)
			_ = flush()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", refused
}

// OpenAI's client raises the error that it knows from a report, and reads a
// stream in which a refusal was recovered from as one reply.
func TestClientMeetsOverflow(t *testing.T) {
	u, _ := scriptedUpstream(t, scripted.Options{Window: tightWindow})
	base, refused := streamRefusal(t, u)
	pleat := startPleat(t, base)
	chat := newChatter(t, pleat.url("/v1"), "You are a storekeeper.")
	for i := range 20 {
		question, answer := words(fmt.Sprintf("Question %d of mine:", i), 800), words(fmt.Sprintf("Answer %d of mine:", i), 800)
		chat.add(openai.UserMessage(question), question)
		chat.add(openai.AssistantMessage(answer), answer)
	}
	chat.add(openai.UserMessage("And now?"), "And now?")
	params := openai.ChatCompletionNewParams{
		Model: "unheard-of", Messages: chat.history,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	stream := chat.client.Chat.Completions.NewStreaming(t.Context(), params)
	var reply openai.ChatCompletionAccumulator
	for stream.Next() {
		if !reply.AddChunk(stream.Current()) {
			t.Fatalf("the client takes %s for a part of another reply", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if *refused != 1 || reply.ID != "chatcmpl-first" || len(reply.Choices) != 1 {
		t.Fatalf("%d refusals, %+v", *refused, reply)
	}
	sent := u.Conversations()
	if got := reply.Choices[0].Message.Content; !strings.HasPrefix(got, "Answer") || len(got) != 400 || reply.Choices[0].FinishReason != "stop" {
		t.Errorf("reply %q", got)
	}
	if n := sent[len(sent)-1].Tokens; reply.Usage.PromptTokens != int64(n) || n > tightWindow {
		t.Errorf("usage %+v of %d tokens", reply.Usage, n)
	}

	huge := words("Once upon a time:", 40_000)
	params.Messages = slices.Clone(chat.history)
	params.Messages[len(params.Messages)-1] = openai.UserMessage(huge)
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	_, err := chat.client.Chat.Completions.New(t.Context(), params)
	var raised *openai.Error
	if !errors.As(err, &raised) || raised.StatusCode != http.StatusBadRequest ||
		raised.Code != "context_length_exceeded" || raised.Type != "invalid_request_error" || !strings.Contains(raised.Message, "Shorten message 41 (user)") {
		t.Errorf("%v: %s", err, raised.RawJSON())
	}
	stream = chat.client.Chat.Completions.NewStreaming(t.Context(), params)
	for stream.Next() {
		continue
	}
	if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "context_length_exceeded") {
		t.Errorf("in a stream: %v", err)
	}
}
