package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// built has the first n turns of a conversation folded and returns it with a
// new user message.
func built(t *testing.T, cl *client, list []msg) []msg {
	t.Helper()
	list = append(slices.Clip(list), msg{"user", "and now?"})
	cl.turn(list)
	p, _ := cl.turn(list)
	if p.Status != Folded {
		t.Fatalf("the conversation is not folded: %s", p.Status)
	}
	return list
}

func TestFoldBelongsToItsMessages(t *testing.T) {
	edit := func(list []msg, i int, text string) []msg {
		out := append([]msg{}, list...)
		out[i].Content = text
		return out
	}
	tests := map[string]struct {
		change func(cl *client, list []msg) any
		want   Status
	}{
		"the same":              {func(_ *client, l []msg) any { return l }, Folded},
		"another tenant":        {func(cl *client, l []msg) any { cl.tenant = "tenant-b"; return l }, Pending},
		"another session name":  {func(cl *client, l []msg) any { cl.session = "other"; return l }, Folded},
		"another model":         {func(cl *client, l []msg) any { cl.model = "gpt-4.1"; return l }, Folded},
		"edited first message":  {func(_ *client, l []msg) any { return edit(l, 1, "something else") }, Pending},
		"edited covered answer": {func(_ *client, l []msg) any { return edit(l, 4, "something else") }, Pending},
		"edited kept message":   {func(_ *client, l []msg) any { return edit(l, len(l)-2, "something else") }, Folded},
		"another system prompt": {func(_ *client, l []msg) any { return edit(l, 0, "It is Tuesday.") }, Folded},
		"two messages swapped": {func(_ *client, l []msg) any {
			out := append([]msg{}, l...)
			out[1], out[3] = out[3], out[1]
			return out
		}, Pending},
		"oldest turn dropped": {func(_ *client, l []msg) any { return append([]msg{l[0]}, l[3:]...) }, Pending},
		"text as one part with cache_control": {func(_ *client, l []msg) any {
			var out []any
			for _, m := range l {
				out = append(out, map[string]any{"role": m.Role, "content": []any{
					map[string]any{"type": "text", "text": m.Content, "cache_control": map[string]string{"type": "ephemeral"}},
				}})
			}
			return out
		}, Folded},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cl := newClient(t, &writer{}, nil)
			list := built(t, cl, talk("identity", 8))
			p, out := cl.plan(tc.change(cl, list))
			if p.Status != tc.want {
				t.Errorf("status %s, want %s", p.Status, tc.want)
			}
			if p.Status != Folded && strings.Contains(string(p.Body), foldOpening) {
				t.Error("somebody else's fold went out")
			}
			if p.Status == Folded && len(out) >= len(list) {
				t.Errorf("%d messages go out of %d", len(out), len(list))
			}
		})
	}
}

// Two conversations that open with "hi" fold independently.
func TestSameGreeting(t *testing.T) {
	w := &writer{answer: func(_ int, q Question) (Answer, error) {
		return Answer{Text: "It was about " + map[bool]string{true: "boats", false: "trains"}[strings.Contains(q.Transcript, "boats")], Finish: "stop"}, nil
	}}
	cl := newClient(t, w, nil)
	open := []msg{{"system", "s"}, {"user", "hi"}, {"assistant", "Hello!"}}
	a := slices.Concat(open, talk("boats", 8)[1:])
	b := slices.Concat(open, talk("trains", 8)[1:])
	a, b = append(a, msg{"user", "go on"}), append(b, msg{"user", "go on"})
	cl.plan(a)
	cl.plan(b) // while the other's job may be in flight
	cl.settle()
	pa, _ := cl.turn(a)
	pb, _ := cl.turn(b)
	if pa.Status != Folded || pb.Status != Folded {
		t.Fatalf("statuses %s, %s", pa.Status, pb.Status)
	}
	if !bytes.Contains(pa.Body, []byte("about boats")) || bytes.Contains(pa.Body, []byte("about trains")) {
		t.Error("the first conversation did not get its own fold")
	}
	if !bytes.Contains(pb.Body, []byte("about trains")) || bytes.Contains(pb.Body, []byte("about boats")) {
		t.Error("the second conversation did not get its own fold")
	}
}

