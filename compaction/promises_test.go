package compaction

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The promises over conversations of every shape that has been seen, grown
// request by request, at varying options.
func TestPromises(t *testing.T) {
	loadCounter(t)
	folded, shortened, requests := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		p := newPromises(t, rt)
		defer p.close()
		for _, end := range p.g.requests {
			p.request(end)
		}
		p.edit()
		folded, shortened, requests = folded+p.folded, shortened+p.shortened, requests+len(p.g.requests)
	})
	t.Logf("%d requests, %d folded, %d with shortened results", requests, folded, shortened)
	if !t.Failed() && (folded < requests/10 || shortened < requests/50) {
		t.Errorf("of %d requests %d were folded and %d shortened: the properties say little", requests, folded, shortened)
	}
}

// promises is one generated conversation and a client that sends it.
type promises struct {
	*rapid.T

	g      *growing
	cl     *client
	opt    Options
	head   string // of the body, before the messages
	before sending

	folded, shortened int
}

// sending is what went out for one request.
type sending struct {
	out  []json.RawMessage
	fold []byte // the fold's message; nil for none
	cut  int    // results that are shortened
}

const bodyEnd = ` , "tools":[{"type":"function","function":{"name":"look"}}], "x" : 1.50}`

func newPromises(t *testing.T, rt *rapid.T) *promises {
	t.Helper()
	p := &promises{T: rt, g: drawConversation(rt), head: `{ "odd":"\u0041", "model":"gpt-4o","messages" : `}
	p.cl = newClient(t, &writer{}, func(o *Options) {
		o.Trigger = Trigger{tokens: rapid.SampledFrom([]int{256, 512, 1024}).Draw(rt, "trigger")}
		o.Scope = rapid.SampledFrom([]Scope{ScopeAuto, ScopeTurns, ScopeSteps, ScopeSteps}).Draw(rt, "scope")
		o.KeepFirst = rapid.IntRange(0, 2).Draw(rt, "keep first")
		if rapid.Bool().Draw(rt, "shorten") {
			o.ToolResults = ToolResults{Shorten: true, Keep: rapid.IntRange(1, 4).Draw(rt, "keep results")}
		}
		passing := newClock(time.Hour)
		o.Now = func() time.Time { passing.tick(); return passing.now() }
	})
	p.opt = p.cl.c.opt
	return p
}

func (p *promises) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.cl.c.Close(ctx); err != nil {
		p.Fatalf("Close: %v", err)
	}
}

// plan sends a list and returns what goes out; status is the upstream's answer.
func (p *promises) plan(list []string, status int) (*Plan, []json.RawMessage) {
	body := p.head + "[" + strings.Join(list, " ,\n") + "]" + bodyEnd
	plan, err := p.cl.c.Plan(context.Background(), Request{Tenant: "t", Body: []byte(body)})
	if err != nil {
		p.Fatalf("Plan: %v\n%s", err, drawing(p.peek(raws(list))))
	}
	again, err := p.cl.c.Plan(context.Background(), Request{Tenant: "t", Body: []byte(body)})
	if err != nil || !bytes.Equal(plan.Body, again.Body) {
		p.Fatalf("the same request and state gave other bytes (%v)", err)
	}
	if !bytes.HasPrefix(plan.Body, []byte(p.head)) || !bytes.HasSuffix(plan.Body, []byte(bodyEnd)) {
		p.Fatalf("what stands around the messages has changed: %s", plan.Body)
	}
	var out conversation
	if err := json.Unmarshal(plan.Body, &out); err != nil {
		p.Fatalf("what goes out is no JSON: %v", err)
	}
	if plan.FoldedMessages == 0 && plan.Status != Folded && string(plan.Body) != body {
		p.Fatalf("status %s, and the body was changed", plan.Status)
	}
	p.cl.c.Responded(plan, status, http.Header{})
	p.cl.c.Finished(plan, Usage{})
	p.cl.settle()
	return plan, out.Messages
}

// request sends the first end messages and checks what goes out.
func (p *promises) request(end int) {
	list := p.g.messages[:end]
	plan, out := p.plan(list, http.StatusOK)
	in, sent := p.peek(raws(list)), p.peek(out)
	now := sending{out: out}
	kept := p.match(list, out, sent, &now)

	checkRules(p.T, in, sent)
	for i := range in {
		if in[i].pinned() && !slices.Contains(kept, i) {
			p.Fatalf("request %d: instruction %d is gone", end, i)
		}
	}
	scope := p.opt.Scope
	if scope == ScopeAuto {
		scope = ScopeTurns // the window is far away
	}
	for _, i := range mustStay(in, scope) {
		if !slices.Contains(kept, i) {
			p.Fatalf("request %d: message %d of the current turn is gone", end, i)
		}
	}
	p.checkKeptFirst(in, kept)
	p.checkOrder(in, kept)
	if kept[len(kept)-1] != end-1 {
		p.Fatalf("request %d: the last message is not the client's", end)
	}
	if fault(in) == "" && fault(sent) != "" {
		p.Fatalf("request %d: %s", end, fault(sent))
	}
	if bytes.Equal(now.fold, p.before.fold) && now.cut == p.before.cut && !extends(p.before.out, out) {
		p.Fatalf("request %d: the fold is the same, and the prefix has changed\n%s\n%s", end, p.before.out, out)
	}
	if now.fold != nil {
		p.folded++
	}
	if now.cut > 0 {
		p.shortened++
	}
	if (plan.FoldedMessages > 0) != (now.fold != nil) {
		p.Fatalf("request %d: %d messages are said to be folded", end, plan.FoldedMessages)
	}
	p.before = now
}

