package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
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
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return &Error{
		Status: http.StatusInternalServerError, Type: typeServer, Code: "internal_error",
		Message: "Pleat could not handle the request", Cause: err,
	}
}

// write sends OpenAI's error envelope.
func (e *Error) write(w http.ResponseWriter) {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": e.Message, "type": e.Type, "param": nil, "code": e.Code,
	}})
	if err != nil {
		body = nil // four strings: cannot fail
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = w.Write(body) // a client that left: the access log tells
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
		return &Error{Status: statusClientGone, Cause: err}
	case isTimeout(err):
		return &Error{
			Status: http.StatusGatewayTimeout, Type: typeUpstream, Code: "upstream_timeout", Cause: err,
			Message: fmt.Sprintf("upstream %s did not answer in time", p.upstream.host),
		}
	}
	return &Error{
		Status: http.StatusBadGateway, Type: typeUpstream, Code: "upstream_unreachable", Cause: discreet(err),
		Message: fmt.Sprintf("upstream %s could not be reached: %s", p.upstream.host, publicCause(err)),
	}
}

// discreet returns err, or another in its place if it quotes what the upstream
// sent: net/http does so for what is no HTTP, and that may be anybody's text.
func discreet(err error) error {
	text := err.Error()
	if strings.Contains(text, "malformed") || strings.Contains(text, "invalid header") {
		return errNotHTTP
	}
	return err
}

var errNotHTTP = errors.New("the upstream's answer is not HTTP")

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// publicCause says in a few words why an upstream did not answer, without
// addresses of the network that Pleat runs in.
func publicCause(err error) string {
	var (
		dns         *net.DNSError
		record      tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
		hostname    x509.HostnameError
	)
	switch {
	case errors.As(err, &dns):
		return "its name does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to it"
	case errors.As(err, &certificate), errors.As(err, &hostname):
		return "its certificate is not trusted"
	case errors.As(err, &record), errors.As(err, &alert):
		return "the TLS handshake failed"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), "server closed idle connection"): // net/http has no value for it
		return "it closed the connection before answering"
	}
	if errors.Is(discreet(err), errNotHTTP) {
		return "its answer is not HTTP"
	}
	return "the exchange failed"
}
