package compaction

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// Whatever the bytes are, planning does not panic, what goes out of what is JSON
// is JSON, and it goes out again the same.
func FuzzPlan(f *testing.F) {
	counter, err := testCounter()
	if err != nil {
		f.Fatal(err)
	}
	windows, err := window.New(nil)
	if err != nil {
		f.Fatal(err)
	}
	long := strings.Repeat("we count boxes and ask for prices ", 40)
	user, answer := `{"role":"user","content":"`+long+`"}`, `{"role":"assistant","content":"`+long+`"}`
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	result := `{"role":"tool","tool_call_id":"x","content":"` + long + `"}`
	for _, list := range [][]string{
		{user}, {user, answer, user}, {user, answer, user, answer, user, answer, user},
		{`{"role":"system","content":"s"}`, user, call, result, call, result, call, result, call, result},
		{user, call, user, result, answer, `{"role":"developer","content":"d"}`, user, answer, user, answer, user},
		{user, `{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`, `{"role":"function","name":"f","content":"r"}`, answer, user},
		{answer, answer, user, user, answer, answer, user, answer, user},
	} {
		for policy := range byte(16) {
			f.Add([]byte(`{"model":"gpt-4o","messages":[`+strings.Join(list, ",")+`],"pleat":{"session":"s"}}`), policy)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, policy byte) {
		plans := Plans{
			Tokens: counter, Windows: windows, Trigger: Trigger{tokens: 64}, KeepFirst: int(policy >> 4 & 3),
			Scope:       []Scope{ScopeAuto, ScopeTurns, ScopeSteps, ScopeSteps}[policy&3],
			ToolResults: ToolResults{Shorten: policy&4 != 0, Keep: 1 + int(policy>>3&1)},
		}
		e, err := plans.Explain(body, "It was settled.")
		if err != nil {
			return
		}
		if !json.Valid(e.Body) {
			t.Fatalf("what goes out is no JSON: %q", e.Body)
		}
		again, err := plans.Explain(body, "It was settled.")
		if err != nil || !bytes.Equal(e.Body, again.Body) || e.Sent != again.Sent {
			t.Fatalf("the same request gave something else (%v)", err)
		}
		if e.Sent < 0 || len(e.Messages) == 0 {
			t.Fatalf("%d tokens are sent, %d messages explained", e.Sent, len(e.Messages))
		}
		r, err := scan(e.Body)
		if err != nil {
			t.Fatalf("what goes out is no chat request: %v", err)
		}
		if in, out := explained(e), len(r.messages); out < in {
			t.Fatalf("%d messages go out, %d were to be kept", out, in)
		}
	})
}

// explained is how many of the client's messages are said to go out.
func explained(e Explanation) int {
	n := 0
	for _, m := range e.Messages {
		if m.What != "folded" {
			n++
		}
	}
	return n
}
