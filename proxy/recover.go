package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// Recoverer is what a Compactor offers that can do something about a request
// which the upstream refuses because its window is exceeded. It is found by a
// type assertion. All of it is called between Plan and Responded.
type Recoverer interface {
	// Overflowed and OverflowedEvent recognise such a refusal in a whole
	// answer, free of content encodings, and in one event of a stream.
	Overflowed(status int, contentType string, body []byte) (compaction.Overflow, bool)
	OverflowedEvent(event []byte) (compaction.Overflow, bool)

	// Recover makes the request shorter and reports whether p.Body is worth
	// sending again. It may wait for a summary, for a bounded time.
	Recover(ctx context.Context, p *compaction.Plan, o compaction.Overflow) bool

	// Diagnose says what used the tokens.
	Diagnose(p *compaction.Plan, o compaction.Overflow, status int) *compaction.Diagnosis
}

var _ Recoverer = (*compaction.Compactor)(nil)

// overflowed is what became of a chat that exceeded its window.
type overflowed struct{ kind, outcome string }

// Values of overflowed.outcome.
const (
	outcomeRecovered = "recovered" // made shorter, sent again, and taken
	outcomeReported  = "reported"  // the client got Pleat's report
	outcomeFailed    = "failed"    // sent again, and failed for another reason
	outcomePrevented = "prevented" // made to fit before it was sent
)

// recoverer sends chats upstream. One that the upstream refuses because its
// window is exceeded is made shorter and sent once more, or else reported to
// the client in one form whatever the provider's was. Every other answer passes
// as it came.
type recoverer struct {
	next      http.RoundTripper
	proxy     *Proxy
	compactor Recoverer
}

// recovering puts a recoverer before the transport, if there is anything that
// it could do.
func (p *Proxy) recovering(next http.RoundTripper) http.RoundTripper {
	c, ok := p.opts.Compactor.(Recoverer)
	if !ok || p.opts.Overflow == compaction.OverflowForward {
		return next
	}
	return &recoverer{next: next, proxy: p, compactor: c}
}

// RoundTrip sends a chat. It implements http.RoundTripper, on the goroutine of
// the chat's handler.
func (t *recoverer) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	c := exchangeOf(ctx).chat
	res, err := t.next.RoundTrip(req)
	if err != nil || !c.recoverable() {
		return res, err
	}
	o, refused := t.refusal(ctx, res)
	if !refused {
		t.watch(req, res, c, false)
		return res, nil
	}
	if !t.fit(ctx, c, o) {
		return t.report(ctx, res, c, o), nil
	}
	_ = res.Body.Close() // of an answer that was read
	res, err = t.next.RoundTrip(t.again(req, c))
	if err != nil {
		c.overflow.outcome = outcomeFailed
		return nil, err
	}
	if o, refused = t.refusal(ctx, res); refused {
		return t.report(ctx, res, c, o), nil
	}
	c.answered(res.StatusCode)
	t.watch(req, res, c, true)
	return res, nil
}

// recoverable reports whether what the chat sends may be something else than
// what the client sent.
func (c *chat) recoverable() bool {
	return c.planned && !c.signed && c.plan.Status != compaction.Bypassed
}

// answered notes what came of the second attempt.
func (c *chat) answered(status int) {
	c.overflow.outcome = outcomeRecovered
	if status >= http.StatusBadRequest {
		c.overflow.outcome = outcomeFailed
	}
}

// outcome is what became of the chat, if it exceeded its window. What was
// prevented was the input with the output that is reserved beside it.
func (c *chat) outcome() overflowed {
	if c.overflow.outcome == "" && c.plan.Prevented {
		return overflowed{kind: "total", outcome: outcomePrevented}
	}
	return c.overflow
}

// refusal reads an answer as far as it may be a refusal. The answer's body is
// still whole afterwards.
func (t *recoverer) refusal(ctx context.Context, res *http.Response) (o compaction.Overflow, refused bool) {
	body := t.peek(res)
	if len(body) == 0 {
		return o, false
	}
	defer t.proxy.recoverPart(ctx, "recover")
	return t.compactor.Overflowed(res.StatusCode, res.Header.Get("Content-Type"), body)
}

// refusedIn is refusal for an event of a stream.
func (t *recoverer) refusedIn(ctx context.Context, event []byte) (o compaction.Overflow, refused bool) {
	defer t.proxy.recoverPart(ctx, "recover")
	return t.compactor.OverflowedEvent(event)
}

// fit has the chat made shorter. The time that takes is Pleat's own.
func (t *recoverer) fit(ctx context.Context, c *chat, o compaction.Overflow) (fits bool) {
	c.overflow.kind = string(o.Kind)
	begun := time.Now()
	defer func() { c.added += time.Since(begun) }()
	defer t.proxy.recoverPart(ctx, "recover")
	return t.compactor.Recover(ctx, c.plan, o)
}

// again is the request once more with the body that the plan now has. It is
// another request than the client's, so it does not carry its idempotency key:
// the upstream would answer with what it answered before, or refuse.
func (t *recoverer) again(req *http.Request, c *chat) *http.Request {
	out := req.Clone(req.Context())
	out.Header.Del("Idempotency-Key")
	c.payload = c.choose()
	c.attach(out)
	return out
}
