package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
)

// discreet returns what may be logged of an error that a client or an upstream
// had a part in. net/http and its like quote what they could not read, and
// that may be anybody's text; so only what is known to hold none is told, and
// of all else the type.
func discreet(err error) error {
	for _, explain := range []func(error) string{networkCause, tlsCause, plainCause, fixedCause} {
		if text := explain(err); text != "" {
			return errors.New(text)
		}
	}
	return fmt.Errorf("the exchange failed (%T)", innermost(err))
}

// networkCause tells what the resolver and the operating system said: names
// and addresses of the configured upstream, and fixed texts.
func networkCause(err error) string {
	var (
		dns   *net.DNSError
		op    *net.OpError
		errno syscall.Errno
	)
	switch {
	case errors.As(err, &dns):
		return dns.Error()
	case !errors.As(err, &errno):
		return ""
	case errors.As(err, &op) && op.Addr != nil:
		return fmt.Sprintf("%s %s %s: %s", op.Op, op.Net, op.Addr, errno.Error())
	}
	return errno.Error()
}

// tlsCause tells alerts by their fixed texts and of certificates, which hold
// names of the peer's choosing, what is wrong with them.
func tlsCause(err error) string {
	var (
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
		record      tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &certificate):
		return fmt.Sprintf("tls: the certificate failed verification (%T)", certificate.Err)
	case errors.As(err, &alert):
		return alert.Error()
	case errors.As(err, &record):
		return "tls: " + record.Msg
	}
	return ""
}

// plainCause tells errors whose texts are constants.
func plainCause(err error) string {
	for _, known := range []error{
		context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded,
		io.ErrUnexpectedEOF, io.EOF, net.ErrClosed, io.ErrClosedPipe, io.ErrShortWrite,
		http.ErrBodyReadAfterClose, http.ErrHandlerTimeout, http.ErrAbortHandler,
		errTooLarge, errReleased, errClosed, errNotHTTP,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return ""
}

// fixedCause tells what net/http has no exported value for: HTTP/2's error
// codes, its own time-outs, and a few fixed texts.
func fixedCause(err error) string {
	if stream, ok := errors.AsType[streamError](err); ok {
		return fmt.Sprintf("HTTP/2 stream error with code %d", stream.Code)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if text := e.Error(); slices.Contains(fixedTexts(), text) {
			return text
		}
	}
	if isTimeout(err) {
		return fmt.Sprintf("timeout (%T)", innermost(err))
	}
	return ""
}

const closedIdle = "http: server closed idle connection"

// fixedTexts are whole texts of errors of net/http.
func fixedTexts() []string {
	return []string{
		closedIdle,
		"http2: client connection lost",
		"http2: client conn could not be established",
		"http: server gave HTTP response to HTTPS client",
	}
}

// streamError has the fields of net/http's error of the same kind, which makes
// errors.As fill it.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream %d, code %d", e.StreamID, e.Code) }

func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// errNotHTTP is an upstream's answer that no client could be given.
var errNotHTTP = errors.New("the upstream's answer is not HTTP")

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// publicCause says in a few words what the upstream did instead of answering,
// without addresses of the network that Pleat runs in.
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
		return "could not be reached: its name does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "could not be reached: connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "could not be reached: no route to it"
	case errors.As(err, &certificate), errors.As(err, &hostname):
		return "could not be reached: its certificate is not trusted"
	case errors.As(err, &record), errors.As(err, &alert):
		return "could not be reached: the TLS handshake failed"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), closedIdle):
		return "closed the connection before answering"
	case isNotHTTP(err):
		return "sent an answer that is not valid HTTP"
	}
	return "did not answer: the exchange failed"
}

// isNotHTTP reports whether an answer came that net/http could not read. It
// has no values for most of what can be wrong with one, but says so in a few
// fixed words; publicCause has sorted out by then what broke the connection.
func isNotHTTP(err error) bool {
	text := err.Error()
	return errors.Is(err, errNotHTTP) || strings.Contains(text, "transport connection broken") ||
		strings.Contains(text, "malformed") || strings.Contains(text, "invalid header")
}
