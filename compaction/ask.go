package compaction

import (
	"context"
	"errors"
	"fmt"
)

// summary is a vetted answer.
type summary struct {
	text   string
	tokens int
	model  string
}

// sameModel stands in the configuration for the conversation's own model.
const sameModel = "same"

// models lists the models to ask for a job, in order, each once.
func (c *Compactor) models(j *job) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, m := range c.opt.Models {
		if m == sameModel {
			m = j.model
		}
		if !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	return out
}

// errNoModel: summarizer.models is "same" and the client names no model.
var errNoModel = errors.New("no summarizer model: the request names none")

// ask puts a question to the configured models, in order, until one answer
// will do. replaced is the tokens that the answer is to stand in for.
func (c *Compactor) ask(ctx context.Context, j *job, q Question, replaced int) (summary, error) {
	caller := j.caller.Load()
	if caller == nil {
		return summary{}, context.DeadlineExceeded
	}
	q.Caller, q.LimitField = *caller, j.limitField
	last := errNoModel
	for _, model := range c.models(j) {
		if !c.opt.OwnKey && c.gates.spared(j.tenant) {
			return summary{}, errSpared
		}
		q.Model = model
		s, err := c.askOne(ctx, j, q, replaced)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		last = err
	}
	return summary{}, last
}

// errSpared: the client's key met a rate limit a moment ago.
var errSpared = errors.New("the client's quota is spared")

// badAnswer is an answer that will not do.
type badAnswer Result

func (e badAnswer) Error() string { return fmt.Sprintf("summary discarded: %s", string(e)) }

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
		return summary{}, badAnswer(result)
	}
	return summary{text: text, tokens: tokens, model: q.Model}, nil
}
