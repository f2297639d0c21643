package scripted

import (
	"context"
	"slices"
)

// Totals counts what happened so far.
type Totals struct {
	Arrived       int // requests that came in, of any kind
	Conversations int // chat completions that ask for no summary
	Summaries     int // chat completions that ask for one
	Answered      int // chat completions whose answer was written, refusals included
	Left          int // chat completions whose client went before the answer was written
	Violations    int

	Conversation Usage // what answers to conversations said they used
	Summary      Usage // what answers to summary requests said they used
}

// Requests returns all requests in order of arrival.
func (u *Upstream) Requests() []*Request {
	return u.pick(func(*Request) bool { return true })
}

// Conversations returns the chat completions that ask for no summary.
func (u *Upstream) Conversations() []*Request {
	return u.pick(func(r *Request) bool { return r.Chat && !r.Summary })
}

// Summaries returns the chat completions that ask for a summary.
func (u *Upstream) Summaries() []*Request {
	return u.pick(func(r *Request) bool { return r.Summary })
}

// Violations returns what a strict provider would have refused, and this one
// did.
func (u *Upstream) Violations() []Violation {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.broken)
}

// Totals returns the counts as they stand.
func (u *Upstream) Totals() Totals {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.totals
}

// WaitFor returns when n requests have arrived, or with ctx's error.
func (u *Upstream) WaitFor(ctx context.Context, n int) error {
	return u.Wait(ctx, func(t Totals) bool { return t.Arrived >= n })
}

// Wait returns when the condition holds, or with ctx's error. The condition is
// asked after every change, one at a time; it must not call the Upstream.
func (u *Upstream) Wait(ctx context.Context, holds func(Totals) bool) error {
	for {
		u.mu.Lock()
		ok, changed := holds(u.totals), u.changed
		u.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pick copies the requests that are wanted. A copy, since a request's usage is
// written after it arrived.
func (u *Upstream) pick(want func(*Request) bool) []*Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	var picked []*Request
	for _, r := range u.requests {
		if want(r) {
			c := *r
			picked = append(picked, &c)
		}
	}
	return picked
}

// arrive numbers and keeps the request.
func (u *Upstream) arrive(r *Request, problems ...string) {
	u.change(func() {
		u.requests = append(u.requests, r)
		r.Number = len(u.requests)
		u.totals.Arrived++
		if r.Chat && r.Summary {
			u.totals.Summaries++
		} else if r.Chat {
			u.totals.Conversations++
		}
		for _, p := range problems {
			u.broken = append(u.broken, Violation{Request: r.Number, Problem: p})
		}
		u.totals.Violations = len(u.broken)
	})
}

// left notes that the handler is done with the request.
func (u *Upstream) left(ctx context.Context, r *Request) {
	u.change(func() {
		if ctx.Err() != nil && r.Usage == (Usage{}) {
			u.totals.Left++
			return
		}
		u.totals.Answered++
	})
}

// used notes what an answer is about to say that it used.
func (u *Upstream) used(r *Request, usage Usage) {
	u.change(func() {
		r.Usage = usage
		if r.Summary {
			u.totals.Summary.add(usage)
		} else {
			u.totals.Conversation.add(usage)
		}
	})
}

// change does something to what the mutex guards and wakes those who wait.
func (u *Upstream) change(do func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	do()
	close(u.changed)
	u.changed = make(chan struct{})
}
