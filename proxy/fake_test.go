package proxy

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// fakeCompactor sends bodies as they come unless told otherwise, and notes
// what it is asked.
type fakeCompactor struct {
	plan      func(compaction.Request) (*compaction.Plan, error)
	planCtx   func(context.Context, compaction.Request) (*compaction.Plan, error)
	responded func(status int)
	finished  func()

	mu       sync.Mutex
	requests []compaction.Request
	statuses []int
	usages   []compaction.Usage
	ended    chan compaction.Usage // one for each Finished
}

func (f *fakeCompactor) Plan(ctx context.Context, r compaction.Request) (*compaction.Plan, error) {
	kept := r
	kept.Body = bytes.Clone(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, kept)
	f.mu.Unlock()
	if f.planCtx != nil {
		return f.planCtx(ctx, r)
	}
	if f.plan != nil {
		return f.plan(r)
	}
	return verbatim(r), nil
}

func verbatim(r compaction.Request) *compaction.Plan {
	return &compaction.Plan{
		Body: r.Body, Status: compaction.Verbatim, Session: "s1", Model: "m",
		TokensReceived: 10, TokensSent: 10,
	}
}

func (f *fakeCompactor) Responded(_ *compaction.Plan, status int, _ http.Header) {
	f.mu.Lock()
	f.statuses = append(f.statuses, status)
	f.mu.Unlock()
	if f.responded != nil {
		f.responded(status)
	}
}

func (f *fakeCompactor) Finished(_ *compaction.Plan, u compaction.Usage) {
	f.mu.Lock()
	f.usages = append(f.usages, u)
	f.mu.Unlock()
	f.ended <- u
	if f.finished != nil {
		f.finished()
	}
}

// last returns the newest request that was planned.
func (f *fakeCompactor) last() compaction.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[len(f.requests)-1]
}

func (f *fakeCompactor) waitEnd(t *testing.T) compaction.Usage {
	t.Helper()
	select {
	case u := <-f.ended:
		return u
	case <-time.After(10 * time.Second):
		t.Fatal("Finished was not called")
		panic("unreachable")
	}
}

// stillCompactor plans and notes nothing.
type stillCompactor struct{ *fakeCompactor }

func (stillCompactor) Plan(_ context.Context, r compaction.Request) (*compaction.Plan, error) {
	return verbatim(r), nil
}

func (stillCompactor) Responded(*compaction.Plan, int, http.Header) {}

func (stillCompactor) Finished(*compaction.Plan, compaction.Usage) {}
