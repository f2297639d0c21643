package compaction

import (
	"slices"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// policy is what the configuration says of how requests are planned.
type policy struct {
	trigger Trigger
	scope   Scope
	keep    int // user messages at the beginning that are never left out
	results ToolResults
}

// view is a request, understood: everything that planning needs to know of it,
// and nothing of stores or summarizers. What is decided from it is a function
// of the request and of the fold that was found.
type view struct {
	policy

	r       *request
	h       *history
	enc     tokens.Encoder
	limits  window.Limits
	count   func(string) int  // tokens of a text
	cost    []int             // tokens of each message
	short   map[int]shortened // messages whose tool results are shortened, by index
	sum     []int             // tokens of the unpinned messages before each position, as they are sent
	extra   int               // tokens of tools, schemas and reply priming
	byChunk [chunkReminder + 1]int
	bounds  []boundary // where a fold may end, oldest first
	limit   int        // tokens of history that are enough for a new fold
	output  int        // tokens reserved for the answer
}

// look groups a request and finds its boundaries, counts and limits.
func look(r *request, enc tokens.Encoder, limits window.Limits, p policy, m meter) *view {
	v := &view{policy: p, r: r, h: group(r), enc: enc, limits: limits, count: m.count, cost: m.messages, extra: m.beside}
	for i, c := range v.h.chunks(r) {
		v.byChunk[c] += v.cost[i]
	}
	v.shorten()
	v.addUp()
	v.bounds = v.h.boundaries(r, v.h.foldable(r, p.scope != ScopeTurns))
	v.output = reservedOutput(limits, r.maxOutput)
	v.limit = p.trigger.limit(limits, demand{
		fixed:    v.extra + v.byChunk[chunkSystem] + v.byChunk[chunkExamples] + v.byChunk[chunkReminder],
		reserved: v.output,
		tools:    r.hasTools,
	})
	return v
}

// addUp sums the tokens of the unpinned messages as they are sent.
func (v *view) addUp() {
	v.sum = make([]int, len(v.h.msgs)+1)
	for pos, i := range v.h.msgs {
		c := v.cost[i]
		if s, ok := v.short[i]; ok {
			c = s.tokens
		}
		v.sum[pos+1] = v.sum[pos] + c
	}
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
func (v *view) between(from, to int) int { return v.sum[max(from, to)] - v.sum[from] }

// applied is a fold in its place in a request.
type applied struct {
	at     boundary // position 0: none
	roots  []root
	text   string // what the model reads
	tokens int    // of the fold's message and of what acknowledges it and the kept messages
	stays  []int  // positions of messages that it covers and that are sent all the same
}

// applied puts a fold's roots in their place.
func (v *view) applied(at boundary, roots []root) applied {
	f := applied{at: at, roots: roots, text: foldText(roots, v.h.turnOfCut(at.pos)), stays: v.stays(at.pos)}
	acknowledgements := len(v.h.kept(v.r, at.pos, v.keep))
	if v.h.acknowledge(v.r, at.pos) {
		acknowledgements++
	}
	f.tokens = v.count(f.text) + tokens.MessageOverhead +
		acknowledgements*(v.count(acknowledgement)+tokens.MessageOverhead)
	return f
}

// arrange lays the request out with a fold, if there is one.
func (v *view) arrange(f applied) layout {
	if f.at.pos == 0 {
		return layout{}.keep(0, len(v.r.messages))
	}
	return arrange(v.r, v.h, f.at.pos, v.keep, f.text)
}

// send is the body to send: the very bytes of the request where nothing is to
// be changed.
func (v *view) send(f applied) []byte {
	if f.at.pos == 0 && len(v.short) == 0 {
		return v.r.withoutPleat()
	}
	return v.arrange(f).splice(v.r, v.short)
}

// stays are the positions of the messages before a cut that are sent all the
// same: kept ones, and those that opened the turn which the cut goes through.
func (v *view) stays(cut int) []int {
	return slices.Concat(v.h.kept(v.r, cut, v.keep), v.h.carried(v.r, cut, v.keep))
}

// tokensAt sums the tokens of the messages at the positions before end.
func (v *view) tokensAt(positions []int, end int) int {
	n := 0
	for _, p := range positions {
		if p < end {
			n += v.between(p, p+1)
		}
	}
	return n
}

// sent is the tokens of the whole input as it is sent with a fold.
func (v *view) sent(f applied) int {
	whole := v.received()
	for i, s := range v.short {
		whole += s.tokens - v.cost[i]
	}
	return whole - v.between(0, f.at.pos) + v.tokensAt(f.stays, f.at.pos) + f.tokens
}

// folded is how many messages are not sent because of a fold.
func (v *view) folded(f applied) int { return f.at.pos - len(f.stays) }

// history is the tokens, as they are sent with a fold, of what stands before
// the position end and may one day be folded.
func (v *view) history(f applied, end int) int {
	return f.tokens + v.between(f.at.pos, end) + v.tokensAt(f.stays, v.h.done)
}
