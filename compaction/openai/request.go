package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/pleat-proxy/pleat/compaction"
)

// limitField is the name of the field that limits the length of an answer.
type limitField string

const (
	maxTokens           limitField = "max_tokens"            // the first name, which most servers know
	maxCompletionTokens limitField = "max_completion_tokens" // the name that OpenAI's reasoning models insist on
)

func (f limitField) other() limitField {
	if f == maxTokens {
		return maxCompletionTokens
	}
	return maxTokens
}

// field returns the limit field to try first: the one that the model is known
// to take, else the one that the client uses, else the newer.
func (c *Client) field(target *url.URL, q compaction.Question) limitField {
	if known, ok := c.fields.Get(fieldKey(target, q)); ok {
		return known
	}
	return cmp.Or(limitField(q.LimitField), maxCompletionTokens)
}

func fieldKey(target *url.URL, q compaction.Question) string {
	return target.Host + target.Path + " " + q.Model
}

// chat is the request's body. It has no tools, no sampling and no storing, and
// nothing of the client's request but the model: what suits a conversation
// (tools, a thinking budget, a cache key) has made summaries fail.
type chat struct {
	Model               string    `json:"model,omitempty"`
	Messages            []message `json:"messages"`
	MaxTokens           int       `json:"max_tokens,omitempty"`
	MaxCompletionTokens int       `json:"max_completion_tokens,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func encode(q compaction.Question, field limitField) ([]byte, error) {
	body := chat{
		Model: q.Model,
		Messages: []message{
			{Role: "system", Content: q.Instructions},
			{Role: "user", Content: q.Transcript},
		},
	}
	if q.MaxTokens > 0 {
		limit := q.MaxTokens + q.Allowance
		if field == maxTokens {
			body.MaxTokens = limit
		} else {
			body.MaxCompletionTokens = limit
		}
	}
	return json.Marshal(body)
}

// target returns where the question goes. An Azure path names the deployment
// that answers; the model asked takes its place, unless it is the one that the
// client reached by this very path (a deployment need not be named after it).
func (c *Client) target(q compaction.Question) (*url.URL, error) {
	var target *url.URL
	switch {
	case c.base != nil:
		target = c.base.JoinPath("chat", "completions")
	case q.Caller.URL != nil:
		target = q.Caller.URL.JoinPath() // a copy
	default:
		return nil, errors.New("nowhere to ask: neither an upstream nor the client's URL")
	}
	if !q.Same && q.Model != "" {
		replaceDeployment(target, q.Model)
	}
	target.Fragment, target.RawFragment = "", ""
	return target, nil
}

// replaceDeployment puts the model in place of NAME in a path that ends in
// /deployments/NAME/chat/completions, and leaves any other path alone.
func replaceDeployment(u *url.URL, model string) {
	segments := strings.Split(u.EscapedPath(), "/")
	n := len(segments)
	if n < 4 || segments[n-4] != "deployments" || segments[n-2] != "chat" || segments[n-1] != "completions" {
		return
	}
	segments[n-3] = url.PathEscape(model)
	path := strings.Join(segments, "/")
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = plain, path
	}
}

// authorize sets the account on which the question is asked. With a key of its
// own nothing of the caller's is sent, not even the organization.
func (c *Client) authorize(req *http.Request, caller compaction.Caller) {
	if c.key == "" {
		req.Header = caller.Header.Clone()
		if req.Header == nil {
			req.Header = http.Header{}
		}
		return
	}
	if strings.HasSuffix(req.URL.Hostname(), ".azure.com") {
		req.Header.Set("Api-Key", c.key) // Azure takes a bearer token of Entra alone
		return
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
}
