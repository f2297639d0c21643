package openai

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// step is one thing that an upstream does when asked.
type step func() (*http.Response, error)

func answers(status int, header ...string) step {
	return func() (*http.Response, error) {
		if status == http.StatusOK {
			return respond(status, okBody), nil
		}
		return respond(status, `{"error":{"type":"server_error"}}`, header...), nil
	}
}

func busyFor(value string) step { return answers(http.StatusTooManyRequests, "Retry-After", value) }

func fails() (*http.Response, error) { return nil, errors.New("connection reset") }

func quotaUsedUp() (*http.Response, error) {
	return respond(http.StatusTooManyRequests, `{"error":{"code":"insufficient_quota"}}`), nil
}

func TestRetries(t *testing.T) {
	inTenSeconds := time.Date(2000, 1, 1, 0, 0, 10, 0, time.UTC).Format(http.TimeFormat) // synctest begins in 2000
	busyForMs := answers(429, "Retry-After-Ms", "1500", "Retry-After", "9")
	tests := []struct {
		name     string
		key      string
		retries  int
		timeout  time.Duration
		steps    []step // the last one again and again
		asked    int
		min, max time.Duration // how long it takes
		status   int           // of the error; 0 with an error: none, -1: answered
	}{
		{"answered", ownKey, 0, 0, []step{answers(200)}, 1, 0, 0, -1},
		{"500 then answered", ownKey, 0, 0, []step{answers(500), answers(200)}, 2, 0, firstPause, -1},
		{"two retries by default", ownKey, 0, 0, []step{answers(503)}, 3, 0, 3 * firstPause, 503},
		{"as many as configured", ownKey, 5, 0, []step{answers(529)}, 6, 0, 31 * firstPause, 529},
		{"none", ownKey, -1, 0, []step{answers(503)}, 1, 0, 0, 503},
		{"transport", ownKey, 0, 0, []step{fails, fails, answers(200)}, 3, 0, 3 * firstPause, -1},
		{"401 is final", ownKey, 0, 0, []step{answers(401)}, 1, 0, 0, 401},
		{"404 is final", ownKey, 0, 0, []step{answers(404)}, 1, 0, 0, 404},
		{"a used up quota is final", ownKey, 0, 0, []step{quotaUsedUp}, 1, 0, 0, 429},
		{"Retry-After in seconds", ownKey, 0, 0, []step{busyFor("7"), answers(200)}, 2, 7 * time.Second, 7*time.Second + firstPause, -1},
		{"Retry-After as a date", ownKey, 0, 0, []step{busyFor(inTenSeconds), answers(200)}, 2, 10 * time.Second, 10*time.Second + firstPause, -1},
		{"Retry-After in milliseconds", ownKey, 0, 0, []step{busyForMs, answers(200)}, 2, 1500 * time.Millisecond, 1500*time.Millisecond + firstPause, -1},
		{"Retry-After too long", ownKey, 0, 0, []step{busyFor("31")}, 1, 0, 0, 429},
		{"no wait beyond the deadline", ownKey, 0, 5 * time.Second, []step{busyFor("6")}, 1, 0, 0, 429},
		{"swap, then retries", ownKey, 0, 0, []step{answers(400), answers(500), answers(500), answers(200)}, 4, 0, 3 * firstPause, -1},
		{"the client's key: one attempt", "", 5, 0, []step{answers(503)}, 1, 0, 0, 503},
		{"the client's key: no retry on 429", "", 5, 0, []step{busyFor("1")}, 1, 0, 0, 429},
		{"the client's key: no retry on transport", "", 5, 0, []step{fails}, 1, 0, 0, 0},
		{"the client's key: the swap alone", "", 5, 0, []step{answers(400), answers(500)}, 2, 0, 0, 500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				transport := roundTrip(func(*http.Request) (*http.Response, error) {
					asked++
					return tt.steps[min(asked, len(tt.steps))-1]()
				})
				c := newClient(t, Options{APIKey: tt.key, Retries: tt.retries, Client: &http.Client{Transport: transport}})
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				begin := time.Now()
				_, err := c.Summarize(ctx, question(t, "https://api.example/v1/chat/completions"))
				took := time.Since(begin)

				if asked != tt.asked {
					t.Errorf("asked %d times, want %d", asked, tt.asked)
				}
				if took < tt.min || took > tt.max {
					t.Errorf("took %v, want %v to %v", took, tt.min, tt.max)
				}
				failure, _ := errors.AsType[*compaction.AskError](err)
				switch {
				case tt.status < 0 && err != nil:
					t.Errorf("error %v", err)
				case tt.status >= 0 && (failure == nil || failure.Status != tt.status):
					t.Errorf("error %v, want status %d", err, tt.status)
				}
			})
		})
	}
}

func TestCancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		busy := roundTrip(func(*http.Request) (*http.Response, error) {
			return respond(http.StatusServiceUnavailable, "", "Retry-After", "20"), nil
		})
		c := newClient(t, Options{APIKey: ownKey, Client: &http.Client{Transport: busy}})
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		if _, err := c.Summarize(ctx, question(t, "https://api.example/v1/chat/completions")); err == nil {
			t.Error("no error")
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %v after a cancel at 1s", took)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	tests := []struct {
		after, ms string
		want      time.Duration
	}{
		{"", "", 0},
		{"30", "", 30 * time.Second},
		{"0.5", "", 500 * time.Millisecond},
		{"0", "", 0},
		{"-5", "", 0},
		{"NaN", "", 0},
		{"+Inf", "", longestSay},
		{"99999999999999999999", "", longestSay},
		{"soon", "", 0},
		{"30", "250", 250 * time.Millisecond},
		{"Mon, 04 May 2026 03:02:31 GMT", "", 30 * time.Second},
		{"Mon, 04 May 2026 03:00:00 GMT", "", 0},
		{"Tue, 04 May 2027 03:00:00 GMT", "", longestSay},
	}
	for _, tt := range tests {
		h := http.Header{}
		h.Set("Retry-After", tt.after)
		h.Set("Retry-After-Ms", tt.ms)
		if got := retryAfter(h, now); got != tt.want {
			t.Errorf("Retry-After %q, in ms %q: %v, want %v", tt.after, tt.ms, got, tt.want)
		}
	}
}
