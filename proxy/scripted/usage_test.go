package scripted

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// byWords counts words, so that sums can be done by hand.
func byWords(text string) int { return len(strings.Fields(text)) }

func TestCountsInput(t *testing.T) {
	tests := []struct {
		name string
		body string
		want int
	}{
		{"text", chatBody(user), 3 + 3 + 1 + 4},
		{"name", chatBody(`{"role":"user","name":"Ada","content":"a b"}`), 3 + 3 + 1 + 2 + 2},
		{"calls", chatBody(user, calls, resultA, resultB), 3 + 8 + (3 + 1 + 2*(3+2)) + (3 + 1 + 1) + (3 + 1)},
		{"tools", `{"model":"m","tools":["x y"],"messages":[` + user + `]}`, 3 + 2 + 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := New(Options{Count: byWords})
			post(t, u, test.body)
			if got := u.Requests()[0].Tokens; got != test.want {
				t.Errorf("counted %d, want %d", got, test.want)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	u := New(Options{Count: byWords, Window: 11})
	if status, _ := post(t, u, chatBody(user)); status != http.StatusOK {
		t.Errorf("a prompt that just fits: status %d", status)
	}
	status, body := post(t, u, chatBody(user, assistant, user))
	if status != http.StatusBadRequest || !strings.Contains(body, `"code":"context_length_exceeded"`) ||
		!strings.Contains(body, "maximum context length is 11 tokens. However, your messages resulted in 26 tokens.") {
		t.Errorf("answered %d %s", status, body)
	}
	if n := u.Totals(); n.Violations != 0 || n.Conversation.Prompt != 11 {
		t.Errorf("totals %+v: a refusal is no violation and uses nothing", n)
	}
}

func TestPromptCache(t *testing.T) {
	said := func(role string, n int) string {
		return fmt.Sprintf(`{"role":%q,"content":%q}`, role, strings.Repeat("w ", n))
	}
	first := []string{said("system", 600), said("user", 600)}
	tests := []struct {
		name     string
		messages []string
		want     int
	}{
		{"grown", append(first, assistant, user), 1152}, // 604 + 604, in steps of 128
		{"another opening", append([]string{said("system", 601)}, first[1], assistant, user), 0},
		{"parted early", []string{first[0], said("user", 90), assistant, user}, 0}, // below 1024
		{"parted late", []string{first[0], `{"role":"user","content":"` + strings.Repeat("w ", 580) + `other"}`}, 1152},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := New(Options{Count: byWords})
			post(t, u, chatBody(first...))
			_, body := post(t, u, chatBody(test.messages...))
			got := u.Requests()[1].Usage.Cached
			if got != test.want || !strings.Contains(body, fmt.Sprintf(`"cached_tokens":%d`, got)) {
				t.Errorf("cached %d, want %d; answered %s", got, test.want, body)
			}
			if n := u.Requests()[0].Usage.Cached; n != 0 {
				t.Errorf("the first request found %d tokens in an empty cache", n)
			}
		})
	}
}

// TestPromptCacheScope: tools stand in front of the messages, so they are
// cached with them, and nothing is with others; neither is another model's.
func TestPromptCacheScope(t *testing.T) {
	long := fmt.Sprintf(`{"role":"user","content":%q}`, strings.Repeat("w ", 1000))
	withTools := func(tools string, messages ...string) string {
		return strings.Replace(chatBody(messages...), "{", `{"tools":["`+tools+`"],`, 1)
	}
	first, second := withTools(strings.Repeat("t ", 200), long), withTools(strings.Repeat("t ", 200), long, assistant, user)
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"the same":      {second, 1152}, // of 1004 + 201
		"other tools":   {withTools("u", long, assistant, user), 0},
		"another model": {strings.Replace(second, `"m"`, `"other"`, 1), 0},
	} {
		u := New(Options{Count: byWords})
		post(t, u, first)
		post(t, u, test.body)
		if n := u.Requests()[1].Usage.Cached; n != test.want {
			t.Errorf("%s: %d tokens cached, want %d", name, n, test.want)
		}
	}
}
