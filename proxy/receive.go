package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// received is a chat completion's body as it came and as it reads.
type received struct {
	wire     *buffer
	plain    *buffer // wire itself unless the body was compressed
	encoding string  // the Content-Encoding that plain was inflated from, or ""

	// short says that there was no memory to plan it; rest is then what is
	// not in wire, or nil.
	short bool
	rest  io.ReadCloser
}

// release ends the handler's hold. More calls do nothing.
func (b *received) release() {
	if b.wire == nil {
		return
	}
	if b.plain != b.wire {
		b.plain.release()
	}
	b.wire.release()
	b.wire, b.plain = nil, nil
}

// receive reads the whole body of r, and inflates it if it can. A body in an
// encoding that Pleat does not know, or that is broken, stays as it is: the
// upstream will judge it. Where memory is short, the rest of the body is left
// unread, to be relayed as a stream. The error is always an *Error.
func (p *Proxy) receive(r *http.Request) (*received, error) {
	if r.ContentLength > p.opts.MaxBody {
		return nil, p.tooLarge()
	}
	wire, err := p.bodies.read(r.Body, r.ContentLength, p.opts.MaxBody)
	if errors.Is(err, errNoMemory) {
		return &received{wire: wire, plain: wire, short: true, rest: r.Body}, nil
	}
	if err != nil {
		return nil, p.unreadable(r, err)
	}
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	plain, err := p.inflate(wire, encoding)
	switch {
	case errors.Is(err, errTooLarge):
		wire.release()
		return nil, p.tooLarge()
	case err != nil:
		return &received{wire: wire, plain: wire, short: errors.Is(err, errNoMemory)}, nil
	}
	return &received{wire: wire, plain: plain, encoding: encoding}, nil
}

// inflate returns the decoded body, errTooLarge, or another error if it cannot
// be decoded. A body without an encoding is its own decoded form.
func (p *Proxy) inflate(wire *buffer, encoding string) (*buffer, error) {
	if encoding == "" || encoding == "identity" {
		return nil, errUnknownEncoding
	}
	in, err := wire.open(wire.data)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // of a part of memory
	decoder, err := p.codecs.open(encoding, in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = decoder.Close() }() // always nil
	plain, err := p.bodies.read(decoder, 4*int64(len(wire.data)), p.opts.MaxBody)
	if errors.Is(err, errNoMemory) {
		plain.release()
	}
	return plain, err
}

func (p *Proxy) tooLarge() *Error {
	return &Error{
		Status: http.StatusRequestEntityTooLarge, Type: typeInvalid, Code: "request_too_large",
		Message: fmt.Sprintf("the request body is larger than %d bytes", p.opts.MaxBody),
	}
}

// unreadable explains why a client's body could not be read to its end.
func (p *Proxy) unreadable(r *http.Request, err error) *Error {
	switch {
	case errors.Is(err, errTooLarge):
		return p.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{
			Status: http.StatusRequestTimeout, Type: typeInvalid, Code: "request_timeout", Cause: discreet(err),
			Message: fmt.Sprintf("no byte of the request body came for %s", p.opts.BodyTimeout),
		}
	case r.Context().Err() != nil:
		return &Error{Status: statusClientGone, Cause: discreet(err)}
	}
	return &Error{
		Status: http.StatusBadRequest, Type: typeInvalid, Code: "bad_request_body", Cause: discreet(err),
		Message: "the request body could not be read to its end",
	}
}
