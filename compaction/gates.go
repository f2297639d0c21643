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
	rest  *lru.Cache[string, time.Time] // conversation → when it may be asked for again
	quiet *lru.Cache[string, time.Time] // tenant → until when its key is spared
	purse *lru.Cache[string, *purse]
}

// purse is what a tenant's requests came in with and what summaries cost it,
// in tokens.
type purse struct{ received, spent int64 }

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

func (g *gates) restUntil(conversation string, t time.Time) { g.rest.Add(conversation, t) }

func (g *gates) resting(conversation string) bool {
	t, ok := g.rest.Get(conversation)
	return ok && g.now().Before(t)
}

// limited notes that the tenant's key met a rate limit.
func (g *gates) limited(tenant string, retryAfter time.Duration) {
	g.quiet.Add(tenant, g.now().Add(max(quietTime, retryAfter)))
}

func (g *gates) spared(tenant string) bool {
	t, ok := g.quiet.Get(tenant)
	return ok && g.now().Before(t)
}

func (g *gates) receive(tenant string, tokens int) { g.book(tenant, int64(tokens), 0) }
func (g *gates) spend(tenant string, tokens int)   { g.book(tenant, 0, int64(tokens)) }

func (g *gates) book(tenant string, received, spent int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.purse.Get(tenant)
	if !ok {
		p = &purse{}
		g.purse.Add(tenant, p)
	}
	p.received += received
	p.spent += spent
}

// affordable says whether the tenant's summaries stay within their share when
// this one costs so many tokens more.
func (g *gates) affordable(tenant string, tokens int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.purse.Get(tenant)
	return ok && float64(p.spent+int64(tokens)) <= g.share*float64(p.received)
}

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
