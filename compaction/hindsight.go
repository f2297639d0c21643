package compaction

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// hindsight remembers what became of the folds that were made here lately.
//
// A client that shortens or edits its own history every turn never sends the
// same prefix twice: each fold made for it is wasted. Such a client is told by
// evidence. A fold was missed when a later request of the tenant holds the very
// messages that the fold ends with, but not the prefix that it was made from.
// A fold that nobody asked for since (its owner went home) is no evidence.
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
	key             string // space and prefix hash
	end             string // the messages that the fold ends with
	applied, missed bool
	at              time.Time // when it was made, then when it was last missed
}

const (
	hindsightTenants = 10_000 // tenants remembered
	hindsightFolds   = 20     // newest folds of a tenant that are judged
	hindsightSample  = 4      // fewer folds say nothing of a tenant
	missesAllowed    = 2      // missed folds of one conversation before it has to wait
	endMessages      = 4      // messages that tell where a fold ends

	missRest = 2 * time.Minute // the first wait of a conversation whose folds are missed
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
func (h *hindsight) made(tenant, key, end string) {
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
	t.folds = append(t.folds, &made{key: key, end: end, at: h.now()})
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
// could be sent with, and where its steps end.
type traces struct{ keys, ends map[string]bool }

// traces finds them for the view's request.
func (v *view) traces(space string) traces {
	t := traces{keys: map[string]bool{}, ends: map[string]bool{}}
	for _, b := range v.h.boundaries(v.r, v.h.done) {
		t.keys[space+b.key] = true
	}
	for _, s := range v.h.steps {
		if s.to <= v.h.done {
			t.ends[v.h.end(v.r, s.to)] = true
		}
	}
	return t
}

// wait is how long a conversation of the tenant has to wait for its next fold:
// after two missed ones of its own it backs off exponentially (2 min, doubled each time, at most an hour), and so does
// every conversation of a tenant most of whose folds were missed. The request's
// traces are looked for only when they matter.
func (h *hindsight) wait(tenant string, look func() traces) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.tenants.Get(tenant)
	if !ok || !t.unapplied() {
		return 0
	}
	now := h.now()
	here := look()
	var own, missed, judged int
	var last time.Time
	for _, f := range t.folds {
		if !f.applied && !f.missed && here.ends[f.end] && !here.keys[f.key] {
			f.missed, f.at = true, now
		}
		if f.missed && !f.applied {
			missed++
			if f.at.After(last) {
				last = f.at
			}
			if here.ends[f.end] {
				own++
			}
		}
		if f.missed || f.applied {
			judged++
		}
	}
	wait := time.Duration(0)
	if own >= missesAllowed {
		wait = backoff(missRest, own-missesAllowed)
	}
	if judged >= hindsightSample && 2*missed > judged {
		wait = max(wait, backoff(missRest, missed-hindsightSample/2))
	}
	return max(0, wait-now.Sub(last))
}

func (t *tenantFolds) unapplied() bool {
	for _, f := range t.folds {
		if !f.applied {
			return true
		}
	}
	return false
}
