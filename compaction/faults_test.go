package compaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/storetest"
)

// Whatever a summarizer does wrong, every request goes out whole and attempts
// get rarer and rarer.
func TestSummarizerFaults(t *testing.T) {
	ask := func(status int) func(int, Question) (Answer, error) {
		return func(int, Question) (Answer, error) {
			return Answer{}, &AskError{Status: status, Err: errors.New("scripted")}
		}
	}
	say := func(a Answer) func(int, Question) (Answer, error) {
		return func(int, Question) (Answer, error) { return a, nil }
	}
	tests := map[string]struct {
		answer func(int, Question) (Answer, error)
		want   Result
	}{
		"status 500":       {ask(500), ResultError},
		"status 401":       {ask(401), ResultError},
		"status 429":       {ask(429), ResultError},
		"no answer":        {ask(0), ResultError},
		"blank":            {say(Answer{Text: " \n ", Finish: "stop"}), ResultEmpty},
		"reasoning alone":  {say(Answer{Text: "<think>what now", Finish: "stop"}), ResultEmpty},
		"cut off":          {say(Answer{Text: "The user wants to", Finish: "length"}), ResultCutOff},
		"calls alone":      {say(Answer{ToolCalls: true, Finish: "tool_calls"}), ResultToolCalls},
		"refusal field":    {say(Answer{Refusal: "no", Finish: "stop"}), ResultRefused},
		"refusal in words": {say(Answer{Text: "I'm sorry, but I can't help with that.", Finish: "stop"}), ResultRefused},
		"content filter":   {say(Answer{Text: "The user", Finish: "content_filter"}), ResultRefused},
		"longer than its input": {func(_ int, q Question) (Answer, error) {
			return Answer{Text: q.Transcript + q.Transcript, Finish: "stop"}, nil
		}, ResultNotShorter},
	}
	loadCounter(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &writer{answer: tc.answer}
				cl := newClient(t, w, nil)
				full := talk("fault", 60)
				for turn := 1; turn <= 60; turn++ {
					list := full[:2*turn]
					p, _ := cl.turn(list)
					if !bytes.Equal(p.Body, cl.body) {
						t.Fatalf("turn %d: the request was changed", turn)
					}
					later(10 * time.Second) // a person types; the clock is synctest's
				}
				got := cl.events().results
				n := len(w.questions())
				if got[tc.want] != n || n == 0 {
					t.Errorf("results %v of %d questions, want all %s", got, n, tc.want)
				}
				// 53 requests above the trigger in 530 s; rests of 30, 60, 120,
				// 240 s leave room for five attempts.
				if n > 6 {
					t.Errorf("asked %d times in ten minutes: attempts do not back off", n)
				}
			})
		})
	}
}

// A fault does not last: when the summarizer recovers, the fold is made.
func TestRecoversAfterFaults(t *testing.T) {
	loadCounter(t)
	synctest.Test(t, func(t *testing.T) {
		w := &writer{answer: func(n int, q Question) (Answer, error) {
			if n < 2 {
				return Answer{}, &AskError{Status: 503, Err: errors.New("scripted")}
			}
			return honest(n, q), nil
		}}
		cl := newClient(t, w, nil)
		list := talk("later", 8)
		list = append(list, msg{"user", "go on"})
		cl.turn(list)
		cl.turn(list) // rests
		if n := len(w.questions()); n != 1 {
			t.Fatalf("asked %d times at once, want 1", n)
		}
		later(31 * time.Second)
		cl.turn(list)
		later(31 * time.Second)
		cl.turn(list) // still rests: the second rest is longer
		if n := len(w.questions()); n != 2 {
			t.Fatalf("asked %d times, want 2", n)
		}
		later(30 * time.Second)
		cl.turn(list)
		if p, _ := cl.turn(list); p.Status != Folded {
			t.Errorf("status %s after the summarizer recovered", p.Status)
		}
	})
}

// The next model is asked when one will not do, and only the configured ones.
func TestModelsInOrder(t *testing.T) {
	w := &writer{answer: func(n int, q Question) (Answer, error) {
		if q.Model == "small" {
			return Answer{Text: "cut", Finish: "length"}, nil
		}
		return honest(n, q), nil
	}}
	cl := newClient(t, w, func(o *Options) { o.Models = []string{"small", "same", "gpt-4o"} })
	list := append(talk("order", 8), msg{"user", "go on"})
	cl.turn(list)
	var models []string
	for _, q := range w.questions() {
		models = append(models, q.Model)
	}
	if got := strings.Join(models, " "); got != "small gpt-4o" {
		t.Errorf("asked %q, want small, then the conversation's own, each once", got)
	}
}

// A summarizer that takes its time holds up nobody, and a conversation has one
// job in flight.
func TestSlowSummarizer(t *testing.T) {
	release, started := make(chan struct{}), make(chan struct{}, 100)
	w := &writer{answer: func(n int, q Question) (Answer, error) {
		started <- struct{}{}
		<-release
		return honest(n, q), nil
	}}
	cl := newClient(t, w, nil)
	full := talk("slow", 30)
	for turn := 1; turn <= 30; turn++ {
		p, _ := cl.plan(full[:2*turn]) // returns while the summarizer is busy
		if p.Status == Folded {
			t.Fatalf("turn %d: folded by a summary that is not written yet", turn)
		}
	}
	<-started
	select {
	case <-started:
		t.Error("two jobs of one conversation in flight")
	default:
	}
	close(release)
	cl.settle()
	if p, _ := cl.turn(full); p.Status != Folded {
		t.Errorf("status %s once the summary was there", p.Status)
	}
}

