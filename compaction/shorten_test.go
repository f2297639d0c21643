package compaction

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// agentRun is one user message and n steps with one call and a result of some
// 3 KB each.
func agentRun(n int) []object {
	list := []object{{"role": "system", "content": "You mend programs."}, user("Make the tests pass.")}
	for i := range n {
		id := fmt.Sprintf("call_%d", i%3) // ids are used again
		list = append(list, calling(id), result(id, "first line of "+fmt.Sprint(i)+"\n"+prose("", 3000)+"\nlast line"))
	}
	return list
}

func contents(t *testing.T, out []json.RawMessage) []string {
	t.Helper()
	texts := make([]string, len(out))
	for i, raw := range out {
		var m struct {
			Content string `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		texts[i] = m.Content
	}
	return texts
}

// Results of all but the newest steps are shortened, in batches: the list that
// goes out changes once in so many steps, and is else the previous one plus new
// messages.
func TestOldResultsAreShortened(t *testing.T) {
	cl := newClient(t, &writer{}, func(o *Options) {
		o.ToolResults = ToolResults{Shorten: true, Keep: 5}
		o.Trigger = Trigger{tokens: 1_000_000}
	})
	cl.extra = `,"tools":[{"type":"function","function":{"name":"look"}}]`
	var before []json.RawMessage
	changes := 0
	for n := 1; n <= 32; n++ {
		p, out := cl.turn(agentRun(n))
		if len(out) != 2+2*n {
			t.Fatalf("%d messages go out of %d", len(out), 2+2*n)
		}
		if !extends(before, out) {
			changes++
		}
		before = out
		whole := 0
		for i, text := range contents(t, out) {
			if i < 2 || i%2 == 0 {
				continue
			}
			if !strings.HasPrefix(text, fmt.Sprintf("first line of %d\n", i/2-1)) || !strings.HasSuffix(text, "last line") {
				t.Fatalf("result %d lost its ends: %q", i, text)
			}
			if !strings.Contains(text, "left out") {
				whole++
			} else if len(text) > shortFrom {
				t.Errorf("a short form of %d bytes", len(text))
			}
		}
		if whole < min(n, 5) || whole >= 10 {
			t.Errorf("%d of %d results are whole, want 5 to 9", whole, n)
		}
		if got := float64(p.TokensSent) / float64(p.TokensReceived); n == 32 && got > 0.5 {
			t.Errorf("sent %.2f of what came in", got)
		}
	}
	if changes > 6 {
		t.Errorf("the prefix changed %d times in 32 steps, want once in five", changes)
	}
}

// What is not to be shortened is not, and no other byte changes.
func TestWhatIsNotShortened(t *testing.T) {
	long := prose("x", 3000)
	with := func(name, content string) []json.RawMessage {
		list := []json.RawMessage{
			json.RawMessage(`{"role":"user","content":"go"}`),
			json.RawMessage(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]}`),
			json.RawMessage(`{ "role":"tool", "zz": 1.50, "content": ` + content + ` ,"tool_call_id":"a"}`),
		}
		for range 4 {
			list = append(list,
				json.RawMessage(`{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`),
				json.RawMessage(`{"role":"tool","content":"ok","tool_call_id":"b"}`))
		}
		return list
	}
	picture := `[{"type":"text","text":"` + long + `"},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]`
	for name, tc := range map[string]struct {
		tool, content string
		want          bool
	}{
		"long":         {"look", `"` + long + `"`, true},
		"as one part":  {"look", `[{"type":"text","text":"` + long + `"}]`, true},
		"short":        {"look", `"` + long[:900] + `"`, false},
		"exempt":       {"read_plan", `"` + long + `"`, false},
		"with picture": {"look", picture, false},
		"empty":        {"look", `""`, false},
		"null":         {"look", `null`, false},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newClient(t, &writer{}, func(o *Options) {
				o.ToolResults = ToolResults{Shorten: true, Keep: 2, Exempt: []string{"read_plan"}}
			})
			p, out := cl.turn(with(tc.tool, tc.content))
			if got := strings.Contains(string(out[2]), "left out"); got != tc.want {
				t.Fatalf("shortened: %t, want %t", got, tc.want)
			}
			if !tc.want {
				if string(p.Body) != string(cl.body) {
					t.Error("the body was changed")
				}
				return
			}
			if !strings.Contains(string(out[2]), `"zz":1.50`) || p.Status != Folded || p.TokensSent >= p.TokensReceived {
				t.Errorf("message %.80s, status %s, %d tokens of %d", out[2], p.Status, p.TokensSent, p.TokensReceived)
			}
		})
	}
}

// Folds and short forms live together, and kept results bind the fold too.
func TestShortenedAndFolded(t *testing.T) {
	cl := newClient(t, &writer{}, func(o *Options) {
		o.ToolResults = ToolResults{Shorten: true, Keep: 3}
		o.Scope = ScopeSteps
	})
	folded := 0
	for n := 1; n <= 30; n++ {
		list := agentRun(n)
		p, out := cl.turn(list)
		if p.FoldedMessages > 0 {
			folded++
		}
		if f := fault(peeks(t, out)); f != "" {
			t.Fatalf("step %d: %s", n, f)
		}
		last := contents(t, out)[len(out)-1]
		if strings.Contains(last, "left out") {
			t.Fatalf("step %d: the newest result is shortened", n)
		}
	}
	if folded < 10 {
		t.Errorf("%d of 30 requests folded", folded)
	}
}
