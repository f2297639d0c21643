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
	"errors"
	"fmt"
	"net/http"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Compactor plans requests and makes folds. It is safe for concurrent use.
type Compactor struct {
	opt       Options
	counts    *lru.Cache[countKey, int]
	gates     *gates
	hindsight *hindsight
	flight    *flight
	ledger    *ledger

	calibration *calibration
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
	c := &Compactor{
		opt: o, counts: counts, gates: newGates(o.Share, o.Now), hindsight: newHindsight(o.Now),
		calibration: newCalibration(),
	}
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
	p.factor = 1
	if !enc.Exact() {
		p.factor = c.calibration.factor(calibratedOf(req, r.model))
	}
	p.view = look(r, enc, c.opt.Windows.LookupFor(req.Tenant, r.model), c.policy(), c.meter(r, enc).times(p.factor))
	p.TokensReceived = p.view.received()
	p.TokensSent, p.Estimated = p.TokensReceived, !enc.Exact()
	if req.Bypass || r.bypass {
		p.Status, p.view = Bypassed, nil
		return p, nil
	}
	err = c.fold(ctx, p)
	if err == nil {
		c.guard(ctx, p)
	}
	return p, err
}

// fold shortens what is to be shortened, puts the newest fold in its place and
// notes whether another is due.
func (c *Compactor) fold(ctx context.Context, p *Plan) error {
	v := p.view
	if len(v.short) > 0 {
		p.Status, p.Body = Folded, v.send(p.fold)
		p.TokensSent = v.sent(p.fold)
	}
	var failed error
	if len(v.bounds) > 0 {
		p.space = space(p.request.Tenant, v.bounds[0])
		if failed = c.apply(ctx, p); failed != nil {
			p.Status, p.Body, p.TokensSent = Degraded, v.r.withoutPleat(), p.TokensReceived
		}
	}
	if ctx.Err() != nil {
		return failed
	}
	d, why := v.next(p.fold)
	if why == gateNone {
		p.due = &d
	}
	if why != gateTrigger && p.Status == Verbatim {
		p.Status = Pending
	}
	return failed
}

// foldsTried is how many records are read for one that is whole and leaves a
// valid list of messages.
const foldsTried = 4

// apply asks the store for the newest fold that the history can carry and puts
// it in its place. A record that cannot be read, or that would leave a list of
// messages less valid than the client's, is counted and passed over for an older
// one; it is an error only where no other is found.
func (c *Compactor) apply(ctx context.Context, p *Plan) error {
	v := p.view
	keys := newestFirst(v.bounds, foldKey)
	var failed error
	for range foldsTried {
		ctx, cancel := context.WithTimeout(ctx, c.opt.StoreTimeout)
		found, value, err := c.opt.Store.Newest(ctx, p.space, keys)
		cancel()
		if err != nil {
			c.storeFailed("Newest", err)
			return fmt.Errorf("looking for a fold: %w", err)
		}
		if found < 0 {
			return failed
		}
		at := v.bounds[len(keys)-1-found]
		keys = keys[found+1:]
		f, err := c.read(v, at, value)
		if err == nil {
			if err = v.arrange(f).check(v.r); err == nil {
				p.fold, p.Status, p.Body = f, Folded, v.send(f)
				p.TokensSent, p.FoldedMessages = v.sent(f), v.folded(f)
				c.hindsight.applied(p.request.Tenant, p.space+at.key)
				return nil
			}
		}
		if errors.Is(err, errFoldVersion) {
			continue
		}
		failed = fmt.Errorf("fold of %d messages passed over: %w", at.pos, err)
		c.storeFailed("Read", failed)
	}
	return failed
}

// read makes of a record what the request is sent with.
func (c *Compactor) read(v *view, at boundary, value []byte) (applied, error) {
	roots, err := decodeFold(value, at.pos)
	if err != nil {
		return applied{}, err
	}
	return v.applied(at, roots), nil
}

func (c *Compactor) policy() policy {
	return policy{trigger: c.opt.Trigger, scope: c.opt.Scope, keep: c.opt.KeepFirst, results: c.opt.ToolResults}
}

// Responded tells that the upstream answered a planned request. It must be
// called once, while the request's body is still there. It waits for nothing; on
// a 2xx it may copy what a background job needs. The plan lets go of the body.
func (c *Compactor) Responded(p *Plan, status int, header http.Header) {
	if status == http.StatusTooManyRequests {
		c.gates.limited(p.request.Tenant, retryAfter(header, c.opt.Now()))
	}
	if status/100 == 2 {
		c.gates.receive(p.request.Tenant, p.TokensReceived)
		if p.due != nil && (c.opt.OwnKey || !quotaLow(header) && !c.gates.spared(p.request.Tenant)) {
			c.order(p)
		}
	}
	p.view, p.due, p.fold, p.request.Body = nil, nil, applied{}, nil
}

// order has the fold made that is due, unless the conversation rests, or
// hindsight says that it would be wasted. The channel is closed when the
// conversation's job has ended, this one or one that was there before; it is nil
// if there is none.
func (c *Compactor) order(p *Plan) <-chan struct{} {
	v, d, tenant, session := p.view, p.due, p.request.Tenant, ""
	if p.opening != "" {
		session = digest("hindsight", p.Session, p.opening)
	}
	bounds := beyond(v.bounds, p.fold.at.pos)
	if c.gates.resting(p.space, bounds) {
		return nil
	}
	if c.hindsight.wait(tenant, d.overflow, func() traces { return v.traces(p.space, session) }) > 0 {
		return nil
	}
	list := v.sources(p.fold, d.at.pos)
	return c.flight.submit(order{
		tenant: tenant, space: p.space, bounds: bounds, cut: d.at, caller: p.request.Caller,
		size:     int64(v.copies(list)),
		tokens:   c.estimate(v, p.fold, d.at),
		overflow: d.overflow,
		prepare: func() *job {
			j := newJob(v, p.fold, d.at, list)
			j.session = session
			return j
		},
	})
}

// estimate is about what a fold will cost, in tokens: what is read once, what is
// known already as context, the instructions, and the answer.
func (c *Compactor) estimate(v *view, f applied, at boundary) int {
	frame := v.count(instructions) + min(f.tokens, v.limit/4) + summaryTokens(v.limit)
	return v.between(f.at.pos, at.pos) + frame
}

// Finished tells that a planned request's exchange has ended, whatever came of
// it, and what it used. It must be called once and never blocks.
func (c *Compactor) Finished(p *Plan, u Usage) {
	c.ledger.add(p, u)
	if p.Estimated {
		c.calibration.learn(calibratedOf(p.request, p.Model), float64(p.TokensSent)/p.factor, u)
	}
}

// Settle waits until no background job waits or runs, or ctx ends.
func (c *Compactor) Settle(ctx context.Context) error { return c.flight.settle(ctx) }

// Close takes no more jobs, lets those that there are end until ctx does, then
// cancels them, and writes what is left of the counters. It returns when all
// goroutines have ended; the error says what was cut short.
func (c *Compactor) Close(ctx context.Context) error {
	return errors.Join(c.flight.close(ctx), c.ledger.close(ctx))
}
