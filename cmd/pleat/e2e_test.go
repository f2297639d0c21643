package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	oaioption "github.com/openai/openai-go/v3/option"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/proxy/scripted"
)

// chatter is a person with OpenAI's own client: it resends the whole history
// with every turn and knows nothing of Pleat but its base URL.
type chatter struct {
	t       *testing.T
	client  openai.Client
	history []openai.ChatCompletionMessageParamUnion
	sent    []string // texts of all messages so far, the system message first
	header  http.Header
}

func newChatter(t *testing.T, base, system string) *chatter {
	t.Helper()
	c := &chatter{t: t, client: openai.NewClient(
		oaioption.WithBaseURL(base), oaioption.WithAPIKey("sk-test"), oaioption.WithMaxRetries(0),
	)}
	c.add(openai.SystemMessage(system), system)
	return c
}

func (c *chatter) add(m openai.ChatCompletionMessageParamUnion, text string) {
	c.history, c.sent = append(c.history, m), append(c.sent, text)
}

// say sends a user message, every second time as a stream, and takes the answer
// into the history.
func (c *chatter) say(text string) {
	c.t.Helper()
	c.add(openai.UserMessage(text), text)
	params := openai.ChatCompletionNewParams{Model: "gpt-4o", Messages: c.history}
	var answer string
	var res *http.Response
	if len(c.history)%4 == 0 {
		stream := c.client.Chat.Completions.NewStreaming(c.t.Context(), params, oaioption.WithResponseInto(&res))
		for stream.Next() {
			for _, choice := range stream.Current().Choices {
				answer += choice.Delta.Content
			}
		}
		if err := stream.Err(); err != nil {
			c.t.Fatalf("turn %d: %v", len(c.history)/2, err)
		}
	} else {
		reply, err := c.client.Chat.Completions.New(c.t.Context(), params, oaioption.WithResponseInto(&res))
		if err != nil {
			c.t.Fatalf("turn %d: %v", len(c.history)/2, err)
		}
		answer = reply.Choices[0].Message.Content
	}
	c.header = res.Header
	c.add(openai.AssistantMessage(answer), answer)
}

// words is text of size bytes that begins with start.
func words(start string, size int) string {
	list := strings.Fields("of all the boxes that came ashore some went to the old mill others to a barn near the ford where we count and sort them by colour weight and owner before the first snow")
	var b strings.Builder
	b.WriteString(start)
	for i := len(start); b.Len() < size; i++ {
		b.WriteString(" " + list[i*5%len(list)])
	}
	return b.String()[:size]
}

var countTokens = sync.OnceValues(func() (*tokens.Counter, error) { return tokens.New(nil) })

// scriptedUpstream answers at length, counts with a real tokenizer, and gives
// each answer its number.
func scriptedUpstream(t *testing.T, o scripted.Options) (*scripted.Upstream, string) {
	t.Helper()
	counter, err := countTokens()
	if err != nil {
		t.Fatal(err)
	}
	o.Count = counter.For("gpt-4o").Count
	if o.Reply == nil {
		o.Reply = func(r *scripted.Request) scripted.Reply {
			return scripted.Reply{Text: words(fmt.Sprintf("Answer %d of mine:", len(r.Messages)), 400)}
		}
	}
	u := scripted.New(o)
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return u, server.URL + "/v1"
}

// settle waits until Pleat has no work in the background.
func (r *running) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.compactor.Settle(ctx); err != nil {
		t.Fatal(err)
	}
}

