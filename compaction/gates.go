package compaction

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// gates are the reasons of the moment not to ask for a summary: a conversation
// that rests after a failure, a tenant whose quota is low, a tenant whose
// summaries have cost their share. All is kept in memory and bounded; a process
// that starts anew errs by asking once more.
type gates struct {
	now   func() time.Time
	share float64

	mu    sync.Mutex
	rest  *lru.Cache[string, time.Time] // space and boundary → when a fold of what is before it may be asked for again
	quiet *lru.Cache[string, time.Time] // tenant → until when its key is spared
	purse *lru.Cache[string, *purse]
}

// purse is what a tenant's requests came in with, what summaries cost it, and
// about what those will cost that are under way, in tokens.
type purse struct{ received, spent, promised int64 }

const (
	gateEntries = 50_000
	quietTime   = 60 * time.Second // after a 429 on the client's own key
	lowQuota    = 0.1              // of the limit that the provider states
)

func newGates(share float64, now func() time.Time) *gates {
	rest, _ := lru.New[string, time.Time](gateEntries)
	quiet, _ := lru.New[string, time.Time](gateEntries)
	p, _ := lru.New[string, *purse](gateEntries)
	return &gates{now: now, share: share, rest: rest, quiet: quiet, purse: p}
}

// restUntil lets the conversations that extend a history up to a boundary rest.
func (g *gates) restUntil(boundary string, t time.Time) { g.rest.Add(boundary, t) }

// resting says whether one of the boundaries rests.
func (g *gates) resting(space string, bounds []boundary) bool {
	now := g.now()
	for _, b := range bounds {
		if t, ok := g.rest.Peek(space + b.key); ok && now.Before(t) {
			return true
		}
	}
	return false
}

// limited notes that the tenant's key met a rate limit.
func (g *gates) limited(tenant string, retryAfter time.Duration) {
	g.quiet.Add(tenant, g.now().Add(max(quietTime, retryAfter)))
}

func (g *gates) spared(tenant string) bool {
	t, ok := g.quiet.Get(tenant)
	return ok && g.now().Before(t)
}

func (g *gates) receive(tenant string, tokens int) { g.book(tenant, purse{received: int64(tokens)}) }
func (g *gates) spend(tenant string, tokens int)   { g.book(tenant, purse{spent: int64(tokens)}) }

func (g *gates) book(tenant string, add purse) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.purse.Get(tenant)
	if !ok {
		p = &purse{}
		g.purse.Add(tenant, p)
	}
	p.received += add.received
	p.spent += add.spent
	p.promised += add.promised
}

// promise books about what a summary will cost, if the tenant's summaries stay
// within their share with it, or in any case; settle takes it back.
func (g *gates) promise(tenant string, tokens int, anyway bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.purse.Get(tenant)
	if !ok {
		p = &purse{}
		g.purse.Add(tenant, p)
	}
	if !anyway && float64(p.spent+p.promised+int64(tokens)) > g.share*float64(p.received) {
		return false
	}
	p.promised += int64(tokens)
	return true
}

func (g *gates) settle(tenant string, tokens int) { g.book(tenant, purse{promised: -int64(tokens)}) }

// quotaLow says whether a response's rate-limit headers (the x-ratelimit-*
// family of OpenAI, Groq, Mistral and others) tell that less than a tenth of a
// limit is left.
func quotaLow(h http.Header) bool {
	for _, what := range []string{"requests", "tokens"} {
		limit, err1 := strconv.ParseFloat(h.Get("x-ratelimit-limit-"+what), 64)
		left, err2 := strconv.ParseFloat(h.Get("x-ratelimit-remaining-"+what), 64)
		if err1 == nil && err2 == nil && limit > 0 && left < lowQuota*limit {
			return true
		}
	}
	return false
}

// failRest is the first rest of a conversation whose summary failed, restMax
// the longest rest of any kind.
const (
	failRest = 30 * time.Second
	restMax  = time.Hour
)

// backoff is the wait after n earlier ones: base, doubled each time, at most restMax.
func backoff(base time.Duration, n int) time.Duration {
	for ; n > 0 && base < restMax; n-- {
		base *= 2
	}
	return min(base, restMax)
}
