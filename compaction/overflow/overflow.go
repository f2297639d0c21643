// Package overflow tells a provider's "this does not fit the context window"
// from every other answer, and reads the numbers that the provider stated.
//
// There is no common form. What a provider says comes as a JSON object, an
// array, a flat envelope, plain text, JSON inside a JSON string, JSON or a
// Python repr inside prose, an event of a stream, or an error in the body of a
// 200. So recognition has four layers, each in its own file:
//
//  1. literal.go reads JSON and Python literals leniently, in one pass.
//  2. evidence.go collects from them what the *provider* says: codes, types,
//     count fields and prose. It never looks where a user's or an assistant's
//     text may stand (choices, input, content, quoted values).
//  3. rules.go decides: statuses and codes first, then guards against what
//     only resembles an overflow, then output caps, then families of wording.
//  4. numbers.go reads the counts, independently of which family matched.
//
// The package is a leaf: it imports nothing of Pleat and does no I/O. All work
// is linear in the input, which is cut at maxBody and maxText bytes.
package overflow

import (
	"bytes"
	"mime"
	"strings"
)

// maxBody bounds how much of a body is read, in bytes. An error answer is far
// smaller unless it echoes the request.
const maxBody = 1 << 20

// Kind says what did not fit. The zero value is "not about fitting at all".
type Kind string

// The kinds. Input and Total are overflows; Output is not.
const (
	Input  Kind = "input"  // the prompt alone
	Total  Kind = "total"  // the prompt and the requested output together
	Output Kind = "output" // the requested output alone passes the model's output maximum
)

// LimitKind says what a stated limit limits.
type LimitKind string

// The limits that providers state. Bogus marks a number that cannot be the
// real limit: absurdly small or large, or above the counts that it refused.
const (
	Window      LimitKind = "window"
	InputLimit  LimitKind = "input"
	OutputLimit LimitKind = "output"
	Bogus       LimitKind = "bogus"
)

// Number is a count of tokens as stated. Tokens is 0 where nothing was stated;
// it is never negative. Bound means that the real count is at least this.
type Number struct {
	Tokens int
	Bound  bool
}

// Report is what an error answer said about the window.
type Report struct {
	Kind    Kind
	Limit   Number
	LimitIs LimitKind // "" if no limit was stated
	Input   Number    // the whole prompt: messages, tools and functions
	Output  Number    // the requested output
	Total   Number    // as stated, not computed

	// Overshoot is by how many tokens the prompt passes the limit, where that
	// is all a provider tells. vLLM tells it as a negative max_tokens: a caller
	// whose client sent that very negative number has no overflow.
	Overshoot int

	// Format names the form that was recognised, for diagnostics.
	Format string
	// Message is the provider's own words, at most maxMessage bytes. It may
	// quote the request: show it to the tenant who asked and to nobody else.
	Message string
}

// Learnable reports whether the stated limit may be remembered as the model's
// window (or, if LimitIs is InputLimit, as its input limit).
func (r Report) Learnable() bool {
	return r.Limit.Tokens > 0 && (r.Kind == Input || r.Kind == Total) &&
		(r.LimitIs == Window || r.LimitIs == InputLimit)
}

// Recognise reads a whole answer, whose body is already free of content
// encodings. It returns true for a context overflow. For an output-cap error
// the report has kind Output, and the result is false, since no folding can
// help; for any other answer the report is empty.
//
// An answer of status 200 is an error only if its body is an error envelope.
func Recognise(status int, contentType string, body []byte) (Report, bool) {
	body = clip(body, maxBody)
	if isStream(contentType, body) {
		return recogniseStream(status, body)
	}
	return recogniseBody(status, body)
}

// Finish reports whether a finish or stop reason means that the window was
// full. It says nothing of "length", which the client's own limit causes too.
func Finish(reason string) bool {
	return overflowCode(reason)
}

// recogniseBody reads one document: a whole body, or the data of one event.
func recogniseBody(status int, body []byte) (Report, bool) {
	if len(bytes.TrimSpace(body)) == 0 || !mayFail(status) {
		return Report{}, false
	}
	ev := gather(string(body))
	if success(status) && !ev.marked {
		return Report{}, false
	}
	return judge(status, ev)
}

// success reports whether the status by itself says that all went well.
func success(status int) bool { return status >= 200 && status < 300 }

// mayFail is false for statuses that never carry an overflow: redirects,
// identity, money, rate.
func mayFail(status int) bool {
	switch {
	case status == 401 || status == 402 || status == 403 || status == 407 || status == 429:
		return false
	case success(status):
		return true
	}
	return status >= 400 && status < 600
}

// isStream trusts the bytes over the content type where the two disagree:
// servers answer a streamed request with a plain JSON error and the reverse.
func isStream(contentType string, body []byte) bool {
	start := bytes.TrimLeft(body, " \t\r\n\ufeff")
	if len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return false
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = strings.TrimSpace(contentType)
	}
	if strings.EqualFold(media, "text/event-stream") {
		return true
	}
	field, _, found := bytes.Cut(clip(start, 16), []byte(":"))
	switch string(field) {
	case "data", "event":
		return found
	}
	return false
}

func clip(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}
