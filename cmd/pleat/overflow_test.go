package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/proxy/scripted"
)

// tightWindow is what the upstreams of these tests take, in tokens. Pleat is
// not told.
const tightWindow = 4096

// turn is a message of a made-up client.
type turn map[string]any

// overflower is a client of an upstream with a tight window, and what it saw.
type overflower struct {
	upstream *scripted.Upstream
	pleat    *running
	messages []turn
	tools    json.RawMessage

	requests, recovered, refused int // by the client; seen by it; refusals of the upstream
}

func newOverflower(t *testing.T, args ...string) *overflower {
	t.Helper()
	u, base := scriptedUpstream(t, scripted.Options{
		Window: tightWindow, SummaryTokens: 120,
		Reply: func(r *scripted.Request) scripted.Reply {
			return scripted.Reply{Text: words(fmt.Sprintf("Answer %d of mine:", r.Number), 1000)}
		},
	})
	return &overflower{
		upstream: u, pleat: startPleat(t, base, args...),
		messages: []turn{{"role": "system", "content": "You are a storekeeper."}},
	}
}

func (c *overflower) add(m ...turn) { c.messages = append(c.messages, m...) }

// ask sends the conversation. At most one refusal and one retry may come of it.
func (c *overflower) ask(t *testing.T) (status int, body []byte) {
	t.Helper()
	request := map[string]any{"model": "unheard-of", "messages": c.messages, "stream": c.requests%2 == 1}
	if c.tools != nil {
		request["tools"] = c.tools
	}
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	before := len(c.upstream.Conversations())
	status, answer := c.post(t, text)
	c.requests++
	sent := c.upstream.Conversations()[before:]
	if len(sent) > 2 {
		t.Errorf("request %d was sent %d times", c.requests, len(sent))
	}
	for _, r := range sent {
		if r.Tokens > tightWindow {
			c.refused++
		}
	}
	return status, answer
}

func (c *overflower) post(t *testing.T, text []byte) (status int, answer []byte) {
	t.Helper()
	res := c.pleat.postChat(t, string(text))
	answer = []byte(readAll(t, res))
	if res.Header.Get("X-Pleat-Status") == "recovered" {
		c.recovered++
	}
	return res.StatusCode, answer
}

// must asks and fails the test where the answer is none.
func (c *overflower) must(t *testing.T) {
	t.Helper()
	status, body := c.ask(t)
	if status != http.StatusOK || strings.Contains(string(body), `"error"`) {
		sent := c.upstream.Conversations()
		t.Fatalf("request %d of %d messages: status %d, %s\nsent %d tokens at last", c.requests, len(c.messages), status, body, sent[len(sent)-1].Tokens)
	}
}

// tokens is what the client's conversation takes.
func (c *overflower) tokens(t *testing.T) (n int) {
	t.Helper()
	counter, err := countTokens()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.messages {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		n += counter.For("gpt-4o").CountBytes(text)
	}
	return n
}

func (c *overflower) tell(t *testing.T) {
	t.Helper()
	for _, v := range c.upstream.Violations() {
		t.Errorf("the provider was sent a request that it refuses: %v", v)
	}
	summaries, failed := c.upstream.Summaries(), 0
	for _, s := range summaries {
		if s.Tokens > tightWindow {
			failed++
		}
	}
	t.Logf("%d tokens in the end: %d requests answered, %d refused once, %d summaries, %d of them too long",
		c.tokens(t), c.requests, c.refused, len(summaries), failed)
}

// A person chats on: every turn gets an answer, whatever the window.
func TestPlainTurnsOutgrowAWindow(t *testing.T) {
	c := newOverflower(t)
	for i := 0; c.tokens(t) < 60_000; i++ {
		c.add(turn{"role": "user", "content": words(fmt.Sprintf("Question %d of mine:", i), 1000)})
		c.must(t)
		c.add(turn{"role": "assistant", "content": words(fmt.Sprintf("Answer %d of mine:", i), 1000)})
	}
	c.tell(t)
}

// An agent works on in one turn, with results of any size that can fit.
func TestAgentStepsOutgrowAWindow(t *testing.T) {
	for name, sizes := range map[string][]int{ // bytes, about five to a token
		"small results": {900}, "large results": {400, 4000, 11_000, 700, 9000},
	} {
		t.Run(name, func(t *testing.T) {
			c := newOverflower(t)
			c.tools = json.RawMessage(`[{"type":"function","function":{"name":"look","description":"Look at a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]`)
			c.add(turn{"role": "user", "content": "Find out what is wrong with the old mill's books, page by page, and mend it."})
			for i := 0; c.tokens(t) < 60_000; i++ {
				c.must(t)
				id := fmt.Sprintf("call_%d", i)
				c.add(
					turn{"role": "assistant", "content": nil, "tool_calls": []turn{{
						"id": id, "type": "function", "function": turn{"name": "look", "arguments": fmt.Sprintf(`{"path":"page-%d.txt"}`, i)},
					}}},
					turn{"role": "tool", "tool_call_id": id, "content": words(fmt.Sprintf("Page %d of the books:", i), sizes[i%len(sizes)])},
				)
			}
			c.must(t)
			c.tell(t)
		})
	}
}

// What alone is larger than the window is reported, with what it is that is.
func TestOneMessageLargerThanAWindow(t *testing.T) {
	huge := words("Once upon a time:", 40_000)
	for name, last := range map[string][]turn{
		"user": {{"role": "user", "content": huge}},
		"tool": {
			{"role": "user", "content": "Look."},
			{"role": "assistant", "content": nil, "tool_calls": []turn{{"id": "c", "type": "function", "function": turn{"name": "look", "arguments": "{}"}}}},
			{"role": "tool", "tool_call_id": "c", "content": huge},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newOverflower(t)
			for i := range 3 {
				c.add(turn{"role": "user", "content": fmt.Sprintf("Question %d?", i)}, turn{"role": "assistant", "content": "Yes."})
			}
			c.add(last...)
			for i := range 2 { // unknown window, then a learned one
				status, body := c.ask(t)
				if status != http.StatusBadRequest {
					t.Fatalf("status %d, %s", status, body)
				}
				var r overflowReport
				if err := json.Unmarshal(body, &r); err != nil {
					t.Fatal(err)
				}
				said := strings.Join(r.Error.Pleat.Suggestions, " ")
				if want := fmt.Sprintf("Shorten message %d (%s)", len(c.messages)-1, name); !strings.Contains(said, want) || !strings.Contains(r.Error.Message, want) {
					t.Errorf("request %d: %q\nsuggested %q, want %q", i, r.Error.Message, said, want)
				}
				if w := r.Error.Pleat.Window; w.Input != tightWindow {
					t.Errorf("window %+v", w)
				}
			}
			if _, metrics := c.pleat.get(t, c.pleat.adminURL("/metrics")); !strings.Contains(metrics, "pleat_learned_windows 1\n") {
				t.Error("one window was learned")
			}
			if n := len(c.upstream.Summaries()); n > 0 {
				t.Errorf("%d summaries were written in vain", n)
			}
		})
	}
}
