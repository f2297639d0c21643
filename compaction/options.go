package compaction

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
	"github.com/pleat-proxy/pleat/store"
)

// Options are what a Compactor works with. Zero values of the numbers mean the
// stated defaults; the parts without a stated default must be given.
type Options struct {
	Store      store.Store
	Tokens     *tokens.Counter
	Windows    *window.Resolver
	Summarizer Summarizer
	Observer   Observer
	Log        *slog.Logger

	Trigger   Trigger // when a fold is made; zero: auto
	Scope     Scope   // what may be folded; empty: auto
	KeepFirst int     // the first so many user messages are never left out (0)

	ToolResults ToolResults // what becomes of old tool results (kept)

	Models []string // that write summaries, in the order of asking; "same": the conversation's own (default)
	OwnKey bool     // the summarizer has a key of its own; false: it asks on the client's
	Share  float64  // the part of a tenant's received tokens that its summaries may cost, 0 < Share ≤ 1 (0.5)

	Timeout  time.Duration // of one question (60 s)
	Workers  int           // jobs that run at a time (4)
	Queue    int           // jobs that may wait (256)
	JobBytes int64         // that all waiting and running jobs may hold (64 MiB)

	Overflow     OverflowPolicy // about requests that exceed their window (recover)
	OverflowWait time.Duration  // that such a request waits for a fold at the most (20 s)
	LearnedLife  time.Duration  // of a limit that an upstream stated (24 h)

	StoreTimeout time.Duration // of the one question to the store that a request waits for (100 ms)

	FoldLife    time.Duration // of a fold that is not used (30 days)
	CounterLife time.Duration // of a session's counters (7 days)
	CountCache  int           // messages whose token count is remembered (100 000)

	Now func() time.Time // nil: time.Now
}

func (o *Options) validate() error {
	switch {
	case o.Store == nil, o.Tokens == nil, o.Windows == nil, o.Summarizer == nil, o.Observer == nil, o.Log == nil:
		return errors.New("compaction: Store, Tokens, Windows, Summarizer, Observer and Log must be given")
	case !slices.Contains([]Scope{"", ScopeAuto, ScopeTurns, ScopeSteps}, o.Scope):
		return fmt.Errorf("compaction: Scope is %q, not auto, turns or steps", o.Scope)
	case !o.Overflow.valid():
		return fmt.Errorf("compaction: Overflow is %q, not recover, report or forward", o.Overflow)
	case o.OverflowWait < 0, o.LearnedLife < 0:
		return errors.New("compaction: a time is negative")
	case o.Share < 0 || o.Share > 1:
		return fmt.Errorf("compaction: Share is %g, not between 0 and 1", o.Share)
	case o.Workers < 0, o.Queue < 0, o.JobBytes < 0, o.CountCache < 0, o.Timeout < 0, o.FoldLife < 0, o.CounterLife < 0,
		o.KeepFirst < 0, o.ToolResults.Keep < 0, o.StoreTimeout < 0:
		return errors.New("compaction: a bound is negative")
	}
	orDefault(&o.Share, 0.5)
	orDefault(&o.Overflow, OverflowRecover)
	orDefault(&o.OverflowWait, overflowWait)
	orDefault(&o.LearnedLife, learnedLife)
	orDefault(&o.Timeout, time.Minute)
	orDefault(&o.StoreTimeout, 100*time.Millisecond)
	orDefault(&o.Workers, 4)
	orDefault(&o.Queue, 256)
	orDefault(&o.JobBytes, 64<<20)
	orDefault(&o.FoldLife, 30*24*time.Hour)
	orDefault(&o.CounterLife, 7*24*time.Hour)
	orDefault(&o.CountCache, 100_000)
	orDefault(&o.Scope, ScopeAuto)
	orDefault(&o.ToolResults.Keep, resultsKept)
	if len(o.Models) == 0 {
		o.Models = []string{sameModel}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

func orDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
