package compaction

import (
	"slices"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// view is a request, understood: everything that planning needs to know of it,
// and nothing of stores or summarizers. What is decided from it is a function
// of the request and of the fold that was found.
type view struct {
	r       *request
	h       *history
	enc     tokens.Encoder
	limits  window.Limits
	cost    []int // tokens of each message
	extra   int   // tokens of tools, schemas and reply priming
	byChunk [chunkReminder + 1]int
	bounds  []boundary // where a fold may end, oldest first
	trigger int        // tokens of history that are enough for a new fold
	output  int        // tokens reserved for the answer
}

// look groups a request and finds its boundaries, counts and limits. cost is
// the tokens of each message.
func look(r *request, enc tokens.Encoder, limits window.Limits, t Trigger, cost []int) *view {
	v := &view{r: r, h: group(r), enc: enc, limits: limits, cost: cost}
	v.extra = r.extraTokens(enc)
	for i, c := range v.h.chunks(r) {
		v.byChunk[c] += v.cost[i]
	}
	v.bounds = v.h.boundaries(r, v.h.foldable(r))
	v.output = reservedOutput(limits, r.maxOutput)
	v.trigger = t.limit(limits, demand{
		fixed:    v.extra + v.byChunk[chunkSystem] + v.byChunk[chunkExamples] + v.byChunk[chunkReminder],
		reserved: v.output,
		tools:    r.hasTools,
	})
	return v
}

// received is the tokens of the whole input as the client sent it.
func (v *view) received() int {
	n := v.extra
	for _, c := range v.byChunk {
		n += c
	}
	return n
}

// between sums the tokens of the unpinned messages at positions from ≤ p < to.
func (v *view) between(from, to int) int {
	n := 0
	for p := from; p < to; p++ {
		n += v.cost[v.h.msgs[p]]
	}
	return n
}

// applied is a fold in its place in a request.
type applied struct {
	at     boundary // position 0: none
	roots  []root
	text   string // what the model reads
	tokens int    // of the fold's message and its acknowledgement
}

// history is the tokens of the completed turns as they are sent with a fold.
func (v *view) history(f applied) int {
	from, to := v.h.carried(f.at.pos)
	return f.tokens + v.between(from, to) + v.between(f.at.pos, v.h.done)
}

// sent is the tokens of the whole input as it is sent with a fold.
func (v *view) sent(f applied) int {
	from, to := v.h.carried(f.at.pos)
	return v.received() - v.between(0, f.at.pos) + v.between(from, to) + f.tokens
}

// folded is how many messages are not sent because of a fold.
func (v *view) folded(f applied) int {
	from, to := v.h.carried(f.at.pos)
	return f.at.pos - (to - from)
}

// nearWindow is the part of the window from which on a fold is worth making
// whatever it costs.
const nearWindow = 0.7

// gate says why no fold is due; empty means that one is.
type gate string

const (
	gateNone     gate = ""
	gateTrigger  gate = "history is under the trigger"
	gateBoundary gate = "no step of the history ends where a fold may end"
	gateQuarter  gate = "it would retire less than a quarter of the trigger"
	gateFifth    gate = "it would retire less than a fifth of the request"
)

// shortHead is the number of messages up to which a head is not worth a
// summary of its own, so that all that may go is folded (Aider's rule).
const shortHead = 4

// next decides whether a request that is sent with fold f is due a new one,
// and which of the boundaries it should reach: an index into v.bounds. urgent
// says that the request nears its window.
func (v *view) next(f applied) (cut int, urgent bool, why gate) {
	history := v.history(f)
	if history <= v.trigger {
		return 0, false, gateTrigger
	}
	first := 0
	for first < len(v.bounds) && v.bounds[first].pos <= f.at.pos {
		first++
	}
	if first == len(v.bounds) {
		return 0, false, gateBoundary
	}
	cut = v.cut(f, first)

	limit := inputLimit(v.limits, v.output)
	urgent = limit > 0 && float64(v.sent(f)) > nearWindow*float64(limit)
	retired := v.between(f.at.pos, v.bounds[cut].pos)
	if from, to := v.h.carried(v.bounds[cut].pos); from >= f.at.pos {
		retired -= v.between(from, to)
	}
	switch {
	case urgent && retired > 0:
		return cut, urgent, gateNone
	case retired < v.trigger/4:
		return cut, urgent, gateQuarter
	case retired < (v.sent(f)-v.extra)/5:
		return cut, urgent, gateFifth
	}
	return cut, urgent, gateNone
}

// cut picks the boundary at which the history is divided into head and tail:
// the newest one that leaves at least the tail, which is as many whole steps as
// sum to less than half the trigger. Where boundaries are so far apart that the
// tail would still pass the trigger, the next one is taken.
func (v *view) cut(f applied, first int) int {
	tail, sum := v.h.done, 0
	for i, s := range slices.Backward(v.h.steps) {
		if s.to > v.h.done {
			continue
		}
		from := f.at.pos
		if i > 0 {
			from = max(from, v.h.steps[i-1].to)
		}
		sum += v.between(from, tail)
		if sum >= v.trigger/2 || from <= f.at.pos {
			break
		}
		tail = from
	}
	last := len(v.bounds) - 1
	cut := last
	for cut > first && v.bounds[cut].pos > tail {
		cut--
	}
	rest := f.tokens + summaryTokens(v.trigger) + v.between(v.bounds[cut].pos, v.h.done)
	if cut < last && rest > v.trigger {
		cut++
	}
	if v.bounds[cut].pos-f.at.pos <= shortHead {
		return last
	}
	return cut
}
