package compaction

import (
	"context"
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
	tenant, space string
	model         string // the conversation's own
	limitField    string
	enc           tokens.Encoder
	trigger       int
	base          string     // the key of the fold in use, empty if there is none
	roots         []root     // of the fold in use
	bounds        []boundary // after the fold in use, up to where the new one shall reach
	copied        []byte     // a chat body that holds the messages alone
	carried       int        // the first so many of them stand before the roots' end
	from          int        // position of the first message that is not carried
	cost          []int      // tokens of each copied message
	end           string     // how the new fold will end, for hindsight
	urgent        bool

	caller   atomic.Pointer[Caller] // nil once the deadline has passed
	forget   *time.Timer            // takes it away then
	deadline time.Time
}

// newJob copies what a fold up to v.bounds[cut] needs. The user messages of a
// turn that the fold in use went through stood verbatim behind it; they come
// first in the new summary's transcript.
func newJob(v *view, f applied, cut int, urgent bool) *job {
	j := &job{
		model: v.r.model, limitField: v.r.limitField, enc: v.enc, trigger: v.trigger,
		base: f.at.key, roots: f.roots, from: f.at.pos, urgent: urgent,
		end: v.h.end(v.r, v.bounds[cut].pos),
	}
	for _, b := range v.bounds[:cut+1] {
		if b.pos > f.at.pos {
			j.bounds = append(j.bounds, b)
		}
	}
	carriedFrom, carriedTo := v.h.carried(f.at.pos)
	j.carried = carriedTo - carriedFrom
	var list []int
	list = append(list, v.h.msgs[carriedFrom:carriedTo]...)
	list = append(list, v.h.msgs[f.at.pos:v.bounds[cut].pos]...)

	size := len(`{"messages":[]}`)
	for _, i := range list {
		size += v.r.messages[i].to - v.r.messages[i].from + 1
	}
	j.copied = append(make([]byte, 0, size), `{"messages":[`...)
	for n, i := range list {
		if n > 0 {
			j.copied = append(j.copied, ',')
		}
		j.copied = append(j.copied, v.r.body[v.r.messages[i].from:v.r.messages[i].to]...)
		j.cost = append(j.cost, v.cost[i])
	}
	j.copied = append(j.copied, "]}"...)
	return j
}

// size is what the job holds, in bytes.
func (j *job) size() int64 { return int64(cap(j.copied)) + int64(len(j.cost)+len(j.bounds)*4)*8 }

// pass is one question: messages that one summarizer can read at once.
type pass struct {
	texts    []string // more than one: a stretch too long for one question
	replaced int      // tokens of the messages that it covers
	end      boundary // where it ends; the record goes under its key
}

// passes divides the job's messages into stretches of at most budget tokens
// that end at boundaries. Where two boundaries stand further apart than that,
// the stretch between them is divided again, wherever the text allows.
func (j *job) passes(budget int) ([]pass, error) {
	r, err := scan(j.copied)
	if err != nil {
		return nil, fmt.Errorf("copied messages: %w", err)
	}
	var out []pass
	var text strings.Builder
	var cost, size, next int
	flush := func(end boundary) {
		out = append(out, pass{texts: divide(text.String(), size, budget), replaced: cost, end: end})
		text.Reset()
		cost, size = 0, 0
	}
	for n, b := range j.bounds {
		var part strings.Builder
		partCost := 0
		for ; next < len(r.messages) && j.position(next) < b.pos; next++ {
			o := r.outline(next)
			part.WriteString(o.render(j.position(next) + 1))
			part.WriteByte('\n')
			partCost += j.cost[next]
		}
		partSize := j.enc.Count(part.String())
		if size > 0 && size+partSize > budget {
			flush(j.bounds[n-1])
		}
		text.WriteString(part.String())
		cost, size = cost+partCost, size+partSize
	}
	flush(j.bounds[len(j.bounds)-1])
	return out, nil
}

// position is the place of copied message n among the request's unpinned ones.
// A carried message takes the number of the first message after the fold in
// use, less its distance to it: it stood before.
func (j *job) position(n int) int { return j.from + n - j.carried }

