package compaction

import (
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// hindsight remembers what became of the folds that were made here lately.
//
// A client that shortens or edits its own history every turn never sends the
// same prefix twice: each fold made for it is wasted. Such a client is told by
// evidence. A fold was missed when a later request of the tenant that is due
// another one does not hold the prefix that it was made from, though it holds
// the very messages that the fold ends with, or is of the same session and opens
// alike. A fold that nobody asked for since (its owner went home) is no evidence.
type hindsight struct {
	mu      sync.Mutex
	now     func() time.Time
	tenants *lru.Cache[string, *tenantFolds]
}

// tenantFolds are a tenant's newest folds, oldest first.
type tenantFolds struct {
	folds []*made
}

type made struct {
	key     string // space and prefix hash
	end     string // the messages that the fold ends with
	session string // the conversation's session and opening
	made    time.Time
	applied bool
	missed  time.Time // when that was noticed; zero: it was not
}

const (
	hindsightTenants = 10_000 // tenants remembered
	hindsightFolds   = 20     // newest folds of a tenant that are judged
	hindsightSample  = 4      // fewer judged folds say nothing of a tenant
	hindsightUnused  = 8      // nor do fewer folds of which some were never applied
	missesAllowed    = 2      // missed folds of one conversation before it has to wait
	endMessages      = 4      // messages that tell where a fold ends

	missRest   = 2 * time.Minute  // the first wait of a conversation whose folds are missed
	unusedRest = 10 * time.Minute // the longest wait of a tenant whose folds are merely not applied
)

func newHindsight(now func() time.Time) *hindsight {
	// lru.New fails only for a size that is not positive.
	tenants, _ := lru.New[string, *tenantFolds](hindsightTenants)
	return &hindsight{now: now, tenants: tenants}
}

// end is a key of the last messages before a position.
func (h *history) end(r *request, pos int) string {
	var b []byte
	for p := max(0, pos-endMessages); p < pos; p++ {
		fp := r.messages[h.msgs[p]].fp
		b = append(b, fp[:]...)
	}
	return digest("end", string(b))
}

// made notes a fold that a job left behind.
func (h *hindsight) made(tenant, key, end, session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.tenants.Get(tenant)
	if !ok {
		t = &tenantFolds{}
		h.tenants.Add(tenant, t)
	}
	if len(t.folds) == hindsightFolds {
		t.folds = append(t.folds[:0], t.folds[1:]...)
	}
	t.folds = append(t.folds, &made{key: key, end: end, session: session, made: h.now()})
}

// applied notes that a request was sent with the fold.
func (h *hindsight) applied(tenant, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t, ok := h.tenants.Get(tenant); ok {
		for _, f := range t.folds {
			if f.key == key {
				f.applied = true
			}
		}
	}
}

// traces are what a request tells of earlier folds: the keys of those that it
// could be sent with, where its steps end, and whose it is.
type traces struct {
	keys, ends map[string]bool
	session    string
}

// traces finds them for the view's request.
func (v *view) traces(space, session string) traces {
	t := traces{keys: map[string]bool{}, ends: map[string]bool{}, session: session}
	for _, b := range v.h.boundaries(v.r, len(v.h.msgs)) {
		t.keys[space+b.key] = true
	}
	for _, s := range v.h.steps {
		t.ends[v.h.end(v.r, s.to)] = true
	}
	return t
}

// wait is how long a conversation of the tenant has to wait for its next fold.
// After two missed folds of its own it backs off exponentially (2 min, doubled
// each time, at most an hour). So does every conversation of a tenant most of
// whose judged folds were missed; and while most of a tenant's newest folds were
// not applied at all, for whatever reason, its conversations wait up to
// 10 min since the last. What holds for the tenant is no reason where the request
// would overflow. The request's traces are looked for only when they matter.
func (h *hindsight) wait(tenant string, overflow bool, look func() traces) time.Duration {
	if !h.doubtful(tenant) {
		return 0
	}
	here := look() // takes its time: not under the lock
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.tenants.Get(tenant)
	if !ok {
		return 0
	}
	now := h.now()
	s := t.judge(here, now)
	var wait time.Duration
	if s.mine >= missesAllowed {
		wait = since(now, s.lastMiss, backoff(missRest, s.mine-missesAllowed))
	}
	if overflow {
		return wait
	}
	if s.judged >= hindsightSample && 2*s.missed > s.judged {
		wait = max(wait, since(now, s.lastMiss, backoff(missRest, s.missed-hindsightSample/2)))
	}
	if n := len(t.folds); n >= hindsightUnused && 2*s.unused > n {
		wait = max(wait, since(now, s.lastMade, min(unusedRest, backoff(failRest, s.unused-n/2-1))))
	}
	return wait
}

// since is what is left of a rest that began at a time.
func since(now, began time.Time, rest time.Duration) time.Duration {
	return max(0, rest-now.Sub(began))
}

// standing is what a tenant's newest folds came to.
type standing struct {
	mine     int // missed ones of the conversation in question
	missed   int
	judged   int // missed or applied
	unused   int // not applied, missed or not
	lastMiss time.Time
	lastMade time.Time
}

// judge marks the folds that the traces tell were missed, and counts.
func (t *tenantFolds) judge(here traces, now time.Time) (s standing) {
	for _, f := range t.folds {
		own := here.ends[f.end] || here.session != "" && here.session == f.session
		if own && !f.applied && f.missed.IsZero() && !here.keys[f.key] {
			f.missed = now
		}
		s.lastMade = f.made
		switch {
		case f.applied:
			s.judged++
		case f.missed.IsZero():
			s.unused++
		default:
			s.unused, s.judged, s.missed = s.unused+1, s.judged+1, s.missed+1
			if f.missed.After(s.lastMiss) {
				s.lastMiss = f.missed
			}
			if own {
				s.mine++
			}
		}
	}
	return s
}

// doubtful says that a fold of the tenant's was not applied so far.
func (h *hindsight) doubtful(tenant string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.tenants.Get(tenant)
	return ok && slices.ContainsFunc(t.folds, func(f *made) bool { return !f.applied })
}
