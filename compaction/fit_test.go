package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// plain is an answer that refuses a request as OpenAI does.
func refusal(limit, input int) []byte {
	return fmt.Appendf(nil, `{"error":{"message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, limit, input)
}

// With a known window no request is sent that exceeds it, if a fold can help:
// plain turns, steps of an agent, and the same with long results.
func TestGuardKeepsRequestsInTheWindow(t *testing.T) {
	for name, tc := range map[string]struct {
		grow func(n int) []object
	}{
		"turns": {func(n int) []object {
			list := []object{{"role": "system", "content": "s"}}
			for i := range n {
				list = append(list, user(prose(fmt.Sprint("q", i, " "), 1200)))
				if i < n-1 {
					list = append(list, assistant(prose(fmt.Sprint("a", i, " "), 1200)))
				}
			}
			return list
		}},
		"steps": {agentRun},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{}
			cl := newClient(t, w, func(o *Options) {
				o.Windows, _ = window.New([]window.Rule{{Glob: "gpt-4o", Total: 4096}})
				o.Trigger = Trigger{}
			})
			prevented := 0
			for n := 1; n <= 40; n++ {
				p, out := cl.plan(tc.grow(n)) // does not settle: the guard waits by itself where it must
				if p.TokensSent > 4096-512 {
					t.Fatalf("request %d: %d tokens are sent, attempts %v", n, p.TokensSent, p.Attempts)
				}
				if f := fault(peeks(t, out)); f != "" {
					t.Fatalf("request %d: %s", n, f)
				}
				if p.Prevented {
					prevented++
				}
			}
			t.Logf("%d of 40 requests would have exceeded the window; %d questions", prevented, len(w.questions()))
		})
	}
}

// The same request, planned again after the guard acted, is treated alike and
// waits for nothing.
func TestGuardIsStable(t *testing.T) {
	w := &writer{}
	cl := newClient(t, w, func(o *Options) {
		o.Windows, _ = window.New([]window.Rule{{Glob: "gpt-4o", Total: 4096}})
	})
	list := append(talk("long", 30), msg{"user", "go on"})
	for asked := -1; asked < len(w.questions()); {
		asked = len(w.questions())
		cl.turn(list)
	}
	a, _ := cl.turn(list)
	asked := len(w.questions())
	b, _ := cl.turn(list)
	if !bytes.Equal(a.Body, b.Body) || len(w.questions()) != asked {
		t.Errorf("equal bytes: %t; %d further questions", bytes.Equal(a.Body, b.Body), len(w.questions())-asked)
	}
}

// Where folding cannot help, nobody waits, and the request goes out whole.
func TestGuardKnowsWhenToGiveUp(t *testing.T) {
	w := &writer{}
	cl := newClient(t, w, func(o *Options) {
		o.Windows, _ = window.New([]window.Rule{{Glob: "gpt-4o", Total: 4096}})
	})
	p, _ := cl.plan([]msg{{"system", "s"}, {"user", "hi"}, {"assistant", "hello"}, {"user", prose("", 40_000)}})
	if len(w.questions()) != 0 || !bytes.Equal(p.Body, cl.body) {
		t.Errorf("%d questions; attempts %v", len(w.questions()), p.Attempts)
	}
}

// A refusal teaches the limit; the request is made to fit it and sent again.
func TestRecoverFromRefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		refusal []byte
		last    string
		want    bool
	}{
		"with numbers":    {refusal(3000, 4100), "go on", true},
		"without numbers": {[]byte(`{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`), "go on", true},
		"one large text":  {refusal(3000, 9100), prose("", 30_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newClient(t, &writer{}, func(o *Options) { o.Trigger = Trigger{tokens: 100_000} })
			cl.model = "local"
			list := append(talk("refused", 20), msg{"user", tc.last})
			body := []byte(`{"model":"local","messages":` + mustJSON(t, list) + `}`)
			p, err := cl.c.Plan(t.Context(), Request{Tenant: "t", Body: body, Caller: Caller{}})
			if err != nil {
				t.Fatal(err)
			}
			o, ok := cl.c.Overflowed(400, "application/json", tc.refusal)
			if !ok {
				t.Fatal("not recognised")
			}
			if got := cl.c.Recover(t.Context(), p, o); got != tc.want {
				t.Fatalf("recovered: %t, attempts %v", got, p.Attempts)
			}
			if !tc.want {
				d := cl.c.Diagnose(p, o, 400)
				if d.Kind != "input" || d.Window.Input != 3000 || d.Tokens.Input != 9100 || len(d.Suggestions) == 0 {
					t.Errorf("diagnosis %+v", d)
				}
				if m := d.Message(); !strings.Contains(m, "Input tokens: 9,100 of 3,000 (exceeded)") {
					t.Errorf("message %q", m)
				}
				return
			}
			if p.Status != Recovered || p.TokensSent >= p.TokensReceived || !json.Valid(p.Body) {
				t.Errorf("status %s, %d of %d tokens", p.Status, p.TokensSent, p.TokensReceived)
			}
			if strings.Contains(string(tc.refusal), "3000") {
				if l := cl.c.opt.Windows.LookupFor("t", "local"); l.Input != 3000 {
					t.Errorf("learned %+v", l)
				}
				if l := cl.c.opt.Windows.LookupFor("another", "local"); l.Input == 3000 {
					t.Error("another tenant learned it too")
				}
			}
		})
	}
}

func TestDiagnosisOfTools(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	tools := `[` + strings.TrimSuffix(strings.Repeat(`{"type":"function","function":{"name":"f","description":"`+prose("", 400)+`","parameters":{"type":"object","properties":{}}}},`, 20), ",") + `]`
	body := []byte(`{"model":"gpt-4o","max_tokens":100,"tools":` + tools + `,"messages":[{"role":"user","content":"hi"}]}`)
	p, err := cl.c.Plan(t.Context(), Request{Tenant: "t", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	o, _ := cl.c.Overflowed(400, "application/json", refusal(1000, 2200))
	d := cl.c.Diagnose(p, o, 400)
	if d.Chunks["tools"] < 1500 || !strings.Contains(strings.Join(d.Suggestions, " "), "fewer tools") {
		t.Errorf("chunks %v, suggestions %q", d.Chunks, d.Suggestions)
	}
	if raw, err := json.Marshal(d); err != nil || !strings.Contains(string(raw), `"largest":[{"index":0`) {
		t.Errorf("%s, %v", raw, err)
	}
}
