package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// The forms below are those of OpenAI's chat completions, in the order in which
// OpenAI writes them.

type wireAnswer struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Created     int64           `json:"created"`
	Model       string          `json:"model"`
	Choices     []wireChoice    `json:"choices"`
	Usage       json.RawMessage `json:"usage,omitempty"`
	Tier        string          `json:"service_tier"`
	Fingerprint string          `json:"system_fingerprint"`
}

type wireChoice struct {
	Index    int          `json:"index"`
	Message  *wireMessage `json:"message,omitempty"`
	Delta    *wireDelta   `json:"delta,omitempty"`
	Logprobs *struct{}    `json:"logprobs"`
	Finish   *string      `json:"finish_reason"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []wireCall `json:"tool_calls,omitempty"`
	Refusal   *string    `json:"refusal"`
}

type wireDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []wireCall `json:"tool_calls,omitempty"`
	Refusal   string     `json:"refusal,omitempty"`
}

type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type wireUsage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
		Audio  int `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// apiError is the error member of OpenAI's error envelope.
type apiError struct {
	Message string
	Type    string
	Param   string // "" is sent as null
	Code    string // "" is sent as null
}

// overflow is how OpenAI refuses an input that is longer than the window.
func overflow(window, tokens int) apiError {
	return apiError{
		Message: fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, tokens),
		Type:    "invalid_request_error",
		Param:   "messages",
		Code:    "context_length_exceeded",
	}
}

// errorFor is the error that OpenAI gives with the reply's status.
func errorFor(reply Reply) apiError {
	e := apiError{Message: reply.Text, Type: "invalid_request_error"}
	switch {
	case reply.Status == http.StatusUnauthorized:
		e.Code = "invalid_api_key"
	case reply.Status == http.StatusTooManyRequests:
		e.Type, e.Code = "requests", "rate_limit_exceeded"
	case reply.Status >= http.StatusInternalServerError:
		e.Type = "server_error"
	}
	if e.Message == "" {
		e.Message = http.StatusText(reply.Status)
	}
	return e
}

func writeError(w http.ResponseWriter, status int, e apiError) {
	var wire struct {
		Error struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Param   *string `json:"param"`
			Code    *string `json:"code"`
		} `json:"error"`
	}
	wire.Error.Message, wire.Error.Type = e.Message, e.Type
	wire.Error.Param, wire.Error.Code = optional(e.Param), optional(e.Code)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(wire))
}

func encodeUsage(u Usage) json.RawMessage {
	wire := wireUsage{Prompt: u.Prompt, Completion: u.Completion, Total: u.Prompt + u.Completion}
	wire.PromptDetails.Cached = u.Cached
	return bytes.TrimSuffix(encode(wire), []byte("\n"))
}

func wireCalls(calls []ToolCall) []wireCall {
	var out []wireCall
	for _, c := range calls {
		out = append(out, wireCall{ID: c.ID, Type: "function", Function: wireFunction{Name: c.Name, Arguments: c.Arguments}})
	}
	return out
}

// optional is nil, which is written as null, for the empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// encode writes JSON as servers do: without the escapes for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only the types of this file come here, and they encode
	}
	return b.Bytes()
}
