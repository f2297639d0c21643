package compaction

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/memstore"
)

// msg is a plain message of a test conversation.
type msg struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// client drives a Compactor as the proxy does.
type client struct {
	t       *testing.T
	c       *Compactor
	model   string
	tenant  string
	session string
	extra   string            // further top-level members, each with a leading comma
	status  int               // of the upstream's answers
	usage   func(*Plan) Usage // that they state; nil: none
	header  http.Header

	// Of the last plan, which lets go of them once it was answered.
	body []byte
	view *view
	fold applied
}

// plan sends a list of messages and returns the plan and the messages that go out.
func (cl *client) plan(list any) (*Plan, []json.RawMessage) {
	cl.t.Helper()
	var raw strings.Builder
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(list); err != nil {
		cl.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"model":%q,"messages":%s%s}`, cl.model, raw.String(), cl.extra)
	p, err := cl.c.Plan(cl.t.Context(), Request{
		Tenant: cl.tenant, Session: cl.session, Body: []byte(body),
		Caller: Caller{URL: &url.URL{Scheme: "http", Host: "upstream.test", Path: "/v1/chat/completions"}, Header: http.Header{"Authorization": {"Bearer k"}}},
	})
	if err != nil {
		cl.t.Fatalf("Plan: %v", err)
	}
	var out conversation
	if err := json.Unmarshal(p.Body, &out); err != nil {
		cl.t.Fatalf("outgoing body: %v", err)
	}
	cl.body, cl.view, cl.fold = []byte(body), p.view, p.fold
	var u Usage
	if cl.usage != nil {
		u = cl.usage(p)
	}
	cl.c.Responded(p, cl.status, cl.header)
	cl.c.Finished(p, u)
	return p, out.Messages
}

// turn is plan, and waits for the background.
func (cl *client) turn(list any) (*Plan, []json.RawMessage) {
	cl.t.Helper()
	p, out := cl.plan(list)
	cl.settle()
	return p, out
}

func (cl *client) settle() {
	cl.t.Helper()
	ctx, cancel := context.WithTimeout(cl.t.Context(), 20*time.Second)
	defer cancel()
	if err := cl.c.Settle(ctx); err != nil {
		cl.t.Fatalf("Settle: %v", err)
	}
}

// writer is a scripted summarizer that remembers what it was asked.
type writer struct {
	mu     sync.Mutex
	asked  []Question
	answer func(n int, q Question) (Answer, error) // nil: an honest short summary
}

func (w *writer) Summarize(ctx context.Context, q Question) (Answer, error) {
	w.mu.Lock()
	n := len(w.asked)
	w.asked = append(w.asked, q)
	answer := w.answer
	w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	if answer != nil {
		return answer(n, q)
	}
	return honest(n, q), nil
}

func honest(n int, q Question) Answer {
	kind := "messages"
	if q.isMerge() {
		kind = "notes"
	}
	return Answer{
		Text:   fmt.Sprintf("Summary %d of %s: the user and the assistant went on talking about their plan and settled a further part of it.", n, kind),
		Finish: "stop", Prompt: len(q.Transcript) / 4, Completion: 25,
	}
}

func (q Question) isMerge() bool { return strings.HasPrefix(q.Transcript, "The notes") }

func (w *writer) questions() []Question {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Question(nil), w.asked...)
}

// events is an Observer that counts.
type events struct {
	mu      sync.Mutex
	results map[Result]int
	failed  map[string]int
	dropped map[string]int
	depth   int
}

func (cl *client) events() *events {
	e, ok := cl.c.opt.Observer.(*events)
	if !ok {
		cl.t.Fatal("the Compactor has another observer")
	}
	return e
}

// later lets time go by in a synctest bubble.
func later(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // the clock is synctest's

func newEvents() *events {
	return &events{results: map[Result]int{}, failed: map[string]int{}, dropped: map[string]int{}}
}

func (e *events) Summarized(r Result, _, _ int)  { e.mu.Lock(); e.results[r]++; e.mu.Unlock() }
func (e *events) StoreFailed(op string, _ error) { e.mu.Lock(); e.failed[op]++; e.mu.Unlock() }
func (e *events) JobDropped(reason string)       { e.mu.Lock(); e.dropped[reason]++; e.mu.Unlock() }
func (e *events) QueueDepth(n int)               { e.mu.Lock(); e.depth = n; e.mu.Unlock() }

var testCounter = sync.OnceValues(func() (*tokens.Counter, error) { return tokens.New(nil) })

// loadCounter loads the vocabulary outside of a synctest bubble.
func loadCounter(t *testing.T) {
	t.Helper()
	if _, err := testCounter(); err != nil {
		t.Fatal(err)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// newClient starts a Compactor with test parts; change adapts its options.
func newClient(t *testing.T, w Summarizer, change func(*Options)) *client {
	t.Helper()
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	windows, err := window.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	trigger, err := ParseTrigger("1024")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Store: memstore.New(memstore.Options{}), Tokens: counter, Windows: windows, Summarizer: w,
		Observer: newEvents(), Log: slog.New(slog.DiscardHandler), Trigger: trigger, Share: 1,
	}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &client{t: t, c: c, model: "gpt-4o", tenant: "tenant-a", status: 200, header: http.Header{}}
}

// talk is a conversation of n completed turns of about 400 bytes a message,
// after a system message, each message different from every other.
func talk(seed string, n int) []msg {
	const size = 400
	list := []msg{{"system", "You are a planner. Be brief and exact."}}
	for i := range n {
		list = append(list,
			msg{"user", prose(fmt.Sprintf("%s question %d: ", seed, i), size)},
			msg{"assistant", prose(fmt.Sprintf("%s answer %d: ", seed, i), size)})
	}
	return list
}

// prose is words of about size bytes that begin with start.
func prose(start string, size int) string {
	words := strings.Fields("the plan moves from harbour to hill while we count boxes check lists ask for prices compare three offers and note what remains open before winter")
	var b strings.Builder
	b.WriteString(start)
	for i := len(start); b.Len() < size; i++ {
		b.WriteString(words[i*7%len(words)])
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

var _ store.Store = (*memstore.Store)(nil)
