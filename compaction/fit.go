package compaction

import (
	"context"
	"slices"
	"time"

	"github.com/pleat-proxy/pleat/compaction/overflow"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// Overflow is what an upstream said when it refused a request because its
// window is exceeded.
type Overflow = overflow.Report

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
	if p.TokensSent > limit && v.shortenHarder(func(text string) int { return c.count(v.enc, text) }) {
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
func (v *view) shortenHarder(count func(string) int) bool {
	if !v.results.Shorten {
		return false
	}
	before := len(v.short)
	v.results.Keep = 1
	v.shorten(count)
	v.addUp()
	return len(v.short) > before
}

// roomToGrow is the part of the limit that a request is brought under, so that
// the next turns fit as well.
const roomToGrow = 0.8

// fitting is the fold that makes a request fit: the shortest that leaves room to
// grow, else the longest if that is enough. It is not ok if no fold is.
func (v *view) fitting(f applied, limit int) (due, bool) {
	var candidates []boundary
	for _, b := range v.bounds {
		if b.pos > f.at.pos {
			candidates = append(candidates, b)
		}
	}
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

// Overflowed recognises an answer that refuses a request because its window is
// exceeded. body is decoded.
func (c *Compactor) Overflowed(status int, contentType string, body []byte) (Overflow, bool) {
	return overflow.Recognise(status, contentType, body)
}

// OverflowedEvent recognises such a refusal in one event of a stream.
func (c *Compactor) OverflowedEvent(event []byte) (Overflow, bool) {
	return overflow.RecogniseEvent(event)
}

// Recover is asked once, before Responded, when the upstream refused a planned
// request with o. It learns the stated limit, makes the request fit it with room
// for the answer, and reports whether p.Body is worth sending again.
func (c *Compactor) Recover(ctx context.Context, p *Plan, o Overflow) bool {
	v := p.view
	if v == nil || c.opt.Overflow != OverflowRecover {
		return false
	}
	c.learn(p, o)
	target := v.target(o, p.TokensSent)
	if target <= 0 || !c.fit(ctx, p, target) {
		return false
	}
	p.Status = Recovered
	return true
}

// learn keeps the limit that the upstream stated, for this tenant and model.
func (c *Compactor) learn(p *Plan, o Overflow) {
	if !o.Learnable() {
		return
	}
	stated := window.Limits{Total: o.Limit.Tokens}
	if o.Kind == overflow.Input || o.LimitIs == overflow.InputLimit {
		stated = window.Limits{Input: o.Limit.Tokens}
	}
	if c.opt.Windows.Learn(p.request.Tenant, p.Model, stated, c.opt.LearnedLife) {
		p.view.limits = c.opt.Windows.LookupFor(p.request.Tenant, p.Model)
		p.view.output = reservedOutput(p.view.limits, p.view.r.maxOutput)
	}
}

// blindTarget is the part of a request that is aimed at when the upstream
// states no limit.
const blindTarget = 0.6

// target is how many tokens, as Pleat counts, the request may have after a
// refusal of one that Pleat counts as sent tokens; 0 if no request would do.
func (v *view) target(o Overflow, sent int) int {
	var limit int
	switch {
	case o.Limit.Tokens > 0 && o.LimitIs != overflow.Bogus:
		limit = o.Limit.Tokens
		if o.Kind == overflow.Total {
			limit -= max(v.output, o.Output.Tokens)
		}
	case o.Overshoot > 0:
		limit = sent - o.Overshoot
	default:
		return int(blindTarget * float64(sent))
	}
	if o.Input.Tokens > 0 && !o.Input.Bound && sent > 0 {
		// The upstream counts otherwise: its limit in Pleat's tokens, with some
		// room for what is said differently in the rest.
		limit = int(0.95 * float64(limit) * float64(sent) / float64(o.Input.Tokens))
	}
	if sent <= limit {
		limit = int(0.9 * float64(sent)) // refused all the same: the counts are off
	}
	return limit
}

// Defaults of the options about overflow.
const (
	overflowWait = 20 * time.Second
	learnedLife  = 24 * time.Hour
)

func (p OverflowPolicy) valid() bool {
	return slices.Contains([]OverflowPolicy{"", OverflowRecover, OverflowReport, OverflowForward}, p)
}
