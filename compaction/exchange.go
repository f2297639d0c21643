package compaction

import (
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
	Verbatim  Status = "verbatim"  // sent as it came: short, or not understood
	Folded    Status = "folded"    // a fold stands in for old turns, or old tool results are shortened
	Pending   Status = "pending"   // above the trigger, no fold there yet
	Bypassed  Status = "bypassed"  // sent as it came: the client asked for it
	Recovered Status = "recovered" // refused as too long, made shorter and sent again
	Degraded  Status = "degraded"  // sent as it came: something of Pleat's own failed
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

	FoldedMessages int       // messages that are not sent because a fold stands in for them
	TokensReceived int       // tokens of the input as the client sent it
	TokensSent     int       // tokens of the input as planned
	Prevented      bool      // it would have exceeded its window, and was made to fit before it was sent
	Attempts       []Attempt // what was done to make it fit
	Estimated      bool      // the two counts are estimates: no exact tokenizer for the model

	request Request
	factor  float64 // that calibration multiplied the counts by
	opening string  // how the conversation opens, hashed; empty if it has no user message
	view    *view   // nil where the request was not understood or not looked at
	fold    applied // the fold in use
	space   string  // where the conversation's folds are; empty before its first boundary
	due     *due    // the fold to make once the upstream accepted the request
}

// Usage is what an upstream said that an exchange used, in tokens. Zero means
// that it said nothing.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int // the part of Prompt that came from the provider's cache
}
