package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Types of errors, as OpenAI names them, and one of Pleat's own.
const (
	typeInvalid  = "invalid_request_error"
	typeServer   = "server_error"
	typeUpstream = "upstream_error"
)

// Error is a request that Pleat itself answers.
type Error struct {
	Status  int    // HTTP status
	Type    string // the envelope's type
	Code    string // the envelope's code, for programs
	Message string // the envelope's message: what the client may read
	Cause   error  // what the log says beside it; may be nil
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	if e.Message == "" {
		return e.Cause.Error()
	}
	return e.Message + ": " + e.Cause.Error()
}

func (e *Error) Unwrap() error { return e.Cause }

// asError returns err as an *Error, one that says nothing to the client if it
// is of another type.
func asError(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	return &Error{
		Status: http.StatusInternalServerError, Type: typeServer, Code: "internal_error",
		Message: "Pleat could not handle the request", Cause: err,
	}
}

// encode is OpenAI's error envelope.
func (e *Error) encode() []byte {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": e.Message, "type": e.Type, "param": nil, "code": e.Code,
	}})
	if err != nil {
		return nil // four strings: cannot fail
	}
	return body
}

// write sends the envelope.
func (e *Error) write(w http.ResponseWriter) {
	body := e.encode()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = w.Write(body) //nolint:gosec // JSON, and called so; of a client that left the access log tells
}

// fail answers a request that no response came for. It is ReverseProxy's
// error handler too, and so may be given any error.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	ex := exchangeOf(r.Context())
	failure := p.explain(r, ex, err)
	ex.err = failure
	if failure.Status == statusClientGone {
		ex.status, ex.ended = statusClientGone, endClient
		panic(http.ErrAbortHandler) // nobody is there to read an answer
	}
	if failure.Status == http.StatusRequestTimeout || failure.Status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is in the way
	}
	if ex.chat != nil {
		ex.chat.describe(w.Header())
	}
	failure.write(w)
}

// explain turns what went wrong into what the client is told.
func (p *Proxy) explain(r *http.Request, ex *exchange, err error) *Error {
	var own *Error
	switch {
	case errors.As(err, &own):
		return own
	case ex.body.failure() != nil:
		// The transport failed because the client's body did.
		return p.unreadable(r, ex.body.failure())
	case r.Context().Err() != nil:
		return &Error{Status: statusClientGone, Cause: discreet(err)}
	case isTimeout(err):
		return &Error{
			Status: http.StatusGatewayTimeout, Type: typeUpstream, Code: "upstream_timeout", Cause: discreet(err),
			Message: fmt.Sprintf("upstream %s did not answer in time", p.upstream.host),
		}
	}
	return &Error{
		Status: http.StatusBadGateway, Type: typeUpstream, Code: "upstream_unreachable", Cause: discreet(err),
		Message: fmt.Sprintf("upstream %s %s", p.upstream.host, publicCause(err)),
	}
}
