// Package compaction decides what of a conversation is sent: which old turns
// stand in it as a fold, and when a new fold is worth making.
//
// A client resends its whole history with every request. Compact finds the
// newest fold that was made from exactly these messages and puts it in their
// place; what is not folded keeps its bytes. When the history, as sent, has
// outgrown the trigger, a background job has the oldest part of it summarized
// and stores the result under the hash of the messages that it stands for, for
// a later request to find. Nothing here waits for a summary.
//
// The package knows chat messages and nothing of HTTP servers, files or
// databases. It meets the rest through three seams: store.Store keeps folds, a
// Summarizer writes summaries, an Observer counts what happens.
package compaction

import (
	"context"
	"net/http"
	"net/url"
)

// Request is one chat completion request as it was received.
type Request struct {
	// Tenant is whom the request belongs to: an opaque name, never a
	// credential. Nothing made for one tenant is used for another.
	Tenant string

	// Session is the name that the client gave in a header, or empty. It is a
	// label for counters and finds no folds.
	Session string

	// Bypass asks that the request be sent as it is.
	Bypass bool

	// Caller is who asks, for summaries on the client's own account.
	Caller Caller

	// Body is the request's body, inflated. It must stay unchanged until
	// Responded was called or the request ended without an answer.
	Body []byte
}

// Caller is what a summarizer needs to ask the upstream as the client did. It
// holds a credential: it is kept in memory only, for one job at most, and is
// never logged.
type Caller struct {
	// URL is where the request goes upstream, query included.
	URL *url.URL

	// Header holds the account headers alone: Authorization, Api-Key,
	// X-Api-Key, OpenAI-Organization, OpenAI-Project and their like.
	Header http.Header
}

// Status says in a word what was done with a request (header X-Pleat-Status).
type Status string

// The values of Status.
const (
	Verbatim Status = "verbatim" // sent as it came: short, or not understood
	Folded   Status = "folded"   // a fold stands in for old turns
	Pending  Status = "pending"  // above the trigger, no fold there yet
	Bypassed Status = "bypassed" // sent as it came: the client asked for it
	Degraded Status = "degraded" // sent as it came: something of Pleat's own failed
)

// Plan is what to send for a request, and what to say of it.
type Plan struct {
	// Body is the body to send: the very slice of Request.Body where nothing
	// is changed.
	Body []byte

	Status   Status
	Session  string // name of the session, given or derived; may be empty
	Model    string // as the client named it; may be empty
	Stream   bool   // the client asked for an event stream
	Messages int    // messages received

	FoldedMessages int  // messages that are not sent because a fold stands in for them
	TokensReceived int  // tokens of the input as the client sent it
	TokensSent     int  // tokens of the input as planned
	Estimated      bool // the two counts are estimates: no exact tokenizer for the model

	req  Request
	job  *job
	note note
}

// Usage is what an upstream said that an exchange used, in tokens. Zero means
// that it said nothing.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int // the part of Prompt that came from the provider's cache
}

// Observer is told what happens off a request's path. Its methods must return
// at once and be safe for concurrent use.
type Observer interface {
	// Summarized reports one question put to a summarizer: result is one of
	// the Result constants, the tokens are what the upstream said it used.
	Summarized(result Result, prompt, completion int)

	// StoreFailed reports that the operation (a method name of store.Store)
	// failed.
	StoreFailed(op string, err error)

	// JobDropped reports a job that was due and was not begun: "queue_full",
	// "memory", "closing".
	JobDropped(reason string)

	// QueueDepth reports how many jobs wait.
	QueueDepth(n int)
}

// Result says how a question to a summarizer ended.
type Result string

// The values of Result.
const (
	ResultOK         Result = "ok"
	ResultError      Result = "error"       // no usable answer: transport, status, time-out
	ResultEmpty      Result = "empty"       // blank, or reasoning alone
	ResultCutOff     Result = "cut_off"     // stopped at the output limit
	ResultToolCalls  Result = "tool_calls"  // calls in place of text
	ResultRefused    Result = "refused"     // a refusal or a content filter
	ResultNotShorter Result = "not_shorter" // not clearly shorter than what it replaces
)

// Summarizer puts one question to one model. It is safe for concurrent use.
// Which models are asked in which order, and whether an answer will do, is
// decided by its caller.
type Summarizer interface {
	Summarize(ctx context.Context, q Question) (Answer, error)
}

// Question is a summary to be written.
type Question struct {
	Model        string // the model to ask
	Instructions string // what to write, in what form
	Transcript   string // the conversation, as fenced plain text
	MaxTokens    int    // the longest summary wanted, in tokens, without reasoning
	LimitField   string // "max_tokens" or "max_completion_tokens", as the client named it; "" if it did not
	Caller       Caller
}

// Answer is what a model wrote, unvetted.
type Answer struct {
	Text       string // the visible text
	Refusal    string // the message's refusal field
	Finish     string // finish_reason
	ToolCalls  bool   // the message has tool or function calls
	Prompt     int    // usage.prompt_tokens, 0 if not said
	Completion int    // usage.completion_tokens, 0 if not said
}
