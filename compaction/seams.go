package compaction

import "context"

// Observer is told what happens off a request's path. Its methods must return
// at once and be safe for concurrent use.
type Observer interface {
	// Summarized reports one question put to a summarizer: result is one of
	// the Result constants, the tokens are what the upstream said it used.
	Summarized(result Result, prompt, completion int)

	// StoreFailed reports that the operation (a method name of store.Store)
	// failed; "Read" is a record that could not be used.
	StoreFailed(op string, err error)

	// JobDropped reports background work that was due and was not done, and why:
	// "queue_full", "memory", "closing", "expired", "panic", or "counters" for a
	// session's counters that found no room.
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
	Model        string // the model to ask; empty only with Same, where the client names none
	Same         bool   // Model is the conversation's own: it is reached as the client reached it
	Instructions string // what to write, in what form
	Transcript   string // the conversation, as fenced plain text
	MaxTokens    int    // the longest summary wanted, in tokens
	Allowance    int    // how many tokens more the answer may take: a model that reasons spends them first
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