// divide cuts text of so many tokens into parts of about budget tokens each.
func divide(text string, size, budget int) []string {
	parts := (size + budget - 1) / budget
	if parts <= 1 {
		return []string{text}
	}
	var out []string
	for limit := len(text)/parts + 1; len(text) > 0; {
		n := cutRunes(text, limit)
		if i := strings.LastIndexByte(text[:n], '\n'); i > n/2 && n < len(text) {
			n = i + 1
		}
		if n == 0 { // bytes that are no UTF-8
			n = min(limit, len(text))
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// make asks for the job's summaries and puts each record as it is made. It
// returns the key of the last one.
func (c *Compactor) make(ctx context.Context, j *job) (key string, err error) {
	passes, err := j.passes(c.passBudget(j))
	if err != nil {
		return "", err
	}
	roots := j.roots
	for _, p := range passes {
		next, err := c.summarize(ctx, j, roots, p)
		if err != nil {
			return key, err
		}
		roots = c.merge(ctx, j, append(slices.Clip(roots), next))
		if key, err = c.put(ctx, j, p.end, roots); err != nil {
			return key, err
		}
	}
	return key, nil
}

// summarize has one pass summarized and returns its root.
func (c *Compactor) summarize(ctx context.Context, j *job, roots []root, p pass) (root, error) {
	from := 1
	if len(roots) > 0 {
		from = roots[len(roots)-1].To + 1
	}
	next := root{From: from, To: p.end.pos}
	var parts []string
	want := summaryTokens(j.trigger)
	for _, text := range p.texts {
		q := Question{
			Instructions: withLength(instructions, want),
			Transcript:   messagesTranscript(roots, text),
			MaxTokens:    want,
		}
		a, err := c.ask(ctx, j, q, p.replaced/len(p.texts))
		if err != nil {
			return root{}, err
		}
		parts = append(parts, a.text)
		next.Tokens += a.tokens
		next.Model = a.model
	}
	next.Summary = strings.Join(parts, "\n\n")
	return next, nil
}

// merge brings the roots under a quarter of the trigger, one merge at a time.
// A merge that fails leaves them as they are: they are good, only long.
func (c *Compactor) merge(ctx context.Context, j *job, roots []root) []root {
	for rootTokens(roots) > j.trigger/4 {
		from, to := mergeable(roots)
		if from == to {
			break
		}
		run := roots[from:to]
		want := summaryTokens(j.trigger)
		a, err := c.ask(ctx, j, Question{
			Instructions: withLength(mergeInstructions, want),
			Transcript:   mergeTranscript(run),
			MaxTokens:    want,
		}, rootTokens(run))
		if err != nil {
			break
		}
		merged := root{From: run[0].From, To: run[len(run)-1].To, Summary: a.text, Tokens: a.tokens, Model: a.model}
		for _, r := range run {
			merged.Level = max(merged.Level, r.Level+1)
		}
		next := append([]root{}, roots[:from]...)
		next = append(next, merged)
		roots = append(next, roots[to:]...)
	}
	return roots
}

// put stores a record. One that is there already was made from the same
// messages by somebody else, and serves as well.
func (c *Compactor) put(ctx context.Context, j *job, at boundary, roots []root) (string, error) {
	value, err := encodeFold(roots)
	if err != nil {
		return "", fmt.Errorf("encoding a fold: %w", err)
	}
	if _, err := c.opt.Store.PutIfAbsent(ctx, j.space, at.key, value, c.opt.FoldLife); err != nil {
		c.opt.Observer.StoreFailed("PutIfAbsent", err)
		return "", storeError{err}
	}
	return at.key, nil
}

// storeError is a failure of the store: it says nothing about the summarizer
// and does not make a conversation rest.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// Bounds of what one question may hold, in tokens.
const (
	passUnknown = 12_000 // where the summarizer's window is unknown
	passMax     = 48_000 // however large its window: longer texts are summarized worse
	passMin     = 1_000

	// answerRoom is what a question leaves free for its answer: the longest
	// summary, and as much again for a model that reasons first.
	answerRoom = 2 * summaryMax
)

// passBudget is how much of a transcript fits into one question to every one
// of the models that may be asked.
func (c *Compactor) passBudget(j *job) int {
	budget := passMax
	for _, m := range c.candidates(j) {
		limit := inputLimit(c.opt.Windows.Lookup(m.name), answerRoom)
		if limit == 0 {
			limit = passUnknown
		}
		// Instructions, context and the difference between two tokenizers.
		budget = min(budget, (limit-rootTokens(j.roots)-1000)*3/4)
	}
	return max(budget, passMin)
}

// jobLife is how long after a request its job may run: for so long the
// client's credential is kept.
const jobLife = 2 * time.Minute
