package window

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// What a learned or reported limit may be, in tokens. What is outside is a
// number that was misread (a status, a price, a count of requests), and a wrong
// window would have every request folded to nothing, or none.
const (
	leastLimit = 256
	mostLimit  = 100_000_000
)

// cachedLearned bounds how many learned limits are kept, of all tenants
// together; what was used longest ago goes first. maxTenant bounds their names.
const (
	cachedLearned = 4096
	maxTenant     = 256 // bytes
)

// learned is what upstreams' overflow errors stated.
type learned struct {
	mu     sync.Mutex // held by those who read, change and write an entry
	limits *lru.Cache[learnedKey, lesson]
}

type learnedKey struct{ tenant, model string }

type lesson struct {
	limits  Limits
	expires time.Time
}

func newLearned() (*learned, error) {
	limits, err := lru.New[learnedKey, lesson](cachedLearned)
	if err != nil {
		return nil, err
	}
	return &learned{limits: limits}, nil
}

// Learn keeps the limits that the upstream stated in an error for ttl: of this
// tenant and of the model as this client names it, since another account may
// have another limit and another name may be another route. A limit that is 0
// was not stated; one that was learned before then still holds. It reports
// whether anything was learned: nothing is from an absurd limit (under 256
// tokens, over 100 million, or an input above the total).
func (r *Resolver) Learn(tenant, model string, stated Limits, ttl time.Duration) bool {
	if ttl <= 0 || len(tenant) > maxTenant || len(model) > maxName || !stated.plausible() {
		return false
	}
	stated.Source = SourceLearned
	key := learnedKey{tenant, trimmed(model)}
	k := r.learned
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limits.Add(key, lesson{stated.over(k.find(key)), time.Now().Add(ttl)})
	return true
}

// Learned is how many windows are known from overflow errors, of all tenants
// and models, those that have expired and were not asked for since included.
func (r *Resolver) Learned() int { return r.learned.limits.Len() }

func (k *learned) get(tenant, model string) Limits {
	if k.limits.Len() == 0 || len(model) > maxName {
		return Limits{}
	}
	return k.find(learnedKey{tenant, trimmed(model)})
}

func (k *learned) find(key learnedKey) Limits {
	l, ok := k.limits.Get(key)
	if !ok || !time.Now().Before(l.expires) {
		return Limits{}
	}
	return l.limits
}

// plausible reports whether limits that somebody stated make sense: at least
// one is said, each is in range, and they agree.
func (l Limits) plausible() bool {
	said := false
	for _, n := range []int{l.Input, l.Output, l.Total} {
		if n != 0 && (n < leastLimit || n > mostLimit) {
			return false
		}
		said = said || n != 0
	}
	return said && (l.Total == 0 || l.Input <= l.Total && l.Output <= l.Total)
}
