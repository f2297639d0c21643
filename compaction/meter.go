package compaction

import (
	"math"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// meter is what a request costs, in tokens, and counts what else may be sent
// with it in the same measure.
type meter struct {
	messages []int // of each message
	beside   int   // of all that stands beside them
	count    func(text string) int
}

// meter measures a request with nothing remembered and nothing learned.
func (r *request) meter(e tokens.Encoder) meter {
	m := meter{messages: make([]int, len(r.messages)), beside: r.beside(e).total(), count: e.Count}
	for i := range m.messages {
		m.messages[i] = r.tokens(i, e)
	}
	return m
}

// meter measures a request from memory, as far as it was measured before.
func (c *Compactor) meter(r *request, e tokens.Encoder) meter {
	return meter{
		messages: c.costs(r, e),
		beside:   c.besides(r, e),
		count:    func(text string) int { return c.count(e, text) },
	}
}

// times is the meter with all that it says multiplied by a factor. Here alone
// does calibration enter a plan. Which folds are applied is no matter of tokens,
// so no factor moves the prefix; only whether a new one is due depends on it.
func (m meter) times(factor float64) meter {
	if factor == 1 {
		return m
	}
	scaled := func(n int) int { return int(math.Round(float64(n) * factor)) }
	out := meter{messages: make([]int, len(m.messages)), beside: scaled(m.beside)}
	for i, n := range m.messages {
		out.messages[i] = scaled(n)
	}
	out.count = func(text string) int { return scaled(m.count(text)) }
	return out
}