// The main job, end to end: a long chat by OpenAI's client through Pleat as it
// is served, and what the provider receives of it.
func TestLongChatEndToEnd(t *testing.T) {
	upstream, base := scriptedUpstream(t, scripted.Options{SummaryTokens: 60})
	pleat := startPleat(t, base, "--trigger=1024")
	const system = "You are a storekeeper. Answer briefly."
	chat := newChatter(t, pleat.url("/v1"), system)
	for turn := range 60 {
		chat.say(words(fmt.Sprintf("Question %d of mine:", turn), 400))
		pleat.settle(t)
	}

	for _, v := range upstream.Violations() {
		t.Errorf("the provider was sent a request that it refuses: %v", v)
	}
	conversations, summaries := upstream.Conversations(), upstream.Summaries()
	if len(conversations) != 60 {
		t.Fatalf("%d requests arrived for 60 turns", len(conversations))
	}
	read := ""
	for _, s := range summaries {
		read += s.Messages[len(s.Messages)-1].Text
	}
	var folded, changes int
	var before []scripted.Message
	for turn, r := range conversations {
		if strings.Contains(r.Messages[1].Text, "I spoke to you previously about a number of things.") {
			folded++
		}
		checkOutgoing(t, turn, r, chat.sent[:2*turn+2], read)
		if !begins(r.Messages, before) {
			changes++
		}
		before = r.Messages
	}
	merges := 0
	for _, s := range summaries {
		if strings.Contains(s.Messages[0].Text, "several notes") {
			merges++
		}
	}
	counter, _ := countTokens()
	history := 0
	for _, text := range chat.sent[1:] {
		history += counter.For("gpt-4o").Count(text)
	}
	limit := 1.5 * float64(history) / (1024 / 2)
	t.Logf("%d of 60 requests folded; %d summaries (at most %.1f) and %d merges; the prefix changed %d times",
		folded, len(summaries)-merges, limit, merges, changes)
	if folded < 40 {
		t.Errorf("%d requests carry a fold, want at least 40", folded)
	}
	if float64(len(summaries)-merges) > limit {
		t.Errorf("%d summaries, want at most %.1f", len(summaries)-merges, limit)
	}
	if changes > len(summaries) {
		t.Errorf("the prefix changed %d times for %d summaries", changes, len(summaries))
	}
}

// checkOutgoing checks one request that arrived against what the client had
// said by then. read is all that summarizers were given.
func checkOutgoing(t *testing.T, turn int, r *scripted.Request, said []string, read string) {
	t.Helper()
	first, last := r.Messages[0], r.Messages[len(r.Messages)-1]
	if first.Role != "system" || first.Text != said[0] {
		t.Fatalf("turn %d does not begin with the system message", turn)
	}
	if last.Role != "user" || last.Text != said[len(said)-1] {
		t.Fatalf("turn %d does not end with the newest message", turn)
	}
	there := map[string]bool{}
	for i, m := range r.Messages[1:] {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			t.Fatalf("turn %d: message %d is the %s's, want the %s's", turn, i+1, m.Role, want)
		}
		there[m.Text] = true
	}
	for i, text := range said[1:] {
		if !there[text] && !strings.Contains(read, text) {
			t.Fatalf("turn %d: message %d is neither sent nor was it summarized", turn, i+1)
		}
	}
}

func begins(list, with []scripted.Message) bool {
	if len(list) < len(with) {
		return false
	}
	for i := range with {
		if !bytes.Equal(list[i].Raw, with[i].Raw) {
			return false
		}
	}
	return true
}

// A summarizer that does not answer for as long as the chat lasts holds up no
// turn, and is asked once.
func TestChatDoesNotWait(t *testing.T) {
	gate := make(chan struct{})
	upstream, base := scriptedUpstream(t, scripted.Options{
		Summary: func(*scripted.Request) scripted.Reply { return scripted.Reply{Text: "Boxes were sorted.", Wait: gate} },
	})
	pleat := startPleat(t, base, "--trigger=1024")
	chat := newChatter(t, pleat.url("/v1"), "You are a storekeeper.")
	for turn := range 40 {
		chat.say(words(fmt.Sprintf("Question %d of mine:", turn), 400)) // would hang if it waited for the gate
	}
	if n := len(upstream.Summaries()); n != 1 {
		t.Errorf("%d summaries asked for at a time, want 1", n)
	}
	if got := chat.header.Get("X-Pleat-Status"); got != "pending" {
		t.Errorf("status %q while no fold is there", got)
	}
	close(gate)
	pleat.settle(t)
	chat.say("And now?")
	if got := chat.header.Get("X-Pleat-Status"); got != "folded" {
		t.Errorf("status %q once it was", got)
	}
}

