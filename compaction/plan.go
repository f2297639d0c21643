package compaction

import "slices"

// nearWindow is the part of the window from which on a fold is worth making
// however little it retires, and steps of the current turn may go as well.
const nearWindow = 0.7

// gate says why no fold is due; empty means that one is.
type gate string

const (
	gateNone     gate = ""
	gateTrigger  gate = "history is under the trigger"
	gateBoundary gate = "no step of the history ends where a fold may end"
	gateQuarter  gate = "it would retire less than a quarter of the trigger"
	gateFifth    gate = "it would retire less than a fifth of the request"
	gateValid    gate = "no cut leaves a valid list of messages"
)

// due is a fold that a request calls for.
type due struct {
	at       boundary // where it is to end
	retires  int      // tokens of messages that are sent no longer because of it; 0 where there is no place to end
	overflow bool     // without it the request passes its window: neither cost nor hindsight count
}

// stretch is what a request has to fold: the history ends at position end, and
// of it what stands before reach may go.
type stretch struct {
	end, reach int
	near       bool // the request, as sent, nears the window
	over       bool // or passes it
}

// span is the stretch of a request that is sent with fold f.
func (v *view) span(f applied) stretch {
	window, sent := float64(inputLimit(v.limits, v.output)), float64(v.sent(f))
	s := stretch{near: window > 0 && sent > nearWindow*window, over: window > 0 && sent > window}
	if v.scope == ScopeSteps || v.scope == ScopeAuto && s.near {
		s.end, s.reach = v.h.newest(), v.h.foldable(v.r, true)
	} else {
		s.end, s.reach = v.h.done, v.h.foldable(v.r, false)
	}
	return s
}

// next decides whether a request that is sent with fold f is due a new one.
func (v *view) next(f applied) (due, gate) {
	s := v.span(f)
	d := due{overflow: s.over}
	if v.history(f, s.end) <= v.limit {
		return d, gateTrigger
	}
	candidates := beyond(v.bounds, f.at.pos)
	candidates = candidates[:len(candidates)-len(beyond(candidates, s.reach))]
	if len(candidates) == 0 {
		return d, gateBoundary
	}
	cut, ok := v.validCut(candidates, v.cut(f, s.end, candidates))
	if !ok {
		return d, gateValid
	}
	d.at = candidates[cut]
	d.retires = v.between(f.at.pos, d.at.pos)
	for _, p := range v.stays(d.at.pos) {
		if p >= f.at.pos {
			d.retires -= v.between(p, p+1)
		}
	}
	switch {
	case s.near && d.retires > 0:
		return d, gateNone
	case d.retires < v.limit/4:
		return d, gateQuarter
	case d.retires < (v.sent(f)-v.extra)/5:
		return d, gateFifth
	}
	return d, gateNone
}

// cutsTried is how many cuts are looked at for one that leaves a valid list.
const cutsTried = 16

// validCut is the cut, or the nearest one before it, else after it, that leaves
// a list of messages as valid as the client's. Next to calls that were never
// answered, or answered late, not every step's end does.
func (v *view) validCut(candidates []boundary, cut int) (int, bool) {
	for i := cut; i >= 0 && i > cut-cutsTried; i-- {
		if v.validAt(candidates[i]) {
			return i, true
		}
	}
	for i := cut + 1; i < len(candidates) && i < cut+cutsTried; i++ {
		if v.validAt(candidates[i]) {
			return i, true
		}
	}
	return 0, false
}

// validAt says whether a fold up to the boundary leaves a valid list of messages.
func (v *view) validAt(b boundary) bool {
	return arrange(v.r, v.h, b.pos, v.keep, foldOpening).check(v.r) == nil
}

// fewMessages is the number of messages up to which a head is not worth a
// summary of its own, so that all that may go is folded (Aider's rule).
const fewMessages = 4

// cut picks the candidate that divides the history before the position end into
// head and tail: the newest one that leaves at least the tail, which is as many
// whole steps as sum to less than half the trigger. Where boundaries are so far
// apart that the tail would still pass the trigger, the next one is taken.
func (v *view) cut(f applied, end int, candidates []boundary) int {
	tail, last := v.tail(f, end), len(candidates)-1
	cut := last
	for cut > 0 && candidates[cut].pos > tail {
		cut--
	}
	rest := f.tokens + summaryTokens(v.limit) + v.between(candidates[cut].pos, end)
	if cut < last && rest > v.limit {
		cut++
	}
	if candidates[cut].pos-f.at.pos <= fewMessages {
		return last
	}
	return cut
}

// tail is the position at which the tail of the history before end begins.
func (v *view) tail(f applied, end int) int {
	tail := end
	for i, s := range slices.Backward(v.h.steps) {
		if s.to > end {
			continue
		}
		from := f.at.pos
		if i > 0 {
			from = max(from, v.h.steps[i-1].to)
		}
		if from <= f.at.pos || v.between(from, end) >= v.limit/2 {
			break
		}
		tail = from
	}
	return tail
}
