package redisstore

import (
	"errors"
	"testing"
)

// expectFault expects an error to be a certain fault, with a hint.
func expectFault(t testing.TB, err error, want *Fault) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
	if f := faultOf(err); f.Hint == "" || f.Name == "" || Hint(err) != f.Hint {
		t.Errorf("the fault %v has no name or hint", f)
	}
}
