package scripted

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	user      = `{"role":"user","content":"Where is the report?"}`
	assistant = `{"role":"assistant","content":"On your desk."}`
	system    = `{"role":"system","content":"Be brief."}`
	calls     = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"find","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"find","arguments":"{}"}}]}`
	resultA   = `{"role":"tool","tool_call_id":"a","content":"found"}`
	resultB   = `{"role":"tool","tool_call_id":"b","content":""}`
)

// post sends a body and returns the answer's status and body.
func post(t *testing.T, u *Upstream, body string, headers ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	u.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func chatBody(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
}

func TestMessages(t *testing.T) {
	tests := []struct {
		name     string
		messages []string
		strict   string // what a strict upstream finds; "" nothing
		lenient  string // and a lenient one
	}{
		{"one question", []string{user}, "", ""},
		{"system first", []string{system, user, assistant, user}, "", ""},
		{"system between", []string{user, assistant, system, user}, "", ""},
		{"developer", []string{`{"role":"developer","content":"x"}`, user}, "", ""},
		{"parts", []string{`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:,"}}]}`}, "", ""},
		{"results in any order", []string{user, calls, resultB, resultA}, "", ""},
		{"ids used again later", []string{user, calls, resultA, resultB, assistant, user, calls, resultA, resultB}, "", ""},
		{"function", []string{user, `{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`, `{"role":"function","name":"f","content":"1"}`}, "", ""},
		{"refusal for content", []string{user, `{"role":"assistant","content":null,"refusal":"no"}`, user}, "", ""},

		{"none", nil, "messages is empty", "messages is empty"},
		{"two users", []string{user, user}, "messages[1]: unexpected role user after role user", ""},
		{"two assistants", []string{user, assistant, assistant, user}, "messages[2]: unexpected role", ""},
		{"assistant first", []string{system, assistant, user}, "messages[1]: the first message", ""},
		{"user after a result", []string{user, calls, resultA, resultB, user}, "messages[4]: unexpected role user after role tool", ""},
		{"assistant last", []string{user, assistant}, "the last message", ""},
		{"system alone", []string{system}, "the last message", ""},

		{"unknown role", []string{`{"role":"robot","content":"x"}`}, "messages[0]: unknown role", "messages[0]: unknown role"},
		{"blank", []string{`{"role":"user","content":" \n"}`}, "messages[0]: the user message is empty", "messages[0]: the user message is empty"},
		{"no parts", []string{`{"role":"user","content":[]}`}, "messages[0]: the user message is empty", "messages[0]: the user message is empty"},
		{"null assistant", []string{user, `{"role":"assistant","content":null}`, user}, "messages[1]: the assistant message is empty", "messages[1]: the assistant message is empty"},
		{"calls of a user", []string{strings.Replace(calls, "assistant", "user", 1), resultA, resultB}, "messages[0]: calls in a user message", "messages[0]: calls in a user message"},
		{"result without call", []string{user, resultA}, "messages[1]: a tool result that follows no call", "messages[1]: a tool result that follows no call"},
		{"result of an older call", []string{user, calls, resultA, resultB, assistant, user, resultA}, "messages[6]: a tool result", "messages[6]: a tool result"},
		{"result twice", []string{user, calls, resultA, resultB, resultB}, "messages[4]: a tool result", "messages[4]: a tool result"},
		{"result missing", []string{user, calls, resultA, assistant, user}, "messages[3]: 1 calls", "messages[3]: 1 calls"},
		{"result missing at the end", []string{user, calls, resultB}, "1 calls of the last step", "1 calls of the last step"},
		{"part without type", []string{`{"role":"user","content":[{"text":"x"}]}`}, "a message is not", "a message is not"},
		{"not an object", []string{`"hi"`}, "a message is not", "a message is not"},
		{"null", []string{`null`}, "a message is not", "a message is not"},
	}
	for _, test := range tests {
		for _, lenient := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lenient=%t", test.name, lenient), func(t *testing.T) {
				want := test.strict
				if lenient {
					want = test.lenient
				}
				u := New(Options{Lenient: lenient})
				status, body := post(t, u, chatBody(test.messages...))
				expectViolation(t, u, status, body, want)
			})
		}
	}
}

func TestEnvelope(t *testing.T) {
	summary := func(more string) string {
		return `{"model":"s","max_tokens":100,` + more + `"messages":[{"role":"user","content":"Note:\n===== 1\nAda owns 7 horses.\n===== 1\n"}]}`
	}
	tests := []struct {
		name, body, want string
		headers          []string
	}{
		{name: "not JSON", body: `{"model":`, want: "not a JSON object"},
		{name: "a list", body: `[]`, want: "not a JSON object"},
		{name: "null", body: `null`, want: "not a JSON object"},
		{name: "wrong type", body: `{"model":7}`, want: "wrong type"},
		{name: "no model", body: `{"messages":[` + user + `]}`, want: "model parameter"},
		{name: "both limits", body: `{"model":"m","max_tokens":1,"max_completion_tokens":1,"messages":[` + user + `]}`, want: "both set"},
		{name: "own member", body: `{"model":"m","pleat":{},"messages":[` + user + `]}`, want: "member pleat"},
		{name: "own header", body: chatBody(user), headers: []string{"X-Pleat-Session", "s"}, want: "X-Pleat-Session"},
		{name: "summary", body: summary("")},
		{name: "summary with tools", body: summary(`"tools":[],`), want: "carries tools"},
		{name: "summary with sampling", body: summary(`"temperature":0,`), want: "carries temperature"},
		{name: "summary to keep", body: summary(`"store":true,`), want: "carries store"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := New(Options{})
			status, body := post(t, u, test.body, test.headers...)
			expectViolation(t, u, status, body, test.want)
		})
	}
}

// expectViolation checks that the first violation contains want and was
// refused, or that there is none.
func expectViolation(t *testing.T, u *Upstream, status int, body, want string) {
	t.Helper()
	broken := u.Violations()
	if want == "" {
		if len(broken) > 0 || status != http.StatusOK {
			t.Fatalf("status %d, violations %v, want none", status, broken)
		}
		return
	}
	if len(broken) == 0 || !strings.Contains(broken[0].Problem, want) || broken[0].Request != 1 {
		t.Fatalf("violations %v, want one of request 1 with %q", broken, want)
	}
	if status != http.StatusBadRequest || !strings.Contains(body, `"type":"invalid_request_error"`) {
		t.Errorf("answered %d %s, want a refusal", status, body)
	}
	for _, v := range broken {
		if strings.Contains(v.String(), "report") {
			t.Errorf("violation quotes a message: %v", v)
		}
	}
}
