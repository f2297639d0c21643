// Package scripted is a provider that cannot run here: a strict, scripted
// upstream for chat completions. `pleat demo` plays a conversation before it,
// and tests ask it what it was sent.
//
// It stands in for the model alone. What it is sent it checks as strictly as
// the strictest provider does (every tool result by position, user and
// assistant in turn, no message empty), it counts tokens, refuses what passes
// its window, keeps a prompt cache, and answers in OpenAI's shape as JSON or as
// an event stream. What it says is canned. It keeps every request whole, so it
// is for conversations that fit in memory.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Options is what an Upstream plays. The zero value is a strict upstream with
// short canned replies and no window.
type Options struct {
	// Reply says what is answered to a request of the conversation. Nil: one
	// sentence that names the request's number.
	Reply func(*Request) Reply

	// Summary says what is answered to a request for a summary. Nil: what
	// Extract finds in the last message's transcript, in at most SummaryTokens.
	Summary func(*Request) Reply

	// IsSummary tells a request for a summary from one of the conversation.
	// Nil: one that limits its output and whose last message holds a fenced
	// transcript, as Fenced finds it.
	IsSummary func(*Request) bool

	// SummaryTokens bounds the summaries that a nil Summary writes. 0: 60.
	SummaryTokens int

	// Count counts the tokens of a text. Nil: a quarter of its bytes.
	Count func(text string) int

	// Window is the most input tokens that are accepted; a longer request is
	// refused as OpenAI refuses it. 0: no limit.
	Window int

	// Lenient lets through what OpenAI takes and stricter providers do not:
	// roles that do not alternate, and a list that begins or ends with any
	// role. For histories that come so from their clients.
	Lenient bool
}

// Reply is one answer.
type Reply struct {
	Text      string     // the content; with Status an error's message
	ToolCalls []ToolCall // calls, beside or in place of Text
	Refusal   string
	Reasoning string // reasoning_content, as DeepSeek and others send it
	Finish    string // finish_reason; "": "tool_calls" or "stop"

	Status int         // HTTP status; 0: 200. From 400 on an error envelope is sent
	Header http.Header // added to the response's headers

	// Usage is what the answer claims to have used. Nil: what was counted.
	Usage *Usage

	// Wait holds the answer back until the channel is closed or gives a value,
	// or until the client leaves. Nil: answered at once. A slow model is a
	// channel that the test closes when it has seen enough.
	Wait <-chan struct{}
}

// Upstream is the provider. It is an http.Handler, safe for concurrent use.
type Upstream struct {
	opts    Options
	prompts *prompts

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever anything below changes
	requests []*Request
	broken   []Violation
	totals   Totals
}

// New returns an upstream that plays opts.
func New(opts Options) *Upstream {
	if opts.Count == nil {
		opts.Count = func(text string) int { return (len(text) + 3) / 4 }
	}
	if opts.SummaryTokens == 0 {
		opts.SummaryTokens = 60
	}
	if opts.IsSummary == nil {
		opts.IsSummary = looksLikeSummary
	}
	u := &Upstream{opts: opts, prompts: newPrompts(opts.Count), changed: make(chan struct{})}
	if u.opts.Reply == nil {
		u.opts.Reply = func(r *Request) Reply {
			return Reply{Text: fmt.Sprintf("This is the answer to request %d.", r.Number)}
		}
	}
	if u.opts.Summary == nil {
		u.opts.Summary = u.extract
	}
	return u
}

// ByModel returns a predicate for Options.IsSummary: true for requests to the
// model of that name.
func ByModel(name string) func(*Request) bool {
	return func(r *Request) bool { return r.Model == name }
}

// ServeHTTP takes note of the request and plays its answer. Chat completions
// are recognised by the end of their path, under any base path.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		writeError(w, http.StatusBadRequest, apiError{Message: "the body could not be read", Type: "invalid_request_error"})
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions") && r.Method == http.MethodPost:
		u.chat(w, r, body)
	case strings.HasSuffix(r.URL.Path, "/models") && r.Method == http.MethodGet:
		u.arrive(newRequest(r, body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model","created":0,"owned_by":"scripted"}]}`+"\n")
	default:
		u.arrive(newRequest(r, body))
		writeError(w, http.StatusNotFound, apiError{Message: "Unknown request URL: " + r.Method + " " + r.URL.Path, Type: "invalid_request_error", Code: "unknown_url"})
	}
}

// chat answers one chat completion.
func (u *Upstream) chat(w http.ResponseWriter, r *http.Request, body []byte) {
	req := newRequest(r, body)
	req.Chat = true
	var problems []string
	if problem := req.parse(); problem != "" {
		problems = []string{problem}
	} else {
		req.Summary = u.opts.IsSummary(req)
		problems = check(req, u.opts.Lenient)
		req.Tokens, req.Cached = u.prompts.count(req)
	}
	u.arrive(req, problems...)
	defer u.left(r.Context(), req)

	if len(problems) > 0 {
		writeError(w, http.StatusBadRequest, apiError{Message: problems[0], Type: "invalid_request_error", Param: "messages"})
		return
	}
	if u.opts.Window > 0 && req.Tokens > u.opts.Window {
		writeError(w, http.StatusBadRequest, overflow(u.opts.Window, req.Tokens))
		return
	}
	reply := u.script(req)
	if !held(r.Context(), reply.Wait) {
		return
	}
	u.answer(w, req, reply)
}

// script asks the option that the request is for.
func (u *Upstream) script(req *Request) Reply {
	if req.Summary {
		return u.opts.Summary(req)
	}
	return u.opts.Reply(req)
}

// extract is the default Summary.
func (u *Upstream) extract(req *Request) Reply {
	bound := u.opts.SummaryTokens
	if req.MaxOutput > 0 {
		bound = min(bound, req.MaxOutput)
	}
	transcript := Fenced(req.last())
	if transcript == "" {
		transcript = req.last()
	}
	return Reply{Text: Extract(transcript, bound, u.opts.Count)}
}

// held waits for the gate and reports whether the client is still there.
func held(ctx context.Context, gate <-chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-ctx.Done():
		return false
	}
}

// looksLikeSummary is the default IsSummary.
func looksLikeSummary(r *Request) bool {
	return r.MaxOutput > 0 && Fenced(r.last()) != ""
}

// last is the text of the last message.
func (r *Request) last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text
}

// Field returns the raw value of a top-level member of the request's body, nil
// if there is none.
func (r *Request) Field(name string) json.RawMessage { return r.fields[name] }
