package compaction

import (
	"fmt"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// Plans are the options that decide how a request is planned, without a store
// and a summarizer.
type Plans struct {
	Tokens      *tokens.Counter
	Windows     *window.Resolver
	Trigger     Trigger
	Scope       Scope // empty: auto
	KeepFirst   int
	ToolResults ToolResults
}

// Explanation is what would be done with a request, and why.
type Explanation struct {
	Model    string
	Encoding string
	Exact    bool // the counts are, for this model
	Window   window.Limits
	Reserved int // tokens kept free for the answer
	Trigger  int // tokens of history above which a fold is due

	Received int // tokens of the input as the client sends it
	Fixed    int // of these, tools, schemas and the reply's opening
	History  int // tokens of history that are compared with the trigger
	Sent     int // tokens of the input as Body has it

	Messages []Fate
	Turns    int
	Steps    int

	// Due says whether a fold would be asked for, Why why not.
	Due bool
	Why string

	// Body is the request as it would go out once the fold is there (and with
	// old tool results shortened).
	Body []byte
}

// Fate is what becomes of one message.
type Fate struct {
	Index  int // in messages, from 0
	Role   string
	Chunk  string
	Turn   int // from 1; 0 for instructions
	Step   int // from 1, counted through the conversation; 0 for what is no step
	Tokens int
	What   string // "sent", "folded", "shortened" or "stays" (covered by the fold and sent all the same)
}

// Explain plans a request as a Compactor with an empty store would, and goes on
// as if the fold that is due had been made with that summary. It asks nobody.
// The error says why the body is no chat request, and quotes nothing of it.
func (o Plans) Explain(body []byte, summary string) (Explanation, error) {
	r, err := scan(body)
	if err != nil {
		return Explanation{}, err
	}
	r.fingerprint()
	enc := o.Tokens.For(r.model)
	cost := make([]int, len(r.messages))
	for i := range cost {
		cost[i] = r.tokens(i, enc)
	}
	orDefault(&o.Scope, ScopeAuto)
	orDefault(&o.ToolResults.Keep, resultsKept)
	p := policy{trigger: o.Trigger, scope: o.Scope, keep: o.KeepFirst, results: o.ToolResults}
	v := look(r, enc, o.Windows.Lookup(r.model), p, cost, enc.Count)

	e := Explanation{
		Model: r.model, Encoding: enc.Name(), Exact: enc.Exact(), Window: v.limits, Reserved: v.output, Trigger: v.limit,
		Received: v.received(), Fixed: v.extra, History: v.history(applied{}, v.h.done),
		Turns: len(v.h.turns), Steps: len(v.h.steps),
	}
	var f applied
	d, why := v.next(f)
	if e.Due = why == gateNone; e.Due {
		f = v.imagine(d.at, summary)
	} else {
		e.Why = string(why)
	}
	e.Body, e.Sent = v.send(f), v.sent(f)
	e.Messages = v.fates(f)
	return e, nil
}

// imagine is the fold that is due, as if it were made with that summary.
func (v *view) imagine(at boundary, summary string) applied {
	if summary == "" {
		summary = fmt.Sprintf("(a summary of %d messages, of up to %d tokens)", at.pos, summaryTokens(v.limit))
	}
	roots := []root{{From: 1, To: at.pos, Summary: summary}}
	return v.applied(at, roots, v.enc.Count)
}

// fates says what becomes of each message.
func (v *view) fates(f applied) []Fate {
	chunks := v.h.chunks(v.r)
	out := make([]Fate, len(v.r.messages))
	for i := range out {
		m := &v.r.messages[i]
		out[i] = Fate{
			Index: i, Role: string(decoded(m.fields.role.in(v.r.body))), Chunk: chunks[i].String(),
			Tokens: v.cost[i], What: "sent",
		}
		if _, ok := v.short[i]; ok {
			out[i].What = "shortened"
		}
	}
	for n, t := range v.h.turns {
		for p := t.from; p < t.to; p++ {
			out[v.h.msgs[p]].Turn = n + 1
		}
	}
	for n, s := range v.h.steps {
		for p := s.from; p < s.to; p++ {
			out[v.h.msgs[p]].Step = n + 1
		}
	}
	for p := range f.at.pos {
		out[v.h.msgs[p]].What = "folded"
	}
	for _, p := range f.stays {
		out[v.h.msgs[p]].What = "stays"
	}
	return out
}
