package proxy

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// firstRead is how much room a body gets before any of it is there. A
	// declared length is believed up to trustedLength only: a client that
	// announces 64 MiB and sends nothing must not cost 64 MiB.
	firstRead     = 4 << 10
	trustedLength = 1 << 20

	// maxPooled is the largest array that is kept for the next request.
	maxPooled = 4 << 20
)

var (
	errTooLarge = errors.New("body over the limit")
	errReleased = errors.New("body was given back")
	errClosed   = errors.New("read of a closed body")
)

// bufferPool lends arrays to buffers. The zero value is ready for use.
type bufferPool struct{ arrays sync.Pool }

// buffer is a body in memory. Its array goes back to the pool when nobody
// holds it any more: not its handler, and none of the readers that open
// returned. A transport may still read a request's body after RoundTrip has
// returned (an upstream can answer early), so the handler's end alone is too soon.
type buffer struct {
	data []byte
	refs atomic.Int32
	pool *bufferPool
}

// read reads r to its end. length is the declared length, or -1. The caller
// holds the buffer until it calls release. Over max bytes the error is
// errTooLarge; all other errors are the reader's.
func (p *bufferPool) read(r io.Reader, length, max int64) (*buffer, error) {
	data := p.get()
	if length < firstRead {
		length = firstRead
	}
	// One byte more than the body: room to learn that it has ended.
	data = slices.Grow(data, int(min(length, trustedLength))+1)
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > max:
			p.put(data)
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			b := &buffer{data: data, pool: p}
			b.refs.Store(1)
			return b, nil
		case err != nil:
			p.put(data)
			return nil, err
		}
	}
}

func (p *bufferPool) get() []byte {
	if array, ok := p.arrays.Get().(*[]byte); ok {
		return (*array)[:0]
	}
	return nil
}

func (p *bufferPool) put(data []byte) {
	if cap(data) > 0 && cap(data) <= maxPooled {
		p.arrays.Put(&data)
	}
}

// open returns a reader of data that holds b until it is closed. data is a
// part of b or was made from it.
func (b *buffer) open(data []byte) (io.ReadCloser, error) {
	for {
		n := b.refs.Load()
		if n == 0 {
			return nil, errReleased
		}
		if b.refs.CompareAndSwap(n, n+1) {
			return &bodyReader{rest: data, buffer: b}, nil
		}
	}
}

// release ends one hold.
func (b *buffer) release() {
	if b.refs.Add(-1) == 0 {
		data := b.data
		b.data = nil
		b.pool.put(data)
	}
}

// bodyReader reads part of a buffer. A transport may close it while another of
// its goroutines reads, hence the lock; it has no WriteTo on purpose, which
// would hold the lock, or the array, for as long as the network takes.
type bodyReader struct {
	mu     sync.Mutex // protects all below
	rest   []byte
	buffer *buffer // nil once closed
}

func (r *bodyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buffer == nil {
		return 0, errClosed
	}
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the reader's hold. More calls do nothing.
func (r *bodyReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buffer != nil {
		r.buffer.release()
		r.buffer, r.rest = nil, nil
	}
	return nil
}
