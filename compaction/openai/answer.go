package openai

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/pleat-proxy/pleat/compaction"
)

// answerBody is the longest answer that is read, in bytes, inflated. A summary
// is some KB; what makes an answer long is reasoning.
const answerBody = 4 << 20

var (
	errTooLong     = fmt.Errorf("the answer is longer than %d bytes", answerBody)
	errEncoding    = errors.New("the answer has a content encoding that was not asked for")
	errEventStream = errors.New("the answer is an event stream, which was not asked for")
	errNotJSON     = errors.New("the answer is no chat completion in JSON")
	errNoChoice    = errors.New("the answer has no choice")
	errInAnswer    = errors.New("the answer says that it failed")
)

// read returns the body, inflated, up to limit bytes.
func read(resp *http.Response, limit int64) ([]byte, error) {
	body := io.Reader(resp.Body)
	switch strings.ToLower(resp.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip", "x-gzip":
		inflated, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, err
		}
		body = inflated
	default:
		return nil, errEncoding
	}
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], errTooLong
	}
	return data, err
}

// accepted makes an answer of a response with status 200, or the failure that
// it is in truth.
func accepted(resp *http.Response) (compaction.Answer, *failure) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return compaction.Answer{}, broken(resp.StatusCode, errEventStream)
	}
	body, err := read(resp, answerBody)
	switch {
	case errors.Is(err, errTooLong) || errors.Is(err, errEncoding):
		return compaction.Answer{}, broken(resp.StatusCode, err)
	case err != nil:
		return compaction.Answer{}, unreached(err)
	}
	return decode(resp.StatusCode, body)
}

// completion is what is read of a chat completion. Fields that upstreams fill
// in several ways are looked at one by one, so that a strange one among them
// does not cost the rest.
type completion struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Error        json.RawMessage `json:"error"`
		FinishReason string          `json:"finish_reason"`
		Message      struct {
			Content      json.RawMessage `json:"content"`
			Refusal      string          `json:"refusal"`
			ToolCalls    json.RawMessage `json:"tool_calls"`
			FunctionCall json.RawMessage `json:"function_call"`
		} `json:"message"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

func decode(status int, body []byte) (compaction.Answer, *failure) {
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		return compaction.Answer{}, broken(status, errNotJSON) // its own words may quote the body
	}
	if present(c.Error) {
		return compaction.Answer{}, failureWithin(status, body)
	}
	if len(c.Choices) == 0 {
		return compaction.Answer{}, broken(status, errNoChoice)
	}
	choice := c.Choices[0]
	if present(choice.Error) || choice.FinishReason == "error" {
		return compaction.Answer{}, failureWithin(status, choice.Error)
	}
	text, refusal := contentText(choice.Message.Content)
	answer := compaction.Answer{
		Text:      text,
		Refusal:   choice.Message.Refusal + refusal,
		Finish:    choice.FinishReason,
		ToolCalls: present(choice.Message.ToolCalls) || isCall(choice.Message.FunctionCall),
	}
	answer.Prompt, answer.Completion = usage(c.Usage)
	return answer, nil
}

// failureWithin is an error that came with a status that says success; raw is
// the error or a body that holds it.
func failureWithin(status int, raw []byte) *failure {
	e := errorIn(raw)
	f := &failure{code: e.name(), AskError: compaction.AskError{Status: e.status(status), Err: errInAnswer}}
	if f.code != "" {
		f.Err = fmt.Errorf("%w: %s", errInAnswer, f.code)
	}
	return f
}

// contentText returns the visible text of a message's content: a string, or a
// list of parts of which those that think or show something are passed over.
func contentText(raw json.RawMessage) (text, refusal string) {
	if json.Unmarshal(raw, &text) == nil {
		return text, ""
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return "", ""
	}
	var b strings.Builder
	for _, raw := range list {
		var part struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
		}
		if json.Unmarshal(raw, &part) != nil {
			continue
		}
		switch part.Type {
		case "text", "output_text", "":
			b.WriteString(part.Text)
		case "refusal":
			refusal += part.Refusal
		}
	}
	return b.String(), refusal
}

// present reports whether a member has a value worth the name: upstreams send
// null, [] and {} for "none".
func present(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "[]", "{}", `""`, "false":
		return false
	}
	return true
}

// isCall reports whether a function_call calls anything.
func isCall(raw json.RawMessage) bool {
	var call struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	if json.Unmarshal(raw, &call) == nil {
		return call.Name != "" || call.Arguments != ""
	}
	return present(raw)
}

// usage reads the tokens that the upstream counted, 0 where it did not.
func usage(raw json.RawMessage) (prompt, completion int) {
	var u struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
	}
	_ = json.Unmarshal(raw, &u) // another form has nothing to tell
	return tokens(u.Prompt), tokens(u.Completion)
}

// tokens makes a count of a number that a stranger wrote.
func tokens(n float64) int { return int(min(max(n, 0), 1e9)) }
