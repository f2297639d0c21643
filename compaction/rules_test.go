package compaction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ruleSet is what one provider or chat template refuses: problem is empty for a
// list of messages that it takes. The sets are written from the templates and
// manuals and share no code with what they check.
type ruleSet struct {
	name    string
	problem func(list []peek) string
}

func ruleSets() []ruleSet {
	return []ruleSet{
		{"openai", openAIRules},
		{"anthropic", anthropicRules},
		{"mistral template", mistralTemplate},
		{"mistral api", mistralAPI},
		{"gemma template", gemmaTemplate},
		{"qwen template", qwenTemplate},
	}
}

// checkRules: whoever would have taken what came in takes what goes out.
func checkRules(t fataler, in, out []peek) {
	t.Helper()
	for _, set := range ruleSets() {
		if set.problem(in) != "" {
			continue
		}
		if problem := set.problem(out); problem != "" {
			t.Fatalf("%s would have taken what came in, and not what goes out: %s\n%s", set.name, problem, drawing(out))
		}
	}
}

// fataler is what a test and a property have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// drawing is a list's roles.
func drawing(list []peek) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%s(%d) ", m.Role, len(m.Calls))
	}
	return b.String()
}

func (p peek) text() string { return string(p.Content) }

func (p peek) calls() bool { return len(p.Calls) > 0 || p.legacy() }

func (p peek) legacy() bool { return len(p.Legacy) > 0 && string(p.Legacy) != "null" }

func (p peek) empty() bool {
	return !p.calls() && slices.Contains([]string{"", "null", `""`, "[]"}, p.text())
}

// openAIRules: "An assistant message with 'tool_calls' must be followed by tool
// messages responding to each 'tool_call_id'"; "messages with role 'tool' must
// be a response to a preceding message with 'tool_calls'".
func openAIRules(list []peek) string {
	var open []string
	for i, m := range list {
		if m.Role == "tool" {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Sprintf("message %d answers no call", i)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d comes before %d calls are answered", i, len(open))
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return "the last calls are not answered"
	}
	if len(list) == 0 {
		return "there are no messages"
	}
	return ""
}

// anthropicRules: instructions are lifted out of the list; the answers to all
// calls of a message stand in the one message that follows it, no text is empty,
// the user speaks first and last, and ids of calls are unique.
func anthropicRules(list []peek) string {
	ids := map[string]bool{}
	first, last := "", ""
	for i, m := range list {
		if m.pinned() {
			continue
		}
		if m.empty() && m.Role != "tool" {
			return fmt.Sprintf("message %d is empty", i)
		}
		for _, c := range m.Calls {
			if ids[c.ID] {
				return fmt.Sprintf("the id of a call of message %d was used before", i)
			}
			ids[c.ID] = true
		}
		if first == "" {
			first = m.Role
		}
		last = m.Role
	}
	if first != "user" {
		return "the first message is not the user's"
	}
	if last == "assistant" {
		return "the last message is the assistant's"
	}
	return openAIRules(slices.DeleteFunc(slices.Clone(list), peek.pinned))
}

// mistralTemplate is what Mistral 7B Instruct v0.3's chat template raises.
func mistralTemplate(list []peek) string {
	if len(list) > 0 && list[0].Role == "system" {
		list = list[1:]
	}
	n := 0
	for i, m := range list {
		if !slices.Contains([]string{"user", "assistant", "tool"}, m.Role) {
			return fmt.Sprintf("message %d: only user and assistant roles are supported", i)
		}
		if m.Role == "tool" || len(m.Calls) > 0 {
			continue
		}
		if (m.Role == "user") != (n%2 == 0) {
			return fmt.Sprintf("message %d: roles must alternate user/assistant/user/assistant", i)
		}
		n++
	}
	return ""
}

// mistralAPI is the order that Mistral's own API asks for.
func mistralAPI(list []peek) string {
	before := ""
	for i, m := range list {
		switch {
		case m.Role == "system":
			continue
		case m.Role == "user" && before == "tool", m.Role == before && m.Role != "tool",
			m.Role == "tool" && before == "user", before == "" && m.Role != "user":
			return fmt.Sprintf("message %d: unexpected role %s after %s", i, m.Role, before)
		case m.Role == "developer", m.Role == "function":
			return fmt.Sprintf("message %d: unknown role", i)
		}
		before = m.Role
	}
	if before == "assistant" {
		return "the last message is the assistant's"
	}
	return openAIRules(list)
}

// gemmaTemplate knows two roles, and one instruction in front.
func gemmaTemplate(list []peek) string {
	if len(list) > 0 && list[0].pinned() {
		list = list[1:]
	}
	for i, m := range list {
		if (m.Role == "user") != (i%2 == 0) || m.Role != "user" && m.Role != "assistant" {
			return fmt.Sprintf("message %d: roles must alternate user/assistant/user/assistant", i)
		}
	}
	return ""
}

// qwenTemplate is what Qwen3.5's chat template raises.
func qwenTemplate(list []peek) string {
	users := 0
	for i, m := range list {
		switch {
		case m.Role == "system" && i > 0:
			return fmt.Sprintf("message %d: the system message must be at the beginning", i)
		case m.Role == "user":
			users++
		case !slices.Contains([]string{"system", "user", "assistant", "tool"}, m.Role):
			return fmt.Sprintf("message %d: unexpected role", i)
		}
	}
	if users == 0 {
		return "no user query found in messages"
	}
	return ""
}

// The sets refuse what they are there for, and take plain conversations.
func TestRuleSets(t *testing.T) {
	read := func(text string) []peek {
		var raw []json.RawMessage
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		return peeks(t, raw)
	}
	const user, assistant = `{"role":"user","content":"u"}`, `{"role":"assistant","content":"a"}`
	const system, call, result = `{"role":"system","content":"s"}`, `{"role":"assistant","tool_calls":[{"id":"x"}]}`,
		`{"role":"tool","tool_call_id":"x","content":"r"}`
	for name, tc := range map[string]struct {
		list    []string
		refused string // names, in the order of the sets
	}{
		"plain chat":           {[]string{system, user, assistant, user}, ""},
		"agent":                {[]string{system, user, call, result}, "gemma template"},
		"unanswered":           {[]string{user, call, user}, "openai,anthropic,mistral template,mistral api"},
		"note after result":    {[]string{user, call, result, user}, "mistral template,mistral api,gemma template"},
		"result without call":  {[]string{user, assistant, result}, "openai,anthropic,mistral api,gemma template"},
		"system in the middle": {[]string{user, assistant, system, user}, "mistral template,gemma template,qwen template"},
		"two users":            {[]string{user, user}, "mistral template,mistral api,gemma template"},
		"assistant first":      {[]string{assistant, user}, "anthropic,mistral template,mistral api,gemma template"},
		"no user":              {[]string{system}, "anthropic,qwen template"},
		"assistant last":       {[]string{user, assistant}, "anthropic,mistral api"},
		"empty":                {[]string{`{"role":"user","content":""}`}, "anthropic"},
		"id used twice":        {[]string{user, call, result, call, result}, "anthropic,gemma template"},
	} {
		var refused []string
		list := read("[" + strings.Join(tc.list, ",") + "]")
		for _, set := range ruleSets() {
			if set.problem(list) != "" {
				refused = append(refused, set.name)
			}
		}
		if got := strings.Join(refused, ","); got != tc.refused {
			t.Errorf("%s: refused by %s, want %s", name, got, tc.refused)
		}
	}
}
