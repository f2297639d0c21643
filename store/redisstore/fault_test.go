package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
)

// expectFault expects an error to be a certain fault, with a hint.
func expectFault(t testing.TB, err error, want *Error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
	if f := faultOf(err); f.Hint == "" || f.Name == "" || Hint(err) != f.Hint {
		t.Errorf("the fault %v has no name or hint", f)
	}
}

// refusedError is an error that Redis answered.
type refusedError string

func (r refusedError) Error() string { return string(r) }
func (refusedError) RedisError()     {}

func TestClassify(t *testing.T) {
	tests := []struct {
		err  error
		want *Error
	}{
		{io.EOF, ErrAway},
		{context.DeadlineExceeded, ErrAway},
		{redis.ErrPoolTimeout, ErrAway},
		{refusedError("OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:5."), ErrFull},
		{refusedError("ERR Error running script (call to f_1): @user_script:5: -OOM command not allowed"), ErrFull},
		{refusedError("READONLY You can't write against a read only replica."), ErrReadOnly},
		{refusedError("LOADING Redis is loading the dataset in memory"), ErrLoading},
		{refusedError("MASTERDOWN Link with MASTER is down"), ErrAway},
		{refusedError("CLUSTERDOWN The cluster is down"), ErrCluster},
		{refusedError("MOVED 1 h:1"), ErrMoving},
		{refusedError("ASK 1 h:1"), ErrMoving},
		{refusedError("TRYAGAIN Multiple keys request during rehashing of slot"), ErrMoving},
		{refusedError("WRONGPASS invalid username-password pair or user is disabled."), ErrPassword},
		{refusedError("NOAUTH Authentication required."), ErrPassword},
		{refusedError("ERR AUTH <password> called without any password configured"), ErrPassword},
		{refusedError("NOPERM this user has no permissions to run the 'eval' command"), ErrDenied},
		{refusedError("ERR The user executing the script can't access this key"), ErrDenied},
		{refusedError("MISCONF Redis is configured to save RDB snapshots"), ErrDisk},
		{refusedError("NOREPLICAS Not enough good replicas to write."), ErrDisk},
		{refusedError("BUSY Redis is busy running a script."), ErrAway},
		{refusedError("ERR max number of clients reached"), ErrBusy},
		{refusedError("ERR unknown command 'evalsha'"), ErrRefused},
	}
	for _, test := range tests {
		err := classify(fmt.Errorf("dialling: %w", test.err))
		expectFault(t, err, test.want)
		if again := classify(err); again != err { //nolint:errorlint // the very same is meant
			t.Errorf("classified twice: %v", again)
		}
	}
	for _, err := range []error{nil, redis.Nil} {
		if got := classify(err); got != err { //nolint:errorlint // the very same is meant
			t.Errorf("classify(%v) = %v", err, got)
		}
	}
	if Hint(io.EOF) != "" || Hint(nil) != "" {
		t.Error("there is a hint for what is no fault")
	}
}

func TestAnOutageIsAwayAndItsCause(t *testing.T) {
	h := newHealth(slog.New(slog.DiscardHandler), nobody{})
	h.note(0, "newest", classify(refusedError("NOAUTH")))
	_, err := h.allow()
	expectFault(t, err, ErrPassword)
	expectFault(t, err, ErrAway)
	if faultName(err) != "password" {
		t.Errorf("the fault's name is %q", faultName(err))
	}
}

// TestLateFailure: what began before an outage ended says nothing of now.
func TestLateFailure(t *testing.T) {
	h := newHealth(slog.New(slog.DiscardHandler), nobody{})
	before, err := h.allow()
	if err != nil {
		t.Fatal(err)
	}
	h.note(before, "newest", classify(io.EOF))
	h.probed(nil)
	h.note(before, "newest", classify(io.EOF))
	if _, err := h.allow(); err != nil {
		t.Errorf("a late failure opened the breaker: %v", err)
	}
}
