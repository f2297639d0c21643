package scripted

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Request is one request as it arrived. It must not be changed.
type Request struct {
	Number int // from 1, in order of arrival
	Method string
	Path   string // as sent, escapes kept
	Query  string // as sent
	Header http.Header
	Body   []byte

	// What follows is set for chat completions only.

	Chat      bool
	Summary   bool // Options.IsSummary said so
	Model     string
	Stream    bool
	Messages  []Message
	MaxOutput int   // max_completion_tokens, else max_tokens; 0 if neither is set
	Tokens    int   // input tokens, counted
	Cached    int   // the part of Tokens that the prompt cache held
	Usage     Usage // what the answer said; zero until there was one

	fields       map[string]json.RawMessage
	includeUsage bool
}

// Message is one element of a request's messages.
type Message struct {
	Raw        json.RawMessage // its bytes as they came
	Role       string
	Name       string
	Text       string // string content, or all text parts, one line each
	Parts      int    // elements of a content that is a list
	ToolCalls  []ToolCall
	ToolCallID string

	function *struct { // legacy function_call
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	other bool // carries a refusal or audio, which stand for content
}

// ToolCall is one call of a function.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON, as text
}

// newRequest notes what every request has.
func newRequest(r *http.Request, body []byte) *Request {
	return &Request{
		Method: r.Method,
		Path:   r.URL.EscapedPath(),
		Query:  r.URL.RawQuery,
		Header: r.Header.Clone(),
		Body:   body,
	}
}

// parse reads the body as a chat completion request. It returns what is wrong
// with it, or "".
func (r *Request) parse() string {
	if err := json.Unmarshal(r.Body, &r.fields); err != nil || r.fields == nil {
		return "the body is not a JSON object"
	}
	var head struct {
		Model               string            `json:"model"`
		Stream              bool              `json:"stream"`
		MaxTokens           int               `json:"max_tokens"`
		MaxCompletionTokens int               `json:"max_completion_tokens"`
		Messages            []json.RawMessage `json:"messages"`
		StreamOptions       struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(r.Body, &head); err != nil {
		return "a member of the body has the wrong type"
	}
	r.Model, r.Stream, r.includeUsage = head.Model, head.Stream, head.StreamOptions.IncludeUsage
	r.MaxOutput = head.MaxTokens
	if head.MaxCompletionTokens > 0 {
		r.MaxOutput = head.MaxCompletionTokens
	}
	for _, raw := range head.Messages {
		m, ok := parseMessage(raw)
		if !ok {
			return "a message is not an object of the known form"
		}
		r.Messages = append(r.Messages, m)
	}
	return ""
}

// parseMessage reads one message; false if its form is unknown.
func parseMessage(raw json.RawMessage) (Message, bool) {
	var wire struct {
		Role         string          `json:"role"`
		Name         string          `json:"name"`
		Content      json.RawMessage `json:"content"`
		Refusal      *string         `json:"refusal"`
		Audio        json.RawMessage `json:"audio"`
		ToolCallID   string          `json:"tool_call_id"`
		FunctionCall *struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function_call"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &wire) != nil {
		return Message{}, false
	}
	m := Message{Raw: raw, Role: wire.Role, Name: wire.Name, ToolCallID: wire.ToolCallID, function: wire.FunctionCall}
	m.other = wire.Refusal != nil && *wire.Refusal != "" || len(wire.Audio) > 0 && string(wire.Audio) != "null"
	for _, c := range wire.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return m, m.parseContent(wire.Content)
}

// parseContent reads a content that is absent, null, a string, or a list of
// parts with a type each.
func (m *Message) parseContent(raw json.RawMessage) bool {
	if len(raw) == 0 || string(raw) == "null" {
		return true
	}
	if raw[0] == '"' {
		return json.Unmarshal(raw, &m.Text) == nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return false
	}
	m.Parts = len(parts)
	var texts []string
	for _, p := range parts {
		if p.Type == "" {
			return false
		}
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	m.Text = strings.Join(texts, "\n")
	return true
}

// empty reports whether a model would see nothing of the message.
func (m *Message) empty() bool {
	return strings.TrimSpace(m.Text) == "" && m.Parts == 0 && len(m.ToolCalls) == 0 && m.function == nil && !m.other
}
