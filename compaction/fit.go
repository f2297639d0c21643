package compaction

import (
	"context"
	"slices"
	"time"
)

// OverflowPolicy says what is done about a request that exceeds its window.
type OverflowPolicy string

// The values of OverflowPolicy.
const (
	OverflowRecover OverflowPolicy = "recover" // made to fit, before it is sent and after a refusal; reported if it cannot be
	OverflowReport  OverflowPolicy = "report"  // sent as planned; a refusal is reported
	OverflowForward OverflowPolicy = "forward" // sent as planned; a refusal passes as it is
)

// Attempt is one thing that was done to make a request fit its window.
type Attempt struct {
	Action      string `json:"action"`       // "reach_further", "shorten_results", "fold"
	InputTokens int    `json:"input_tokens"` // of the request after it
	Result      string `json:"result"`       // "fits", "smaller", "unchanged", "timed_out", "impossible"
}

// guard makes a request fit that would exceed its window as planned. The upstream
// has the last word: what cannot be made to fit is sent all the same.
func (c *Compactor) guard(ctx context.Context, p *Plan) {
	if p.view == nil || c.opt.Overflow != OverflowRecover {
		return
	}
	limit := inputLimit(p.view.limits, p.view.output)
	if limit > 0 && p.TokensSent > limit && c.fit(ctx, p, limit) {
		p.Prevented = true
	}
}

// fit makes a planned request smaller, the cheapest way first, until it has at
// most limit tokens or nothing is left to try. It waits for a fold only if that
// can make the request fit, and no longer than Options.OverflowWait.
//
// What was done is done again on the next request with the same messages, since
// it depends on them and on the folds that are stored, and on nothing else.
func (c *Compactor) fit(ctx context.Context, p *Plan, limit int) bool {
	v := p.view
	v.limit = min(v.limit, max(triggerFloor, limit/2)) // a trigger above the window asks for summaries above it
	note := func(action, result string) {
		if p.TokensSent <= limit {
			result = "fits"
		}
		p.Attempts = append(p.Attempts, Attempt{Action: action, InputTokens: p.TokensSent, Result: result})
	}
	if before := p.TokensSent; v.reachFurther() {
		c.refold(ctx, p)
		if p.TokensSent < before {
			note("reach_further", "smaller")
		}
	}
	if p.TokensSent > limit && v.shortenHarder() {
		c.refold(ctx, p)
		note("shorten_results", "smaller")
	}
	ctx, cancel := context.WithTimeout(ctx, c.opt.OverflowWait)
	defer cancel()
	for tries := 0; p.TokensSent > limit; tries++ {
		d, ok := v.fitting(p.fold, limit)
		if !ok {
			note("fold", "impossible")
			break
		}
		p.due = &d
		done := c.order(p)
		if done == nil {
			note("fold", "impossible") // the conversation rests, or the queue is full
			break
		}
		select {
		case <-done:
		case <-ctx.Done():
			note("fold", "timed_out")
			return false
		}
		before := p.TokensSent
		c.refold(ctx, p)
		if p.TokensSent < before {
			note("fold", "smaller")
			continue
		}
		// The job that was waited for may have been an earlier request's, for a
		// shorter fold; the next one is this request's own.
		note("fold", "unchanged")
		if tries == foldTries {
			break
		}
	}
	p.due = nil // what can be done is done
	return p.TokensSent <= limit
}

// foldTries is how many folds are waited for that make no difference.
const foldTries = 2

// refold plans the request once more with the folds that there are now.
func (c *Compactor) refold(ctx context.Context, p *Plan) {
	v := p.view
	if len(v.bounds) == 0 {
		p.Body, p.TokensSent = v.send(applied{}), v.sent(applied{})
		return
	}
	p.space = space(p.request.Tenant, v.bounds[0])
	if err := c.apply(ctx, p); err == nil && p.fold.at.pos == 0 {
		p.Body, p.TokensSent = v.send(applied{}), v.sent(applied{})
	}
	if len(v.short) > 0 {
		p.Status = Folded
	}
}

// reachFurther lets folds stand in for all that they may where the request would
// else overflow: the newest completed turn's answer too and, unless the scope
// forbids it, completed steps of the current turn. It reports whether that makes
// a difference.
func (v *view) reachFurther() bool {
	end := v.h.done
	if v.scope != ScopeTurns {
		end = max(end, v.h.newest())
	}
	bounds := v.h.boundaries(v.r, v.h.cleanUntil(v.r, end))
	if len(bounds) == len(v.bounds) {
		return false
	}
	v.bounds = bounds
	return true
}

// shortenHarder shortens the tool results of all steps but the newest, where
// shortening is allowed at all. It reports whether that makes a difference.
func (v *view) shortenHarder() bool {
	if !v.results.Shorten {
		return false
	}
	before := len(v.short)
	v.results.Keep = 1
	v.shorten()
	v.addUp()
	return len(v.short) > before
}

// roomToGrow is the part of the limit that a request is brought under, so that
// the next turns fit as well.
const roomToGrow = 0.8

// fitting is the fold that makes a request fit: the shortest that leaves room to
// grow, else the longest if that is enough. It is not ok if no fold is.
func (v *view) fitting(f applied, limit int) (due, bool) {
	candidates := beyond(v.bounds, f.at.pos)
	summary := summaryTokens(v.limit)
	size := func(b boundary) int { // of the request with a fold up to there
		return v.sent(applied{at: b, stays: v.stays(b.pos), tokens: f.tokens + summary})
	}
	for i, b := range candidates {
		if float64(size(b)) <= roomToGrow*float64(limit) {
			if cut, ok := v.validCut(candidates, i); ok && size(candidates[cut]) <= limit {
				return due{at: candidates[cut], overflow: true}, true
			}
		}
	}
	if n := len(candidates); n > 0 && size(candidates[n-1]) <= limit {
		if cut, ok := v.validCut(candidates, n-1); ok {
			return due{at: candidates[cut], overflow: true}, true
		}
	}
	return due{}, false
}

// Defaults of the options about overflow.
const (
	overflowWait = 20 * time.Second
	learnedLife  = 24 * time.Hour
)

func (p OverflowPolicy) valid() bool {
	return slices.Contains([]OverflowPolicy{"", OverflowRecover, OverflowReport, OverflowForward}, p)
}
