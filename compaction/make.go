package compaction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// make asks for the job's summaries and puts each record as it is made. It
// returns the key of the last one that was stored, empty if there is none.
func (c *Compactor) make(ctx context.Context, j *job) (key string, err error) {
	passes, err := j.passes(c.budget(j).text)
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
		if p.end.key == "" {
			continue
		}
		stored, err := c.put(ctx, j, p.end, roots)
		if err != nil {
			return key, err
		}
		if stored {
			key = p.end.key
		}
	}
	return key, nil
}

// verbatim is how few tokens of text stand for themselves where they are one
// pass among several (a greeting before a long piece of work, say): of so little
// nobody can be asked for something clearly shorter, and the rest of the job
// must not fail for it.
const verbatim = 2 * summaryMin

// summarize has one pass summarized and returns its root. It asks for no more
// than a third of what the summary replaces: more would be refused.
func (c *Compactor) summarize(ctx context.Context, j *job, roots []root, p pass) (root, error) {
	next := root{From: 1, To: p.end.pos}
	if len(roots) > 0 {
		next.From = roots[len(roots)-1].To + 1
	}
	if n := j.enc.Count(p.texts[0]); p.among && len(p.texts) == 1 && n <= verbatim {
		next.Summary, next.Tokens = p.texts[0], n
		return next, nil
	}
	known := newest(roots, c.budget(j).context)
	want := min(summaryTokens(j.limit), max(p.replaced/len(p.texts)/3, summaryMin))
	var parts []string
	for _, text := range p.texts {
		a, err := c.ask(ctx, j, Question{
			Instructions: withLength(instructions, want),
			Transcript:   messagesTranscript(known, text, p.inTurn),
			MaxTokens:    want,
		}, p.replaced/len(p.texts))
		if err != nil {
			return root{}, err
		}
		parts = append(parts, a.text)
		next.Tokens += a.tokens
		next.Model = a.model
	}
	next.Summary = strings.Join(parts, "\n\n")
	if len(parts) > 1 && next.Tokens > 2*want {
		c.condense(ctx, j, &next)
	}
	return next, nil
}

// condense shortens a root that was written in parts. If that fails it stays as
// it is: it is good, only long.
func (c *Compactor) condense(ctx context.Context, j *job, r *root) {
	if r.Tokens > c.budget(j).text {
		return
	}
	if a, err := c.askMerge(ctx, j, []root{*r}); err == nil {
		r.Summary, r.Tokens, r.Model = a.text, a.tokens, a.model
	}
}

// newest is as many of the newest roots as have at most so many tokens.
func newest(roots []root, limit int) []root {
	from := len(roots)
	for from > 0 && rootTokens(roots[from-1:]) <= limit {
		from--
	}
	return roots[from:]
}

// merge brings the roots under a quarter of the trigger, one merge at a time.
// Roots that are no equals are merged only above half the trigger: a summarizer
// that is given to length would else have every summary summarized again each
// time. A merge that fails leaves the roots as they are.
func (c *Compactor) merge(ctx context.Context, j *job, roots []root) []root {
	for rootTokens(roots) > j.limit/4 {
		from, to, equal := mergeable(roots, j.turn)
		if from == to || !equal && rootTokens(roots) <= j.limit/2 {
			break
		}
		for to-from > 2 && rootTokens(roots[from:to]) > c.budget(j).text {
			to--
		}
		run := roots[from:to]
		if b := c.budget(j); rootTokens(run) > b.text+b.context {
			break
		}
		a, err := c.askMerge(ctx, j, run)
		if err != nil {
			break
		}
		merged := root{From: run[0].From, To: run[len(run)-1].To, Summary: a.text, Tokens: a.tokens, Model: a.model}
		for _, r := range run {
			merged.Level = max(merged.Level, r.Level+1)
		}
		roots = slices.Concat(roots[:from], []root{merged}, roots[to:])
	}
	return roots
}

func (c *Compactor) askMerge(ctx context.Context, j *job, run []root) (summary, error) {
	want := min(summaryTokens(j.limit), max(rootTokens(run)/2, summaryMin))
	return c.ask(ctx, j, Question{
		Instructions: withLength(mergeInstructions, want),
		Transcript:   mergeTranscript(run),
		MaxTokens:    want,
	}, rootTokens(run))
}

// put stores a record and reports whether it did. One that is there already was
// made from the same messages by somebody else, and serves as well.
func (c *Compactor) put(ctx context.Context, j *job, at boundary, roots []root) (stored bool, err error) {
	value, err := encodeFold(roots)
	if err != nil {
		return false, fmt.Errorf("encoding a fold: %w", err)
	}
	if stored, err = c.opt.Store.PutIfAbsent(ctx, j.space, at.key, value, c.opt.FoldLife); err != nil {
		c.storeFailed("PutIfAbsent", err)
		return false, storeError{err}
	}
	return stored, nil
}

// storeError is a failure of the store: it says nothing about the summarizer
// and does not make a conversation rest.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// budget is how many tokens of each kind fit into one question to every one of
// the models that may be asked.
type budget struct {
	text    int // of messages, or of summaries to be merged
	context int // of summaries that there are already
}

// Bounds of what one question may hold, in tokens.
const (
	questionUnknown = 12_000 // where the summarizer's window is unknown
	questionMax     = 48_000 // however large its window: longer texts are summarized worse
	questionMin     = 256
	questionFrame   = 1_000 // instructions and fences

	// reasoning is how many tokens more than the summary wanted an answer may
	// have: a model that reasons spends them first, out of the same limit, and
	// would else be cut off before its first visible word. With the longest
	// summary it comes to 4,096, the smallest output limit among models in use.
	reasoning = 2048
)

// allowance is the room for reasoning in a window of that size.
func allowance(l window.Limits) int {
	if w := windowInput(l); w > 0 {
		return min(reasoning, w/8)
	}
	return reasoning
}

// budget divides what fits, less a quarter for the difference between two
// tokenizers, in four parts: three for the text and one for its context.
func (c *Compactor) budget(j *job) budget {
	all := questionMax
	for _, m := range c.candidates(j) {
		limits := c.opt.Windows.LookupFor(j.tenant, m.name)
		limit := inputLimit(limits, summaryTokens(j.limit)+allowance(limits))
		if limit == 0 {
			limit = questionUnknown
		}
		all = min(all, (limit-questionFrame)*3/4)
	}
	all = max(all, questionMin)
	return budget{text: all * 3 / 4, context: all / 4}
}