func raws(list []string) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, m := range list {
		out[i] = json.RawMessage(m)
	}
	return out
}

func (p *promises) peek(list []json.RawMessage) []peek {
	out := make([]peek, len(list))
	for i, raw := range list {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			p.Fatalf("message %d: %v", i, err)
		}
	}
	return out
}

// match finds for each message that goes out the one that came in, by bytes, or
// a shortened result by its member n. All others are the fold and what
// acknowledges it and the messages kept in front of it.
func (p *promises) match(list []string, out []json.RawMessage, sent []peek, now *sending) (kept []int) {
	for i, raw := range out {
		if at := slices.Index(list, string(raw)); at >= 0 {
			kept = append(kept, at)
			continue
		}
		switch {
		case sent[i].isFold() && sent[i].Role == "user" && now.fold == nil:
			now.fold = raw
		case i > 0 && sent[i].Role == "assistant" && sent[i].text() == `"Ok."` && sent[i-1].Role == "user":
		case sent[i].Role == "tool" && strings.Contains(sent[i].text(), "of an older tool result left out"):
			kept = append(kept, p.shortenedFrom(list, raw))
			now.cut++
		default:
			p.Fatalf("a message goes out that nobody sent: %s", raw)
		}
	}
	return kept
}

// shortenedFrom is the message that a shortened one was made from: all but its
// content is the same, byte for byte.
func (p *promises) shortenedFrom(list []string, raw json.RawMessage) int {
	if !p.opt.ToolResults.Shorten {
		p.Fatalf("a result is shortened that was to be kept: %s", raw)
	}
	around := func(m string) string {
		before, _, _ := strings.Cut(m, `"content":`)
		return before + m[strings.LastIndex(m, `,"n":`):]
	}
	for i, m := range list {
		if strings.Contains(m, `"role":"tool"`) && around(m) == around(string(raw)) {
			return i
		}
	}
	p.Fatalf("a shortened result has changed in more than its content: %s", raw)
	return -1
}

// checkKeptFirst: the first user messages are there.
func (p *promises) checkKeptFirst(in []peek, kept []int) {
	left := p.opt.KeepFirst
	for i := 0; i < len(in) && left > 0; i++ {
		if in[i].Role != "user" {
			continue
		}
		if left--; !slices.Contains(kept, i) {
			p.Fatalf("message %d is one of the first %d of the user's, and gone", i, p.opt.KeepFirst)
		}
	}
}

// checkOrder: instructions keep their order among themselves, and so do all
// other messages.
func (p *promises) checkOrder(in []peek, kept []int) {
	last := map[bool]int{true: -1, false: -1}
	for _, i := range kept {
		if pinned := in[i].pinned(); i <= last[pinned] {
			p.Fatalf("message %d stands behind message %d", i, last[pinned])
		} else {
			last[pinned] = i
		}
	}
}

// edit changes one message anywhere: it and all that follows must go out.
func (p *promises) edit() {
	if len(p.g.requests) == 0 {
		return
	}
	end := p.g.requests[len(p.g.requests)-1]
	list := slices.Clone(p.g.messages[:end])
	at := rapid.IntRange(0, end-1).Draw(p.T, "edited")
	if p.peek(raws(list))[at].pinned() {
		return // an instruction is in no fold, so that another one lets the fold be
	}
	from := strings.LastIndex(list[at], `,"n":`)
	list[at] = strings.Replace(list[at], `"role":`, `"name":"somebody_else","role":`, 1)
	if from < 0 || !strings.Contains(list[at], "somebody_else") {
		p.Fatalf("cannot edit %s", list[at])
	}
	if strings.Count(list[at], `"name":"`)-strings.Count(list[at], `"function":{"name":`) > 1 {
		return // it has a name already
	}
	_, out := p.plan(list, http.StatusTeapot)
	kept := p.match(list, out, p.peek(out), &sending{})
	for i := at; i < end; i++ {
		if !slices.Contains(kept, i) {
			p.Fatalf("message %d was edited, and a fold stands in for message %d", at, i)
		}
	}
}
