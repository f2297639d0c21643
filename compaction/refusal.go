package compaction

import (
	"context"

	"github.com/pleat-proxy/pleat/compaction/overflow"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// Overflow is what an upstream said when it refused a request because its
// window is exceeded.
type Overflow = overflow.Report

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
