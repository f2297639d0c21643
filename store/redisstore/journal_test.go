package redisstore

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal keeps what a store logs and tells its Observer.
type journal struct {
	mu     sync.Mutex
	log    bytes.Buffer
	states []string
	calls  map[string]int // by operation and fault
	local  map[string]int // by why
}

func newJournal() *journal { return &journal{calls: map[string]int{}, local: map[string]int{}} }

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.log.Write(p)
}

func (j *journal) StoreCalled(op string, _ time.Duration, fault string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls[op+" "+fault]++
}

func (j *journal) StoreState(fault string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.states = append(j.states, fault)
}

func (j *journal) StoreServedLocally(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.local[why]++
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.log.String()
}

// expect compares the lines logged with what each begins with: no fewer, no more.
func (j *journal) expect(t testing.TB, want ...string) {
	t.Helper()
	text := strings.TrimSpace(j.text())
	var lines []string
	if text != "" {
		lines = strings.Split(text, "\n")
	}
	if !slices.EqualFunc(lines, want, strings.Contains) {
		t.Errorf("logged, want lines of %q:\n%s", want, text)
	}
}

func (j *journal) expectStates(t testing.TB, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.states, want) {
		t.Errorf("the states are %q, want %q", j.states, want)
	}
}
