package compaction

import (
	"fmt"
	"slices"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// Plans are the options that decide how a request is planned, without a store
// and a summarizer.
type Plans struct {
	Model       string // in place of the one that the request names; empty: that one
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

	// Due says whether a fold would be asked for, Why why not. Retires is the
	// tokens of the messages that it would stand in for, whether it is due or is
	// not worth it; 0 where no fold could be made.
	Due     bool
	Why     string
	Retires int
	Fold    int // tokens of what stands in for them; 0 if none is due

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
	Sent   int    // tokens that it is sent with; 0 if it is folded
	Why    string // a few words
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
	if o.Model != "" {
		r.model, r.rates = o.Model, ratesOf(o.Model)
	}
	enc := o.Tokens.For(r.model)
	orDefault(&o.Scope, ScopeAuto)
	orDefault(&o.ToolResults.Keep, resultsKept)
	p := policy{trigger: o.Trigger, scope: o.Scope, keep: o.KeepFirst, results: o.ToolResults}
	v := look(r, enc, o.Windows.Lookup(r.model), p, r.meter(enc))

	e := Explanation{
		Model: r.model, Encoding: enc.Name(), Exact: enc.Exact(), Window: v.limits, Reserved: v.output, Trigger: v.limit,
		Received: v.received(), Fixed: v.extra, History: v.history(applied{}, v.span(applied{}).end),
		Turns: len(v.h.turns), Steps: len(v.h.steps),
	}
	var f applied
	d, why := v.next(f)
	e.Retires = d.retires
	if e.Due = why == gateNone; e.Due {
		f = v.imagine(d.at, summary)
		e.Fold = f.tokens
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
	return v.applied(at, roots)
}

// fates says what becomes of each message.
func (v *view) fates(f applied) []Fate {
	chunks := v.h.chunks(v.r)
	out := make([]Fate, len(v.r.messages))
	for i := range out {
		m := &v.r.messages[i]
		out[i] = Fate{
			Index: i, Role: string(decoded(m.fields.role.in(v.r.body))), Chunk: chunks[i].String(),
			Tokens: v.cost[i], What: "sent", Sent: v.cost[i], Why: "an instruction",
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
	for p, i := range v.h.msgs {
		out[i].What, out[i].Why = v.fate(f, p)
		switch out[i].What {
		case "folded":
			out[i].Sent = 0
		case "shortened":
			out[i].Sent = v.short[i].tokens
		}
	}
	return out
}

// fate says what becomes of the message at position p, and why.
func (v *view) fate(f applied, p int) (what, why string) {
	_, isShort := v.short[v.h.msgs[p]]
	switch {
	case slices.Contains(f.stays, p):
		if slices.Contains(v.h.kept(v.r, f.at.pos, v.keep), p) {
			return "stays", "one of the first user messages"
		}
		return "stays", "what the current turn was asked for"
	case p < f.at.pos:
		if p >= v.h.done {
			return "folded", "a completed step of the current turn"
		}
		return "folded", "history before the newest part"
	case isShort:
		return "shortened", "an old tool result"
	case p >= v.h.done:
		return "sent", "the current turn"
	case p >= v.h.foldable(v.r, false):
		return "sent", "the newest completed turn"
	case f.at.pos > 0:
		return "sent", "the newest part of the history"
	}
	return "sent", "no fold is due"
}
