package compaction

import (
	"context"
	"errors"
)

// summary is a vetted answer.
type summary struct {
	text   string
	tokens int
	model  string
}

// sameModel stands in the configuration for the conversation's own model.
const sameModel = "same"

// candidate is a model to ask.
type candidate struct {
	name string // empty if it is the conversation's own and the client names none
	same bool
}

// candidates lists the models to ask for a job, in order, each once.
func (c *Compactor) candidates(j *job) []candidate {
	var out []candidate
	seen := map[string]bool{}
	for _, name := range c.opt.Models {
		m := candidate{name: name, same: name == sameModel}
		if m.same {
			m.name = j.model
		}
		if !seen[m.name] {
			seen[m.name] = true
			out = append(out, m)
		}
	}
	return out
}

// ask puts a question to the configured models, in order, until one answer
// will do. replaced is the tokens that the answer is to stand in for.
func (c *Compactor) ask(ctx context.Context, j *job, q Question, replaced int) (summary, error) {
	caller := j.caller.Load()
	if caller == nil {
		return summary{}, context.DeadlineExceeded
	}
	q.Caller, q.LimitField = *caller, j.limitField
	var last error
	for _, m := range c.candidates(j) {
		if !c.opt.OwnKey && c.gates.spared(j.tenant) {
			return summary{}, errSpared
		}
		q.Model, q.Same = m.name, m.same
		q.Allowance = allowance(c.opt.Windows.LookupFor(j.tenant, m.name))
		s, err := c.askOne(ctx, j, q, replaced)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		last = err
	}
	return summary{}, last // there is at least one model
}

// errSpared: the client's key met a rate limit a moment ago.
var errSpared = errors.New("the client's quota is spared")

// answerError is an answer that will not do.
type answerError Result

func (e answerError) Error() string { return "summary discarded: " + string(e) }

func (c *Compactor) askOne(ctx context.Context, j *job, q Question, replaced int) (summary, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	a, err := c.opt.Summarizer.Summarize(ctx, q)
	if err != nil {
		c.opt.Observer.Summarized(ResultError, 0, 0)
		var asked *AskError
		if errors.As(err, &asked) && asked.Status == 429 && !c.opt.OwnKey {
			c.gates.limited(j.tenant, asked.RetryAfter)
		}
		return summary{}, err
	}
	text, tokens, result := vet(a, replaced, j.enc.Count)
	if a.Prompt == 0 {
		a.Prompt = j.enc.Count(q.Instructions) + j.enc.Count(q.Transcript)
	}
	c.gates.spend(j.tenant, a.Prompt+a.Completion)
	c.opt.Observer.Summarized(result, a.Prompt, a.Completion)
	if result != ResultOK {
		return summary{}, answerError(result)
	}
	return summary{text: text, tokens: tokens, model: q.Model}, nil
}
