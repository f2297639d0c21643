// Package storetest is the suite that every backend of store.Store passes. It
// is written against the words of that contract and knows no backend.
package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store"
)

const (
	// life is the time to live of what a test lets expire. A backend may really
	// wait for it, so it is short; it is long beside one round trip, so that
	// nothing expires while a test still looks.
	life = time.Second

	// past is enough longer than life for a clock that ticks coarsely.
	past = life + life/5

	// lasting is the time to live of what a test does not let expire.
	lasting = 24 * time.Hour
)

// check is one part of the suite. It gets an empty store of its own.
type check struct {
	name string
	run  func(t testing.TB, s store.Store, advance func(time.Duration))
}

// Run runs the suite against stores that open returns: an empty one for each
// subtest, closed by t.Cleanup, and a function that lets its time pass by d.
//
// Most of the suite asks for little more than a second at a time, which a
// backend with a clock of its own can simply wait. A few subtests ask for
// minutes or hours and do nothing else; advance may call t.Skip there, on the t
// that its store was opened with, rather than wait.
func Run(t *testing.T, open func(t *testing.T) (s store.Store, advance func(time.Duration))) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			s, advance := open(t)
			c.run(t, s, advance)
		})
	}
}

func checks() []check {
	var all []check
	all = append(all, recordChecks()...)
	all = append(all, leaseChecks()...)
	all = append(all, counterChecks()...)
	all = append(all, deletionChecks()...)
	return append(all, generalChecks()...)
}

// must ends the test on an error that the contract does not allow.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("the store failed: %v", err)
	}
}

// together runs n calls of f at once and returns when all have.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// names returns n distinct names that begin with prefix.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return all
}
