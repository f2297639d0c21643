package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is people who chat through a Pleat, one request each at a time, and what
// they see of it.
type crowd struct {
	cancel chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex // protects all below
	seen    sighting   // since take was last called
	changed chan struct{}
}

// sighting is what the people saw in a span of time.
type sighting struct {
	requests int
	failures []string
	slowest  time.Duration
	added    time.Duration  // the most that Pleat says it added before it sent a request
	statuses map[string]int // by X-Pleat-Status
}

const (
	people = 4
	// think is how long they wait between an answer and their next question.
	think = 15 * time.Millisecond
	// talk is how many questions they ask before they begin anew.
	talk = 40
)

// startCrowd has people chat until stop is called, or the test ends.
func startCrowd(t *testing.T, pleat *running) *crowd {
	t.Helper()
	l := &crowd{cancel: make(chan struct{}), changed: make(chan struct{})}
	l.take()
	for i := range people {
		l.wg.Go(func() { l.chat(t, i, pleat) })
	}
	t.Cleanup(l.stop)
	return l
}

// stop lets the answers that are under way arrive.
func (l *crowd) stop() {
	select {
	case <-l.cancel:
	default:
		close(l.cancel)
	}
	l.wg.Wait()
}

// take returns what was seen since it was last called.
func (l *crowd) take() sighting {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen
	l.seen = sighting{statuses: map[string]int{}}
	return seen
}

// await waits until the people have made n requests since take was last called.
func (l *crowd) await(n int) {
	for {
		l.mu.Lock()
		enough, changed := l.seen.requests >= n, l.changed
		l.mu.Unlock()
		if enough {
			return
		}
		<-changed
	}
}

func (l *crowd) chat(t *testing.T, person int, pleat *running) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	tick := time.NewTicker(think)
	defer tick.Stop()
	for n := 0; ; n++ {
		messages := []string{chatMessage("system", "You are a storekeeper.")}
		for question := range talk {
			select {
			case <-l.cancel:
				return
			case <-tick.C:
			}
			text := words(fmt.Sprintf("Question %d of person %d in talk %d:", question, person, n), 400)
			messages = append(messages, chatMessage("user", text))
			answer := l.ask(t, client, pleat, messages)
			messages = append(messages, chatMessage("assistant", answer))
		}
	}
}

func chatMessage(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text)
}

// ask sends one request and notes how it went.
func (l *crowd) ask(t *testing.T, client *http.Client, pleat *running, messages []string) (answer string) {
	t.Helper()
	body := `{"model":"gpt-4o","messages":[` + strings.Join(messages, ",") + `]}`
	req := newRequest(t, http.MethodPost, pleat.url("/v1/chat/completions"), strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer sk-test")
	begun := time.Now()
	answer, header, err := complete(client, req)
	took := time.Since(begun)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.requests++
	l.seen.slowest = max(l.seen.slowest, took)
	l.seen.added = max(l.seen.added, addedBy(header))
	l.seen.statuses[header.Get("X-Pleat-Status")]++
	if err != nil {
		l.seen.failures = append(l.seen.failures, err.Error())
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return answer
}

// addedBy is how long Pleat took before it sent the request.
func addedBy(header http.Header) time.Duration {
	_, ms, _ := strings.Cut(header.Get("Server-Timing"), "dur=")
	d, err := time.ParseDuration(ms + "ms")
	if err != nil {
		return 0
	}
	return d
}

// complete sends a chat completion and returns the answer's text.
func complete(client *http.Client, req *http.Request) (answer string, header http.Header, err error) {
	res, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return "", nil, err
	}
	var reply struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &reply); err != nil || res.StatusCode != http.StatusOK || len(reply.Choices) != 1 {
		return "", nil, fmt.Errorf("status %d, %d choices, %w", res.StatusCode, len(reply.Choices), err)
	}
	return reply.Choices[0].Message.Content, res.Header, nil
}
