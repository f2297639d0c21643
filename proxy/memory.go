package proxy

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// errNoMemory says that all bodies together hold as much as they may.
var errNoMemory = errors.New("no memory is left for this body")

// budget bounds the bytes that all bodies hold together. Nil is no bound.
type budget struct {
	limit int64
	used  atomic.Int64
	gauge prometheus.Gauge // shows used
}

// take reserves n bytes, or none of them if they are not there.
func (b *budget) take(n int) bool {
	if b == nil {
		return true
	}
	for {
		used := b.used.Load()
		if used+int64(n) > b.limit {
			return false
		}
		if b.used.CompareAndSwap(used, used+int64(n)) {
			b.gauge.Add(float64(n))
			return true
		}
	}
}

// give returns n bytes that were taken.
func (b *budget) give(n int) {
	if b == nil {
		return
	}
	b.used.Add(-int64(n))
	b.gauge.Sub(float64(n))
}

// spill is a body of which only the beginning is in memory. It lets go of that
// as soon as it has been read.
type spill struct {
	head io.ReadCloser // fails once it was closed
	rest io.ReadCloser
}

func (s *spill) Read(p []byte) (int, error) {
	n, err := s.head.Read(p)
	if err == nil {
		return n, nil
	}
	_ = s.head.Close() // of a part of memory
	return s.rest.Read(p)
}

// Close may be called while another goroutine reads: both parts allow for it.
func (s *spill) Close() error {
	_ = s.head.Close()
	return s.rest.Close()
}
