package openai

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	firstPause = 500 * time.Millisecond // the longest pause before the first retry; doubled for each further
	longPause  = 8 * time.Second        // no pause of our own choice is longer
	longestAsk = 30 * time.Second       // an upstream that asks to wait longer is not asked again
	longestSay = time.Hour              // what is passed on of a longer Retry-After
)

// wait pauses before a retry, counted from 0: at random up to a bound that
// doubles ("full jitter", so that many processes do not come back at once), and
// no less than the upstream asked for. It reports false, at once, if there is
// no point in waiting: the upstream asks for too long, or ctx ends before.
func wait(ctx context.Context, retry int, asked time.Duration) bool {
	bound := min(firstPause<<min(retry, 10), longPause)
	pause := asked + rand.N(bound) //nolint:gosec // jitter is no secret
	if deadline, ok := ctx.Deadline(); asked > longestAsk || ok && time.Until(deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryAfter reads how long the upstream asks to wait, 0 if it does not: in
// milliseconds (OpenAI and Azure), in seconds, or until a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	asked := time.Duration(0)
	value := h.Get("Retry-After")
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		asked = bounded(ms / 1000)
	} else if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		asked = bounded(seconds)
	} else if date, err := http.ParseTime(value); err == nil {
		asked = bounded(date.Sub(now).Seconds())
	}
	return asked
}

// bounded makes a duration of seconds that a stranger wrote.
func bounded(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN is not
		return 0
	}
	return time.Duration(min(seconds, longestSay.Seconds()) * float64(time.Second))
}
