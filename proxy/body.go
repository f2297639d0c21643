package proxy

import (
	"errors"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// firstRead is how much room a body gets before any of it is there. A
	// declared length is believed up to trustedLength only: a client that
	// announces 64 MiB and sends nothing must not cost 64 MiB. One that has
	// sent that much is believed: growing step by step would have many large
	// bodies each take a part of the budget, and none get what it needs.
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

// bufferPool lends arrays to buffers, within the budget. The zero value is
// ready for use and has no bound.
type bufferPool struct {
	memory *budget
	arrays [bits.UintSize]sync.Pool // by the binary logarithm of their sizes
}

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
// holds the buffer until it calls release. Over most bytes the error is
// errTooLarge. Where memory is short the error is errNoMemory, and the buffer
// holds what was read until then. All other errors are the reader's.
func (p *bufferPool) read(r io.Reader, length, most int64) (*buffer, error) {
	b := &buffer{pool: p}
	b.refs.Store(1)
	for {
		if len(b.data) == cap(b.data) && !b.grow(min(nextSize(cap(b.data), length), int(most)+1)) {
			return b, errNoMemory
		}
		n, err := r.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case int64(len(b.data)) > most:
			b.release()
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			b.release()
			return nil, err
		}
	}
}

// nextSize is how large an array should be for a body that has filled one of
// have bytes. One byte more than the body is room to learn that it has ended.
func nextSize(have int, declared int64) int {
	switch {
	case have == 0:
		return int(min(max(declared, firstRead), trustedLength)) + 1
	case int64(have) <= declared:
		return int(declared) + 1
	}
	return 2 * have
}

// grow moves the data to an array of size bytes or a little more, and reports
// false if there is no memory for it.
func (b *buffer) grow(size int) bool {
	larger := b.pool.get(size)
	if larger == nil {
		return false
	}
	old := b.data
	larger = larger[:copy(larger[:len(old)], old)]
	b.data = larger
	b.pool.put(old)
	return true
}

// get returns an empty array with room for size bytes and less than twice
// that, or nil if the budget is used up.
func (p *bufferPool) get(size int) []byte {
	if !p.memory.take(size) {
		return nil
	}
	pool := &p.arrays[bits.Len(uint(size))]
	array, ok := pool.Get().(*[]byte)
	switch {
	case !ok:
		return make([]byte, 0, size)
	case cap(*array) < size || !p.memory.take(cap(*array)-size):
		pool.Put(array)
		return make([]byte, 0, size)
	}
	return (*array)[:0]
}

// put takes back an array that get returned.
func (p *bufferPool) put(data []byte) {
	p.memory.give(cap(data))
	if cap(data) > 0 && cap(data) <= maxPooled {
		p.arrays[bits.Len(uint(cap(data)))].Put(&data)
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
