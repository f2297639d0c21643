package compaction

import (
	"fmt"
	"time"
)

// AskError is a question that a summarizer could not get answered.
type AskError struct {
	Status     int           // the upstream's HTTP status, 0 if it gave none
	RetryAfter time.Duration // what the upstream asked to wait, 0 if it did not
	Err        error         // the cause, without message text or credentials
}

func (e *AskError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("summarizer: %v", e.Err)
	}
	return fmt.Sprintf("summarizer: status %d: %v", e.Status, e.Err)
}

func (e *AskError) Unwrap() error { return e.Err }
