package compaction

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// outcome is what became of a session's requests.
type outcome struct {
	name           string
	requests       int
	folded         int // of these, those that carried a fold
	received, sent int // tokens
	largest        int // tokens of the largest request
	spent          int // tokens that summaries cost, read and written
	generations    int // summaries that a message passed through, at most
	changes        int // requests that did not begin with the whole of the one before
}

// share is what summaries cost, as a part of what they saved.
func (o *outcome) share() float64 { return float64(o.spent) / float64(o.received-o.sent) }

func (o *outcome) row() string {
	return fmt.Sprintf("| %s | %.1f M | %.0f%% | %d | %.2f M | %.1f%% | %d | %d |", o.name, float64(o.sent)/1e6,
		100*float64(o.sent)/float64(o.received), o.largest, float64(o.spent)/1e6, 100*o.share(), o.generations, o.changes)
}

// The longest agent session of the corpora, at a window of 128,000 tokens: every
// request fits and is valid, and summaries cost little of what they save.
func TestAgentSession(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("it takes half a minute, and minutes with the race detector")
	}
	conv := longest(t)
	pleat, costs, v := replaySession(t, conv)
	if window := inputLimit(v.limits, v.output); pleat.largest > window {
		t.Errorf("the largest request has %d tokens, of %d", pleat.largest, window)
	}
	if pleat.share() > 0.15 {
		t.Errorf("summaries cost %.0f%% of what they saved", 100*pleat.share())
	}
	if pleat.generations > 4 {
		t.Errorf("a message passed %d summaries, want at most 4", pleat.generations)
	}

	own := rolling{budget: Trigger{}.limit(v.limits, demand{}), fixed: v.extra}
	same := rolling{budget: v.limit, fixed: v.extra}
	aider := own.replay("Aider's scheme at its own budget", costs)
	aiderLike := same.replay("Aider's scheme at Pleat's trigger", costs)
	t.Logf("%d requests, %d tokens received, budgets %d and %d\n%s\n%s\n%s", len(costs), pleat.received, v.limit, own.budget,
		pleat.row(), aiderLike.row(), aider.row())
	if aiderLike.received != pleat.received {
		t.Errorf("the baseline received %d tokens, Pleat %d", aiderLike.received, pleat.received)
	}
	if aiderLike.generations <= pleat.generations {
		t.Errorf("a message passed %d summaries, with Aider's scheme %d", pleat.generations, aiderLike.generations)
	}
}

// longest is the conversation with the most messages among the agent sessions.
func longest(t *testing.T) conversation {
	t.Helper()
	var found conversation
	for _, file := range corpora(t) {
		if filepath.Base(filepath.Dir(file)) != "pi-coding-session" {
			continue
		}
		if c := openConversation(t, file); len(c.Messages) > len(found.Messages) {
			found = c
		}
	}
	if len(found.Messages) < 900 {
		t.Skip("the long session is not there")
	}
	return found
}

// replaySession sends every request of a session and checks each. It returns
// what the messages of each request cost as well, and the view of the last one.
func replaySession(t *testing.T, conv conversation) (o outcome, costs [][]priced, last *view) {
	t.Helper()
	s, passing := newScribe(t), newClock(time.Minute)
	cl := newClient(t, s, func(o *Options) { o.Trigger, o.Share, o.Now = Trigger{}, 0.5, passing.now })
	cl.extra = conv.extras()
	o.name = "Pleat"
	roles := peeks(t, conv.Messages)
	var before []json.RawMessage
	for _, end := range requestEnds(roles) {
		passing.tick()
		list := conv.Messages[:end]
		p, out := cl.turn(list)
		if p.Status == Folded {
			checkFolded(t, end, list, out, ScopeSteps)
		}
		o.received, o.sent, o.largest = o.received+p.TokensReceived, o.sent+p.TokensSent, max(o.largest, p.TokensSent)
		for _, r := range cl.fold.roots {
			o.generations = max(o.generations, r.Level+1)
		}
		if !extends(before, out) {
			o.changes++
		}
		before, last = out, cl.view
		request := make([]priced, end)
		for i := range request {
			request[i] = priced{roles[i].Role, last.cost[i]}
		}
		costs = append(costs, request)
	}
	o.spent = s.spent()
	return o, costs, last
}

// priced is a message as the baseline sees it.
type priced struct {
	role   string
	tokens int
}

// rolling is Aider's way with a chat history: past its budget, all but a tail of
// half the budget is summarized, together with the summary that there is, and
// again, three levels deep, while the outcome is past the budget. It is shown as
// generously as can be: it may fold inside a turn, it reads tool results, its
// model reads a head of any length, its summaries are there at once, and are of
// the length that Pleat asks for.
type rolling struct {
	budget int // of the history, in tokens
	fixed  int // tokens of a request beside its messages

	history     []priced // a summary, and messages after it
	generations int
	changes     int
	spent       int
}

const (
	rollingDepth = 3
	rollingSplit = 4   // no more messages than this are summarized whole
	rollingFrame = 200 // tokens of instructions
)

func (r *rolling) replay(name string, requests [][]priced) outcome {
	o := outcome{name: name}
	seen := 0
	for _, list := range requests {
		newest := len(list) - 1 // where the newest step begins
		for newest > 0 && list[newest].role != "assistant" {
			newest--
		}
		for ; seen < newest; seen++ {
			r.history = append(r.history, list[seen])
		}
		if sum(r.history) > r.budget {
			r.changes++
			r.summarize(0)
		}
		tokens := r.fixed + sum(r.history) + sum(list[newest:])
		o.sent, o.received, o.largest = o.sent+tokens, o.received+r.fixed+sum(list), max(o.largest, tokens)
	}
	o.spent, o.generations, o.changes = r.spent, r.generations, r.changes
	return o
}

// summarize is one level.
func (r *rolling) summarize(depth int) {
	split, tail := len(r.history), 0
	for split > 0 && tail+r.history[split-1].tokens < r.budget/2 {
		split--
		tail += r.history[split].tokens
	}
	for split > 1 && r.history[split-1].role != "assistant" {
		split--
	}
	if split <= rollingSplit || len(r.history) <= rollingSplit || depth > rollingDepth {
		split = len(r.history)
	}
	summary := min(summaryTokens(r.budget)*9/10, sum(r.history[:split])/4)
	r.spent += rollingFrame + sum(r.history[:split]) + summary
	r.generations++
	r.history = append([]priced{{"user", summary}}, r.history[split:]...)
	if sum(r.history) > r.budget && depth <= rollingDepth && len(r.history) > 1 {
		r.summarize(depth + 1)
	}
}

func sum(list []priced) int {
	n := 0
	for _, m := range list {
		n += m.tokens
	}
	return n
}
