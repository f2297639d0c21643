// Package compaction decides what of a conversation is sent: which old turns
// stand in it as a fold, and when a new fold is worth making.
//
// A client resends its whole history with every request. Compact finds the
// newest fold that was made from exactly these messages and puts it in their
// place; what is not folded keeps its bytes. When the history, as sent, has
// outgrown the trigger, a background job has the oldest part of it summarized
// and stores the result under the hash of the messages that it stands for, for
// a later request to find. Nothing here waits for a summary.
//
// The package knows chat messages and nothing of HTTP servers, files or
// databases. It meets the rest through three seams: store.Store keeps folds, a
// Summarizer writes summaries, an Observer counts what happens.
package compaction

import (
	"context"
	"fmt"
	"net/http"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// Compactor plans requests and makes folds. It is safe for concurrent use.
type Compactor struct {
	opt       Options
	counts    *lru.Cache[countKey, int]
	gates     *gates
	hindsight *hindsight
	flight    *flight
	ledger    *ledger
}

// countKey finds the token count of a text or message. The length stands for
// what counts but has no part in a fingerprint, as reasoning text.
type countKey struct {
	encoding string
	fp       fingerprint
	bytes    int
}

// New starts a Compactor; Close ends it.
func New(o Options) (*Compactor, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	counts, err := lru.New[countKey, int](o.CountCache)
	if err != nil {
		return nil, fmt.Errorf("compaction: CountCache: %w", err)
	}
	c := &Compactor{opt: o, counts: counts, gates: newGates(o.Share, o.Now), hindsight: newHindsight(o.Now)}
	c.flight = newFlight(c)
	c.ledger = newLedger(o)
	return c, nil
}

// Plan decides what to send for a request. The plan is never nil and can
// always be sent; an error says that something of Pleat's own failed, and then
// the plan is to send what the client sent.
func (c *Compactor) Plan(ctx context.Context, req Request) (*Plan, error) {
	p := &Plan{Body: req.Body, Status: Verbatim, request: req, Session: sessionName(req.Session)}
	r, err := scan(req.Body)
	if err != nil {
		return p, nil //nolint:nilerr // not understood is no failure: the upstream's own error is the right answer
	}
	p.Body, p.Model, p.Stream, p.Messages = r.withoutPleat(), r.model, r.stream, len(r.messages)
	r.fingerprint()
	p.opening = opening(r)
	p.Session = session(req, r, p.opening)

	enc := c.opt.Tokens.For(r.model)
	p.view = look(r, enc, c.opt.Windows.Lookup(r.model), c.opt.Trigger, c.costs(r, enc))
	p.TokensReceived = p.view.received()
	p.TokensSent, p.Estimated = p.TokensReceived, !enc.Exact()
	if req.Bypass || r.bypass {
		p.Status, p.view = Bypassed, nil
		return p, nil
	}
	return p, c.fold(ctx, p)
}

// fold puts the newest fold in its place and notes whether another is due.
func (c *Compactor) fold(ctx context.Context, p *Plan) error {
	v := p.view
	if len(v.bounds) > 0 {
		p.space = space(p.request.Tenant, v.bounds[0])
		f, err := c.find(ctx, p.space, v)
		if err != nil {
			p.Status, p.view = Degraded, nil
			return err
		}
		if f.at.pos > 0 {
			l := arrange(v.r, v.h, f.at.pos, f.text)
			if err := l.check(v.r); err != nil {
				p.Status, p.view = Degraded, nil
				return fmt.Errorf("planned request is not valid: %w", err)
			}
			p.fold, p.Status, p.Body = f, Folded, l.splice(v.r)
			p.TokensSent, p.FoldedMessages = v.sent(f), v.folded(f)
			c.hindsight.applied(p.request.Tenant, p.space+f.at.key)
		}
	}
	cut, urgent, why := v.next(p.fold)
	if why == gateNone {
		p.due = &due{cut: cut, urgent: urgent}
	}
	if why != gateTrigger && p.Status == Verbatim {
		p.Status = Pending
	}
	return nil
}

// find asks the store for the newest fold that the history can carry.
func (c *Compactor) find(ctx context.Context, space string, v *view) (applied, error) {
	keys := make([]string, len(v.bounds))
	for i, b := range v.bounds {
		keys[len(keys)-1-i] = b.key
	}
	found, value, err := c.opt.Store.Newest(ctx, space, keys)
	if err != nil {
		c.opt.Observer.StoreFailed("Newest", err)
		return applied{}, fmt.Errorf("looking for a fold: %w", err)
	}
	if found < 0 {
		return applied{}, nil
	}
	f := applied{at: v.bounds[len(keys)-1-found]}
	if f.roots, err = decodeFold(value, f.at.pos); err != nil {
		return applied{}, fmt.Errorf("reading a fold: %w", err)
	}
	f.text = foldText(f.roots)
	f.tokens = c.count(v.enc, f.text) + c.count(v.enc, acknowledgement) + 2*tokens.MessageOverhead
	return f, nil
}

// Responded tells that the upstream answered a planned request. It must be
// called once, while the request's body is still there. It never blocks; on a
// 2xx it may copy what a background job needs.
func (c *Compactor) Responded(p *Plan, status int, header http.Header) {
	req := p.request
	if status == http.StatusTooManyRequests {
		c.gates.limited(req.Tenant, retryAfter(header))
	}
	if status/100 != 2 {
		return
	}
	c.gates.receive(req.Tenant, p.TokensReceived)
	if p.due == nil || !c.opt.OwnKey && (quotaLow(header) || c.gates.spared(req.Tenant)) {
		return
	}
	if !p.due.urgent && !c.worthwhile(p) {
		return
	}
	c.flight.submit(p.space, func() *job {
		j := newJob(p.view, p.fold, p.due.cut, p.due.urgent)
		j.tenant, j.space = req.Tenant, p.space
		return j
	}, req.Caller)
}

// worthwhile asks the gates of the moment; a fold without which the request
// would overflow is exempt from them.
func (c *Compactor) worthwhile(p *Plan) bool {
	tenant, v := p.request.Tenant, p.view
	return !c.gates.resting(p.space+p.fold.at.key) &&
		c.gates.affordable(tenant, v.between(p.fold.at.pos, v.bounds[p.due.cut].pos)+summaryTokens(v.trigger)) &&
		c.hindsight.wait(tenant, func() traces { return v.traces(p.space) }) == 0
}

// Finished tells that a planned request's exchange has ended, whatever came of
// it, and what it used. It must be called once and never blocks.
func (c *Compactor) Finished(p *Plan, u Usage) { c.ledger.add(p, u) }

// Settle waits until no background job waits or runs, or ctx ends.
func (c *Compactor) Settle(ctx context.Context) error { return c.flight.settle(ctx) }

// Close takes no more jobs, lets those that there are end until ctx does, then
// cancels them, and writes what is left of the counters. It returns when all
// goroutines have ended; the error says what was cut short.
func (c *Compactor) Close(ctx context.Context) error {
	err := c.flight.close(ctx)
	c.ledger.close()
	return err
}

// costs gives the tokens of each message, from memory for those seen before.
func (c *Compactor) costs(r *request, enc tokens.Encoder) []int {
	out := make([]int, len(r.messages))
	for i := range r.messages {
		m := &r.messages[i]
		key := countKey{enc.Name(), m.fp, m.to - m.from}
		n, ok := c.counts.Get(key)
		if !ok {
			n = r.tokens(i, enc)
			c.counts.Add(key, n)
		}
		out[i] = n
	}
	return out
}
