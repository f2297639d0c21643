package scripted

import (
	"fmt"
	"strings"
)

// Violation is one thing that a strict provider refuses. It quotes no text of a
// message.
type Violation struct {
	Request int    // number of the request
	Problem string // what is wrong, with the message's index
}

func (v Violation) String() string { return fmt.Sprintf("request %d: %s", v.Request, v.Problem) }

// check returns everything that is wrong with a parsed request. Only what
// could be parsed is looked at.
func check(r *Request, lenient bool) []string {
	problems := checkEnvelope(r)
	problems = append(problems, checkEach(r.Messages)...)
	problems = append(problems, checkTools(r.Messages)...)
	if !lenient {
		problems = append(problems, checkOrder(r.Messages)...)
	}
	return problems
}

// checkEnvelope looks at everything around the messages: what is Pleat's own
// must not arrive, and a summary is asked for with nothing of the client's.
func checkEnvelope(r *Request) []string {
	var problems []string
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Pleat-") {
			problems = append(problems, "header "+name+" arrived")
		}
	}
	if r.Field("pleat") != nil {
		problems = append(problems, "member pleat of the body arrived")
	}
	if r.Model == "" {
		problems = append(problems, "you must provide a model parameter")
	}
	if r.Field("max_tokens") != nil && r.Field("max_completion_tokens") != nil {
		problems = append(problems, "max_tokens and max_completion_tokens are both set")
	}
	if len(r.Messages) == 0 {
		problems = append(problems, "messages is empty")
	}
	if !r.Summary {
		return problems
	}
	for _, name := range []string{"tools", "tool_choice", "functions", "temperature", "top_p", "store", "response_format"} {
		if r.Field(name) != nil {
			problems = append(problems, "a request for a summary carries "+name)
		}
	}
	return problems
}

// checkEach looks at each message by itself. The result of a tool may be
// empty: tools that say nothing are common, and providers take it.
func checkEach(messages []Message) []string {
	var problems []string
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case "system", "developer", "user", "assistant":
			if m.empty() {
				problems = append(problems, fmt.Sprintf("messages[%d]: the %s message is empty", i, m.Role))
			}
		case "tool", "function":
		default:
			problems = append(problems, fmt.Sprintf("messages[%d]: unknown role", i))
		}
		if m.Role != "assistant" && (len(m.ToolCalls) > 0 || m.function != nil) {
			problems = append(problems, fmt.Sprintf("messages[%d]: calls in a %s message", i, m.Role))
		}
	}
	return problems
}

// checkTools follows the calls by position: ids may come back later in a
// conversation, so a result belongs to the assistant message right before its
// run of results and to no other.
func checkTools(messages []Message) []string {
	var problems []string
	var open []string // ids of the calls that still want a result
	for i := range messages {
		m := &messages[i]
		id, result := m.ToolCallID, m.Role == "tool"
		if m.Role == "function" {
			id, result = m.Name, true
		}
		if result {
			at := indexOf(open, id)
			if at < 0 {
				problems = append(problems, fmt.Sprintf("messages[%d]: a tool result that follows no call of its id", i))
				continue
			}
			open = append(open[:at], open[at+1:]...)
			continue
		}
		if len(open) > 0 {
			problems = append(problems, fmt.Sprintf("messages[%d]: %d calls before it have no result", i, len(open)))
		}
		open = callIDs(m)
	}
	if len(open) > 0 {
		problems = append(problems, fmt.Sprintf("%d calls of the last step have no result", len(open)))
	}
	return problems
}

// callIDs lists what the results of a message's calls will name.
func callIDs(m *Message) []string {
	var ids []string
	for _, c := range m.ToolCalls {
		ids = append(ids, c.ID)
	}
	if m.function != nil {
		ids = append(ids, m.function.Name)
	}
	return ids
}

func indexOf(list []string, s string) int {
	for i, have := range list {
		if have == s {
			return i
		}
	}
	return -1
}

// checkOrder asks for what Mistral's API and the stricter chat templates ask
// for: system messages aside, a user begins, an assistant answers a user or a
// tool, nobody speaks twice in a row, and the last word is not the assistant's.
func checkOrder(messages []Message) []string {
	var problems []string
	before := ""
	for i := range messages {
		role := messages[i].Role
		if role == "function" {
			role = "tool"
		}
		if role == "system" || role == "developer" {
			continue
		}
		switch {
		case before == "" && role != "user":
			problems = append(problems, fmt.Sprintf("messages[%d]: the first message after the system ones is from %s", i, role))
		case before == role && role != "tool", before == "tool" && role == "user":
			problems = append(problems, fmt.Sprintf("messages[%d]: unexpected role %s after role %s", i, role, before))
		}
		before = role
	}
	if before == "assistant" || before == "" && len(messages) > 0 {
		problems = append(problems, "the last message is neither from user nor from tool")
	}
	return problems
}
