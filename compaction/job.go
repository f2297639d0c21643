package compaction

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// job is one fold to be made. It holds copies of the messages that it needs
// and nothing else of the request, and outlives it.
type job struct {
	order

	session    string // whose it is, for hindsight
	model      string // the conversation's own
	limitField string
	enc        tokens.Encoder
	limit      int        // the trigger, in tokens
	roots      []root     // of the fold in use
	places     []boundary // where a pass may end, the last one where the job does; without a key where no record may stand
	turn       int        // where the turn begins that the new fold ends in; negative: it ends between turns
	copied     []byte     // a chat body that holds the messages alone
	messages   []source   // what they are, in that order
	end        string     // how the new fold will end, for hindsight

	caller   atomic.Pointer[Caller] // nil once the deadline has passed
	forget   *time.Timer            // takes it away then
	deadline time.Time
}

// jobLife is how long after a request its job may run: for so long the
// client's credential is kept.
const jobLife = 2 * time.Minute

// source is one message that a job reads.
type source struct {
	pos   int  // its position among the request's unpinned messages
	cost  int  // tokens
	stays bool // it is sent all the same, behind the fold or in front of it
}

// sources are the messages that a fold up to a position needs. The user
// messages of a turn that the fold in use went through stood verbatim behind
// it; they come first.
func (v *view) sources(f applied, to int) []source {
	positions := v.h.carried(v.r, f.at.pos, v.keep)
	for p := f.at.pos; p < to; p++ {
		positions = append(positions, p)
	}
	stay := map[int]bool{}
	for _, p := range slices.Concat(v.h.carried(v.r, to, v.keep), v.h.kept(v.r, to, v.keep)) {
		stay[p] = true
	}
	out := make([]source, len(positions))
	for n, p := range positions {
		out[n] = source{pos: p, cost: v.between(p, p+1), stays: stay[p]}
	}
	return out
}

// copies is how many bytes the copies of the messages take.
func (v *view) copies(list []source) int {
	size := len(`{"messages":[]}`)
	for _, s := range list {
		size += v.r.messages[v.h.msgs[s.pos]].len() + 1
	}
	return size
}

// newJob copies what a fold up to a boundary needs.
func newJob(v *view, f applied, at boundary, list []source) *job {
	j := &job{
		model: v.r.model, limitField: v.r.limitField, enc: v.enc, limit: v.limit,
		roots: f.roots, messages: list,
		end: v.h.end(v.r, at.pos), turn: v.h.turnOfCut(at.pos), places: v.places(f, at),
	}
	j.copied = append(make([]byte, 0, v.copies(list)), `{"messages":[`...)
	for n, s := range list {
		if n > 0 {
			j.copied = append(j.copied, ',')
		}
		j.copied = append(j.copied, v.r.messages[v.h.msgs[s.pos]].in(v.r.body)...)
	}
	j.copied = append(j.copied, "]}"...)
	return j
}

// places are the boundaries behind fold f, up to and with at. A record is kept
// only at those that leave a valid list of messages, as at does: a fork may come
// back to one.
func (v *view) places(f applied, at boundary) []boundary {
	var out []boundary
	for _, b := range v.bounds {
		if b.pos <= f.at.pos || b.pos > at.pos {
			continue
		}
		if b.pos < at.pos && !v.validAt(b) {
			b.key = ""
		}
		out = append(out, b)
	}
	return out
}

// from is the position where the fold in use ends.
func (j *job) from() int {
	if len(j.roots) == 0 {
		return 0
	}
	return j.roots[len(j.roots)-1].To
}

// pass is one question: messages that one summarizer can read at once.
type pass struct {
	texts    []string // more than one: a stretch too long for one question
	replaced int      // tokens of the messages that are no longer sent because of it
	end      boundary // where it ends; the record goes under its key, if it has one
	among    bool     // it is not the job's only one
	inTurn   bool     // it tells of work on a request that stays in view
}

// ends are the places where a pass may end: the boundaries, and the place
// between turns where what is finished parts from what was done for the request
// in view. Nothing is stored there, unless it is a boundary.
func (j *job) ends() []boundary {
	var out []boundary
	for _, b := range j.places {
		if n := len(out); j.turn > j.from() && b.pos > j.turn && (n == 0 || out[n-1].pos < j.turn) {
			out = append(out, boundary{pos: j.turn})
		}
		out = append(out, b)
	}
	return out
}

// passes divides the job's messages into stretches of at most budget tokens.
// Where two ends stand further apart than that, the stretch between them is
// divided again, wherever the text allows.
func (j *job) passes(budget int) ([]pass, error) {
	r, err := scan(j.copied)
	if err != nil {
		return nil, fmt.Errorf("copied messages: %w", err)
	}
	var out []pass
	var text strings.Builder
	var replaced, size, next int
	flush := func(end boundary) {
		out = append(out, pass{
			texts: divide(text.String(), budget, j.enc.Count), replaced: replaced, end: end,
			inTurn: j.turn >= 0 && end.pos > j.turn,
		})
		text.Reset()
		replaced, size = 0, 0
	}
	ends := j.ends()
	for n, b := range ends {
		var part strings.Builder
		gain := 0
		for ; next < len(j.messages) && j.messages[next].pos < b.pos; next++ {
			s, o := j.messages[next], r.outline(next)
			if s.stays {
				o.abridge()
			} else {
				gain += s.cost
			}
			part.WriteString(o.render(s.pos + 1))
			part.WriteByte('\n')
		}
		partSize := j.enc.Count(part.String())
		if size > 0 && (size+partSize > budget || ends[n-1].pos == j.turn) {
			flush(ends[n-1])
		}
		text.WriteString(part.String())
		replaced, size = replaced+gain, size+partSize
	}
	flush(ends[len(ends)-1])
	for i := range out {
		out[i].among = len(out) > 1
	}
	return out, nil
}

// divide cuts text into parts of at most budget tokens each, at line ends
// where there are any. A part of a few bytes is not divided further.
func divide(text string, budget int, count func(string) int) []string {
	size := count(text)
	if size <= budget || len(text) < 64 {
		return []string{text}
	}
	n := cutRunes(text, len(text)/2)
	if i := strings.LastIndexByte(text[:n], '\n'); i > n/2 {
		n = i + 1
	}
	if n == 0 { // bytes that are no UTF-8
		n = len(text) / 2
	}
	return append(divide(text[:n], budget, count), divide(text[n:], budget, count)...)
}