// Whatever the summarizer answers, the client's requests go out whole.
func TestChatWithBrokenSummarizer(t *testing.T) {
	long := words("Much longer than all that was said before:", 60_000)
	for name, reply := range map[string]scripted.Reply{
		"500":                   {Status: 500, Text: "scripted"},
		"401":                   {Status: 401, Text: "scripted"},
		"429":                   {Status: 429, Text: "scripted"},
		"blank":                 {Text: "  \n"},
		"cut off":               {Text: "The user wants", Finish: "length"},
		"longer than its input": {Text: long},
		"calls only":            {ToolCalls: []scripted.ToolCall{{ID: "c1", Name: "f", Arguments: "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			upstream, base := scriptedUpstream(t, scripted.Options{
				Summary: func(*scripted.Request) scripted.Reply { return reply },
			})
			pleat := startPleat(t, base, "--trigger=1024")
			chat := newChatter(t, pleat.url("/v1"), "You are a storekeeper.")
			for turn := range 30 {
				chat.say(words(fmt.Sprintf("Question %d of mine:", turn), 400))
				pleat.settle(t)
			}
			for turn, r := range upstream.Conversations() {
				if len(r.Messages) != 2*turn+2 {
					t.Fatalf("turn %d: %d messages arrived of %d", turn, len(r.Messages), 2*turn+2)
				}
			}
			// The chat takes less than the first rest of 30 s: one attempt, or
			// two where the other limit field is tried.
			if n := len(upstream.Summaries()); n < 1 || n > 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// What a client sees of a plan, and that nothing of Pleat's own goes upstream.
func TestHeadersEndToEnd(t *testing.T) {
	upstream, base := scriptedUpstream(t, scripted.Options{})
	pleat := startPleat(t, base)
	body := `{"model":"gpt-4o", "messages":[ {"role":"user","content":"h\u00e9llo","x":1e999} ],"pleat":{"session":"mine"},"seed":7}`
	req := newRequest(t, http.MethodPost, pleat.url("/v1/chat/completions"), strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer sk-test")
	req.Header.Set("X-Pleat-Foo", "bar")
	res := pleat.do(t, req)
	var answer struct {
		Usage json.RawMessage `json:"usage"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || len(answer.Usage) == 0 {
		t.Errorf("answer: %v, usage %s", err, answer.Usage)
	}
	for name, want := range map[string]string{
		"X-Pleat-Session": "mine", "X-Pleat-Status": "verbatim", "X-Pleat-Folded-Messages": "0",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"X-Pleat-Tokens-Received", "X-Pleat-Tokens-Sent", "Server-Timing"} {
		if res.Header.Get(name) == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if got := res.Header.Get("X-Pleat-Tokens-Estimated"); got != "" {
		t.Errorf("the counts of gpt-4o are said to be estimates: %q", got)
	}
	got := upstream.Requests()[0]
	want := `{"model":"gpt-4o", "messages":[ {"role":"user","content":"h\u00e9llo","x":1e999} ],"seed":7}`
	if string(got.Body) != want {
		t.Errorf("upstream received %s", got.Body)
	}
	for name := range got.Header {
		if strings.HasPrefix(name, "X-Pleat") || strings.HasPrefix(name, "X-Forwarded") {
			t.Errorf("upstream received header %s", name)
		}
	}
}

// Counts for a model whose tokenizer is not at hand say so.
func TestEstimatesAreTold(t *testing.T) {
	_, base := scriptedUpstream(t, scripted.Options{})
	pleat := startPleat(t, base)
	res := pleat.postChat(t, `{"model":"llama-3.1-8b","messages":[{"role":"user","content":"hello there"}]}`)
	if got := res.Header.Get("X-Pleat-Tokens-Estimated"); got != "true" {
		t.Errorf("X-Pleat-Tokens-Estimated: %q", got)
	}
}
