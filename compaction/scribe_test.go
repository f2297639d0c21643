package compaction

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// scribe is a summarizer that writes about as much as it is asked for, as
// models do, and keeps account of what that costs.
type scribe struct {
	count func(string) int

	mu         sync.Mutex
	questions  int
	merges     int
	prompt     int // tokens read, instructions included
	completion int // tokens written
}

func newScribe(t testing.TB) *scribe {
	t.Helper()
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	return &scribe{count: counter.For("gpt-4o").Count}
}

func (s *scribe) Summarize(_ context.Context, q Question) (Answer, error) {
	prompt := s.count(q.Instructions) + s.count(q.Transcript) + 10
	want := min(q.MaxTokens*9/10, prompt/4)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions++
	if q.isMerge() {
		s.merges++
	}
	a := Answer{Text: s.write(want), Finish: "stop", Prompt: prompt}
	a.Completion = s.count(a.Text)
	s.prompt += prompt
	s.completion += a.Completion
	return a, nil
}

// write is text of about so many tokens that nobody has written before.
func (s *scribe) write(tokens int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Note %d.", s.questions)
	for line := 0; b.Len() < 4*tokens; line++ {
		fmt.Fprintf(&b, "\n- the file src/part%d.go was read and changed; test %d passes now, as was asked", s.questions*31+line, line)
	}
	return b.String()
}

func (s *scribe) spent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt + s.completion
}

// clock is a Compactor's time in a replay: it stands still but for its ticks.
type clock struct {
	step time.Duration
	mu   sync.Mutex
	time time.Time
}

func newClock(step time.Duration) *clock {
	return &clock{step: step, time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

// tick lets as much time go by as passes between two requests.
func (c *clock) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(c.step)
}