// A fork keeps the fold of what it shares and nothing else.
func TestFork(t *testing.T) {
	w := &writer{answer: func(n int, q Question) (Answer, error) {
		a := honest(n, q)
		if strings.Contains(q.Transcript, "trunk question 20") {
			a.Text += " late"
		}
		return a, nil
	}}
	cl := newClient(t, w, nil)
	trunk := talk("trunk", 30)
	for turn := 1; turn <= 30; turn++ {
		cl.turn(trunk[:2*turn])
	}
	trunk = append(trunk, msg{"user", "go on"})
	cl.turn(trunk)
	p, _ := cl.turn(trunk)
	if !bytes.Contains(p.Body, []byte("late")) {
		t.Fatal("the trunk's fold does not reach far enough for this test")
	}
	branch := slices.Concat(trunk[:31], talk("branch", 2)[1:]) // 15 turns shared
	branch = append(branch, msg{"user", "go on"})
	fork, _ := cl.plan(branch)
	if fork.Status != Folded {
		t.Fatalf("the fork has no fold: %s", fork.Status)
	}
	if bytes.Contains(fork.Body, []byte("late")) {
		t.Error("the fork got a fold of turns that it does not have")
	}
	if last := cl.fold.roots[len(cl.fold.roots)-1].To; last > 30 {
		t.Errorf("the fork's fold covers %d messages, it shares 30", last)
	}
}

// A client that drops its oldest message every turn causes a handful of
// summaries, not one a turn.
func TestSlidingWindowClient(t *testing.T) {
	for _, pause := range []time.Duration{0, 20 * time.Second} {
		t.Run(pause.String(), func(t *testing.T) {
			loadCounter(t)
			synctest.Test(t, func(t *testing.T) {
				w := &writer{}
				cl := newClient(t, w, nil)
				full := talk("slide", 100)[1:]
				for turn := range 60 {
					window := full[2*turn : 2*turn+31]
					cl.turn(append([]msg{{"system", "s"}}, window...))
					later(pause)
				}
				n := len(w.questions())
				t.Logf("%d summaries in 60 turns", n)
				if n > 5 {
					t.Errorf("%d summaries, want a handful", n)
				}
			})
		})
	}
}

// sessions of requests, in order, each with what it must be equal to.
func sessionOf(t *testing.T, cl *client, list any) string {
	t.Helper()
	p, _ := cl.plan(list)
	return p.Session
}

// Lesson 1: one huge system prompt, and a second one that differs.
func TestSessionsAllSystemText(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	long := strings.Repeat("All answers are short. ", 350)
	a := []msg{{"system", long}, {"system", "For Ann."}, {"user", "hello"}}
	b := []msg{{"system", long}, {"system", "For Bob."}, {"user", "hello"}}
	if sessionOf(t, cl, a) == sessionOf(t, cl, b) {
		t.Error("conversations with different instructions share a session")
	}
	c := []msg{{"system", long + "x"}, {"system", "For Ann."}, {"user", "hello"}}
	if sessionOf(t, cl, a) == sessionOf(t, cl, c) {
		t.Error("the end of a long system prompt does not count")
	}
}

// Lessons 2 and 3: the first user message tells conversations apart, with and
// without a system prompt, and appended turns keep the name.
func TestSessionsFirstUserMessage(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	for _, system := range [][]msg{nil, {{"system", "s"}}} {
		seen := map[string]bool{}
		for i := range 10 {
			list := slices.Concat(system, []msg{{"user", fmt.Sprintf("question %d", i)}})
			s := sessionOf(t, cl, list)
			longer := slices.Concat(list, []msg{{"assistant", "a"}, {"user", "b"}})
			if got := sessionOf(t, cl, longer); got != s || s == "" {
				t.Errorf("the session was %q, and %q a turn later", s, got)
			}
			seen[s] = true
		}
		if len(seen) != 10 {
			t.Errorf("%d sessions of 10 conversations", len(seen))
		}
	}
	if s := sessionOf(t, cl, []msg{{"system", "s"}}); s != "" {
		t.Errorf("a request without a user message got session %q", s)
	}
}

// Lessons 4 and 5: an explicit name is a namespace. An agent and its helpers
// that share it, and the system prompt, have counters and folds of their own.
func TestSessionsSubAgents(t *testing.T) {
	w := &writer{answer: func(_ int, q Question) (Answer, error) {
		i := strings.Index(q.Transcript, "agent-")
		return Answer{Text: "About " + q.Transcript[i:i+7], Finish: "stop"}, nil
	}}
	cl := newClient(t, w, nil)
	cl.session = "run 7"
	var lists [][]msg
	for i := range 5 {
		lists = append(lists, append(talk(fmt.Sprintf("agent-%d", i), 8), msg{"user", "go on"}))
	}
	for _, list := range lists {
		cl.plan(list)
	}
	cl.settle()
	for i, list := range lists {
		p, _ := cl.plan(list)
		if p.Status != Folded || p.Session != "run 7" {
			t.Fatalf("helper %d: status %s, session %q", i, p.Status, p.Session)
		}
		for j := range 5 {
			if has := bytes.Contains(p.Body, fmt.Appendf(nil, "About agent-%d", j)); has != (i == j) {
				t.Errorf("helper %d's request holds helper %d's fold: %t", i, j, has)
			}
		}
	}
	cl.settle()
	rows := rows(t, cl)
	if len(rows) != 5 {
		t.Errorf("%d rows of counters, want one a helper", len(rows))
	}
}

// rows closes the client's Compactor, which writes its counters, and lists them.
func rows(t *testing.T, cl *client) []map[string]string {
	t.Helper()
	if err := cl.c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, _, err := cl.c.opt.Store.List(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range list {
		out = append(out, r.Labels)
	}
	return out
}

// Lessons 6 and 11: the client compacts by itself. Its view wins: nothing that
// it removed comes back, and an explicit name stays.
func TestClientCompactsItself(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	cl.session = "mine"
	list := built(t, cl, talk("own", 10))
	own := append([]msg{list[0], {"user", "summary of earlier work: we planned"}}, list[len(list)-5:]...)
	p, out := cl.plan(own)
	if len(out) != len(own) || strings.Contains(string(p.Body), foldOpening) {
		t.Errorf("%d messages go out of %d", len(out), len(own))
	}
	if !bytes.Equal(p.Body, cl.body) || p.Session != "mine" {
		t.Errorf("the request was changed, or its session is %q", p.Session)
	}
	// The old record is left to expire and serves whoever still sends it.
	if p, _ := cl.plan(list); p.Status != Folded {
		t.Errorf("the old history lost its fold: %s", p.Status)
	}
}

// Lesson 7: two chats share system prompt and first message and then diverge.
func TestNoNearestMatch(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	open := []msg{{"system", "s"}, {"user", "fix the tests"}, {"assistant", "Which ones?"}}
	a := slices.Concat(open, talk("first", 10)[1:])
	built(t, cl, a)
	b := slices.Concat(open, talk("second", 1)[1:])
	b = append(b, msg{"user", "go on"})
	p, _ := cl.plan(b)
	if p.Status != Verbatim || !bytes.Equal(p.Body, cl.body) {
		t.Errorf("status %s", p.Status)
	}
}

// Lesson 10: a client that grows its last message in place is one session.
func TestGrowingMessageIsOneSession(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	var parts []any
	for i := range 5 {
		for j := range 2 {
			parts = append(parts, map[string]string{"type": "text", "text": fmt.Sprintf("part %d %d", i, j)})
		}
		cl.plan([]any{map[string]any{"role": "system", "content": "s"}, map[string]any{"role": "user", "content": parts}})
	}
	if rows := rows(t, cl); len(rows) != 1 {
		t.Errorf("%d sessions, want 1", len(rows))
	}
}

// Where a session's name comes from, and that it is fit for a header.
func TestSessionNames(t *testing.T) {
	long := strings.Repeat("n", 129)
	tests := map[string]struct{ header, extra, want string }{
		"header":                 {"h", `,"pleat":{"session":"p"},"metadata":{"session_id":"m"}`, "h"},
		"pleat":                  {"", `,"pleat":{"session":"p"},"metadata":{"session_id":"m"}`, "p"},
		"metadata":               {"", `,"metadata":{"session_id":"m"}`, "m"},
		"line break":             {"a\r\nb", "", "name-" + digest("session name", "a\r\nb")},
		"longer than is shown":   {long, "", "name-" + digest("session name", long)},
		"other than ASCII":       {"", `,"metadata":{"session_id":"größe"}`, "name-" + digest("session name", "größe")},
		"derived when not given": {"", "", "auto-"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cl := newClient(t, &writer{}, nil)
			cl.session, cl.extra = tc.header, tc.extra
			p, _ := cl.plan([]msg{{"user", "hello"}})
			if p.Session != tc.want && (tc.want != "auto-" || !strings.HasPrefix(p.Session, tc.want)) {
				t.Errorf("session %q, want %q", p.Session, tc.want)
			}
			if bytes.Contains(p.Body, []byte(`"pleat"`)) {
				t.Error("the member pleat went out")
			}
			if !json.Valid(p.Body) {
				t.Errorf("body is not JSON: %s", p.Body)
			}
		})
	}
}

// Lesson 8: a rotated token is another tenant, since nobody has said otherwise.
// What was folded is lost to it, safely: the request goes out whole and is
// folded again.
func TestRotatedTokenFoldsAgain(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	list := built(t, cl, talk("rotate", 15))
	cl.tenant = "tenant-of-the-new-token"
	p, _ := cl.turn(list)
	if p.Status != Pending || !bytes.Equal(p.Body, cl.body) {
		t.Errorf("status %s after the token changed", p.Status)
	}
	if p, _ := cl.turn(list); p.Status != Folded {
		t.Errorf("status %s one request later", p.Status)
	}
}
