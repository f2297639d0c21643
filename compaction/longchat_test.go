package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The main job: a long plain chat, sent turn by turn.
func TestLongChat(t *testing.T) {
	w := &writer{}
	cl := newClient(t, w, func(o *Options) { o.Share = 0.5 })
	full := talk("trip", 60)

	var folded, changes, generations int
	var before []json.RawMessage
	missing := map[int]bool{} // messages that were left out of some request
	for turn := 1; turn <= 60; turn++ {
		list := full[:2*turn] // the system message, completed turns, a new user message
		p, out := cl.turn(list)
		if p.Status == Folded {
			folded++
			for i, m := range list {
				if !contains(t, out, m) {
					missing[i] = true
				}
			}
		}
		checkPlain(t, turn, list, out)
		if !extends(before, out) {
			changes++
		}
		before = out
		if _, err := cl.c.Plan(t.Context(), Request{Tenant: cl.tenant, Body: cl.body}); err != nil {
			t.Fatal(err)
		}
		for _, r := range cl.fold.roots {
			generations = max(generations, r.Level+1)
		}
	}

	questions := w.questions()
	summaries, asked := 0, ""
	for _, q := range questions {
		if !q.isMerge() {
			summaries++
		}
		asked += q.Transcript
	}
	for i := range missing {
		if !strings.Contains(asked, full[i].Content) {
			t.Errorf("message %d is not sent any more and no summarizer has read it", i)
		}
	}
	history := 0
	for _, m := range full[1:] {
		history += cl.c.count(cl.c.opt.Tokens.For("gpt-4o"), m.Content)
	}
	limit := float64(history) / (1024 / 2) * 1.5
	t.Logf("folded %d of 60, %d summaries (limit %.1f), %d merges, %d prefix changes, %d generations", folded, summaries, limit, len(questions)-summaries, changes, generations)
	if folded < 40 {
		t.Errorf("%d of 60 requests carry a fold, want at least 40", folded)
	}
	if float64(summaries) > limit {
		t.Errorf("%d summaries, want at most %.1f", summaries, limit)
	}
	if changes > summaries {
		t.Errorf("the prefix changed %d times for %d summaries", changes, summaries)
	}
	if generations > 4 {
		t.Errorf("a message passed %d summaries, want at most 4", generations)
	}
}

// checkPlain checks what goes out for a plain chat.
func checkPlain(t *testing.T, turn int, list []msg, out []json.RawMessage) {
	t.Helper()
	first, last := []byte(mustJSON(t, list[0])), []byte(mustJSON(t, list[len(list)-1]))
	if !bytes.Equal(out[0], first) {
		t.Fatalf("turn %d: begins with %s, not with the system message", turn, out[0])
	}
	if !bytes.Equal(out[len(out)-1], last) {
		t.Fatalf("turn %d: does not end with the client's newest message", turn)
	}
	for i, raw := range out[1:] {
		var m msg
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			t.Fatalf("turn %d: message %d is the %s's, want the %s's", turn, i+1, m.Role, want)
		}
		if m.Content == "" {
			t.Fatalf("turn %d: message %d is empty", turn, i+1)
		}
	}
}

func contains(t *testing.T, out []json.RawMessage, m msg) bool {
	t.Helper()
	raw := []byte(mustJSON(t, m))
	for _, o := range out {
		if bytes.Equal(o, raw) {
			return true
		}
	}
	return false
}

// extends says whether after is before plus new messages.
func extends(before, after []json.RawMessage) bool {
	if len(after) < len(before) {
		return false
	}
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			return false
		}
	}
	return true
}

// The same state and the same request give the same bytes.
func TestPlanIsDeterministic(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	full := talk("same", 12)
	for turn := 1; turn <= 12; turn++ {
		cl.turn(full[:2*turn])
	}
	a, _ := cl.plan(full[:24])
	b, _ := cl.plan(full[:24])
	if a.Status != Folded || !bytes.Equal(a.Body, b.Body) {
		t.Fatalf("status %s; equal bytes: %t", a.Status, bytes.Equal(a.Body, b.Body))
	}
	if fmt.Sprint(a.TokensSent) != fmt.Sprint(b.TokensSent) {
		t.Errorf("counts differ: %d, %d", a.TokensSent, b.TokensSent)
	}
}
