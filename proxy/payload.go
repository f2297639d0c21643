package proxy

import (
	"io"
	"net/http"
)

// payload is the body that goes upstream.
type payload struct {
	buffer  *buffer // what must stay while data is read
	data    []byte
	rest    io.ReadCloser // what follows data and is not in memory; or nil
	changed bool          // not the bytes that the client sent
}

// choose picks the bytes to send: those the client sent, compressed if they
// were, unless the plan has others. A signed body is never replaced.
func (c *chat) choose() payload {
	plain := c.received.plain.data
	if c.signed || sameSlice(c.plan.Body, plain) {
		return payload{buffer: c.received.wire, data: c.received.wire.data, rest: c.received.rest}
	}
	return payload{buffer: c.received.plain, data: c.plan.Body, changed: true}
}

func sameSlice(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// open returns a reader of the payload, or an error if it is not there any more.
func (pl payload) open() (io.ReadCloser, error) {
	if pl.buffer == nil {
		return nil, errReleased
	}
	head, err := pl.buffer.open(pl.data)
	if err != nil || pl.rest == nil {
		return head, err
	}
	return &spill{head, pl.rest}, nil
}

// attach makes the payload out's body.
func (c *chat) attach(out *http.Request) {
	// This fails only for a buffer that was given back, which the handler
	// holds as long as this request is sent.
	out.Body, _ = c.payload.open()
	if c.payload.rest != nil {
		return // its length and trailers are what the client declares
	}
	// Through c: what it has let go must not be kept by the request.
	out.GetBody = func() (io.ReadCloser, error) { return c.payload.open() }
	out.ContentLength = int64(len(c.payload.data))
	out.TransferEncoding = nil
	switch {
	case len(out.Trailer) > 0:
		out.ContentLength = -1 // only a chunked body has trailers
	case out.ContentLength == 0:
		_ = out.Body.Close() // of nothing
		out.Body, out.GetBody = http.NoBody, nil
	}
	out.Header.Del("Content-Length")
	if c.payload.changed {
		out.Header.Del("Content-Encoding")
	}
}
