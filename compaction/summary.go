package compaction

import (
	"fmt"
	"regexp"
	"strings"
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

// thinking matches reasoning that a model wrote into its visible text, closed
// or cut off.
var thinking = regexp.MustCompile(`(?s)<(think|thinking|reasoning)>.*?(</(think|thinking|reasoning)>|\z)`)

// declining matches how models begin a refusal. It is asked only of short
// texts: a summary may well tell of one.
var declining = regexp.MustCompile(`(?i)^\W*((i'm|i am|we're|we are) (very |truly )?(sorry|unable)|sorry[,.]|i (can't|cannot|can not|won't|will not|must decline)|(as an ai|unfortunately, i)\b|i apologi[sz]e)`)

// decliningBytes is the longest text that is taken for a refusal by its words.
const decliningBytes = 400

// clearlyShorter is the part of the replaced tokens that a summary may reach.
const clearlyShorter = 0.66

// vet decides whether an answer may stand in for messages of replaced tokens,
// and returns its text. The answer comes from a model that read a stranger's
// text: nothing about it is trusted but what is checked here.
func vet(a Answer, replaced int, count func(string) int) (text string, tokens int, result Result) {
	text = strings.TrimSpace(thinking.ReplaceAllString(a.Text, ""))
	switch {
	case a.Refusal != "" || a.Finish == "content_filter":
		return "", 0, ResultRefused
	case a.Finish == "length" || a.Finish == "max_tokens" || a.Finish == "model_context_window_exceeded":
		return "", 0, ResultCutOff
	case a.ToolCalls || a.Finish == "tool_calls" || a.Finish == "function_call":
		return "", 0, ResultToolCalls
	case text == "":
		return "", 0, ResultEmpty
	case len(text) <= decliningBytes && declining.MatchString(text):
		return "", 0, ResultRefused
	}
	tokens = count(text)
	if float64(tokens) > clearlyShorter*float64(replaced) {
		return "", 0, ResultNotShorter
	}
	return text, tokens, ResultOK
}