// The client's key is not used for summaries while its quota is low.
func TestClientsQuotaIsSpared(t *testing.T) {
	loadCounter(t)
	list := append(talk("quota", 8), msg{"user", "go on"})
	synctest.Test(t, func(t *testing.T) {
		w := &writer{}
		cl := newClient(t, w, nil)
		cl.status = 429
		cl.turn(list)
		cl.status = 200
		cl.turn(list)
		if n := len(w.questions()); n != 0 {
			t.Fatalf("asked %d times right after a 429", n)
		}
		later(61 * time.Second)
		cl.header.Set("X-Ratelimit-Limit-Tokens", "10000")
		cl.header.Set("X-Ratelimit-Remaining-Tokens", "900")
		cl.turn(list)
		if n := len(w.questions()); n != 0 {
			t.Fatalf("asked %d times with the quota low", n)
		}
		cl.header.Set("X-Ratelimit-Remaining-Tokens", "9000")
		cl.turn(list)
		if n := len(w.questions()); n == 0 {
			t.Error("never asked again")
		}
	})
}

// An upstream that refuses a request gets no summary to write for it.
func TestNoJobForRefusedRequest(t *testing.T) {
	w := &writer{}
	cl := newClient(t, w, nil)
	cl.status = 400
	cl.turn(append(talk("refused", 8), msg{"user", "go on"}))
	if n := len(w.questions()); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

// A store that always fails costs folds and nothing else.
func TestStoreThatAlwaysFails(t *testing.T) {
	w := &writer{}
	cl := newClient(t, w, func(o *Options) { o.Store = storetest.Failing(errors.New("scripted")) })
	full := talk("store", 20)
	for turn := 1; turn <= 20; turn++ {
		body := []byte(fmt.Sprintf(`{"model":"gpt-4o","messages":%s}`, mustJSON(t, full[:2*turn])))
		p, err := cl.c.Plan(t.Context(), Request{Tenant: cl.tenant, Body: body})
		if !bytes.Equal(p.Body, body) {
			t.Fatalf("turn %d: the request was changed", turn)
		}
		if err != nil && p.Status != Degraded || err == nil && p.Status == Degraded {
			t.Fatalf("turn %d: status %s, error %v", turn, p.Status, err)
		}
		cl.c.Responded(p, 200, nil)
		cl.c.Finished(p, Usage{})
	}
	cl.settle()
	if got := cl.events().failed["Newest"]; got == 0 {
		t.Error("the failures were not counted")
	}
	if n := len(w.questions()); n != 0 {
		t.Errorf("asked %d times for folds that cannot be kept", n)
	}
}

// halfStore fails to keep records but answers everything else.
type halfStore struct{ store.Store }

func (halfStore) PutIfAbsent(context.Context, string, string, []byte, time.Duration) (bool, error) {
	return false, errors.New("scripted")
}

// Store errors say nothing about the summarizer: the conversation does not rest.
func TestStoreErrorsDoNotMakeItRest(t *testing.T) {
	w := &writer{}
	cl := newClient(t, w, func(o *Options) { o.Store = halfStore{o.Store} })
	list := append(talk("half", 8), msg{"user", "go on"})
	cl.turn(list)
	cl.turn(list)
	if n := len(w.questions()); n != 2 {
		t.Errorf("asked %d times, want once for each request", n)
	}
}

// A record that cannot be read is reported and passed over for an older one.
func TestBrokenRecord(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	list := append(talk("broken", 8), msg{"user", "go on"})
	p, _ := cl.plan(list)
	cl.settle()
	req := Request{Tenant: cl.tenant, Body: cl.body}
	last := cl.view.bounds[len(cl.view.bounds)-1]
	if p, err := cl.c.Plan(t.Context(), req); err != nil || p.Status != Folded || p.fold.at == last {
		t.Fatalf("%v, %s, fold at %d: this test says nothing", err, p.Status, p.fold.at.pos)
	}
	broken := []byte(`{"v":1,"roots":[{"from":3,"to":1}]}`)
	if _, err := cl.c.opt.Store.PutIfAbsent(t.Context(), p.space, last.key, broken, time.Hour); err != nil {
		t.Fatal(err)
	}
	after, err := cl.c.Plan(t.Context(), req)
	if err != nil || after.Status != Folded {
		t.Errorf("error %v, status %s", err, after.Status)
	}
	if n := cl.events().failed["Read"]; n != 1 {
		t.Errorf("counted %d unusable records, want 1", n)
	}
}

// Bounds: a full queue and full memory drop jobs and count them.
func TestJobsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"queue":  {func(o *Options) { o.Workers, o.Queue = 1, 1 }, "queue_full"},
		"memory": {func(o *Options) { o.JobBytes = 10_000 }, "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			w := &writer{answer: func(n int, q Question) (Answer, error) {
				<-release
				return honest(n, q), nil
			}}
			cl := newClient(t, w, tc.change)
			for i := range 10 {
				cl.plan(append(talk(fmt.Sprint("conversation ", i), 8), msg{"user", "go on"}))
			}
			close(release)
			cl.settle()
			if got := cl.events().dropped[tc.want]; got < 5 {
				t.Errorf("%d jobs dropped for %q", got, tc.want)
			}
		})
	}
}

// Close cancels what does not end in time, and leaves no goroutine.
func TestCloseCancels(t *testing.T) {
	entered := make(chan struct{})
	cl := newClient(t, summarizerFunc(func(ctx context.Context, _ Question) (Answer, error) {
		close(entered)
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}), nil)
	list := append(talk("close", 8), msg{"user", "go on"})
	cl.plan(list)
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cl.c.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v, want that it was cut short", err)
	}
	cl.plan(list) // after Close: no panic, no job
}

type summarizerFunc func(context.Context, Question) (Answer, error)

func (f summarizerFunc) Summarize(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }
