package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

// Broken is a store whose every method fails. It counts its calls.
type Broken struct {
	err error

	mu    sync.Mutex // protects calls
	calls map[string]int
}

var _ store.Store = (*Broken)(nil)

// Failing returns a store that answers every call with err.
func Failing(err error) *Broken {
	return &Broken{err: err, calls: map[string]int{}}
}

// Calls returns how often the methods of those names were called in all, or any
// method where none is named.
func (b *Broken) Calls(methods ...string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := 0
	if len(methods) == 0 {
		for _, n := range b.calls {
			total += n
		}
	}
	for _, method := range methods {
		total += b.calls[method]
	}
	return total
}

func (b *Broken) fail(method string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[method]++
	return b.err
}

// Newest implements store.Records.
func (b *Broken) Newest(context.Context, string, []string) (int, []byte, error) {
	return -1, nil, b.fail("Newest")
}

// PutIfAbsent implements store.Records.
func (b *Broken) PutIfAbsent(context.Context, string, string, []byte, time.Duration) (bool, error) {
	return false, b.fail("PutIfAbsent")
}

// Acquire implements store.Leases.
func (b *Broken) Acquire(context.Context, string, string, string, time.Duration) (bool, error) {
	return false, b.fail("Acquire")
}

// Held implements store.Leases.
func (b *Broken) Held(context.Context, string, []string) (bool, error) { return false, b.fail("Held") }

// Release implements store.Leases.
func (b *Broken) Release(context.Context, string, string, string) error { return b.fail("Release") }

// Add implements store.Counters.
func (b *Broken) Add(context.Context, string, store.Delta) error { return b.fail("Add") }

// List implements store.Counters.
func (b *Broken) List(context.Context, string, int) ([]store.Row, string, error) {
	return nil, "", b.fail("List")
}

// Delete implements store.Store.
func (b *Broken) Delete(context.Context, string) error { return b.fail("Delete") }

// Ping implements store.Store.
func (b *Broken) Ping(context.Context) error { return b.fail("Ping") }
