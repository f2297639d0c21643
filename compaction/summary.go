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

// thinking matches reasoning at the beginning of the visible text: in tags, cut
// off, or with its end alone (servers that strip the opening tag).
var thinking = regexp.MustCompile(
	`(?s)\A\s*(?:<(think|thinking|reasoning)>(?:.*?</(?:think|thinking|reasoning)>|.*\z)` +
		`|[^<]*</(?:think|thinking|reasoning)>)`)

// declining matches how models begin a refusal, in some of the languages that
// they refuse in. It is asked only of short texts: a summary may well tell of
// one. Apostrophes are made straight before.
var declining = regexp.MustCompile(`(?i)\A[\s\p{P}]*(?:` + strings.Join([]string{
	`(?:i'm|i am|we're|we are) (?:very |truly |really )?(?:sorry|unable|not able)`,
	`sorry,? (?:but )?(?:i|we)\b`,
	`(?:unfortunately,? )?(?:i|we) (?:can't|cannot|can not|won't|will not|must decline)`,
	`as an ai\b`, `i (?:must )?apologi[sz]e`,
	`es tut mir (?:sehr )?leid`, `tut mir leid`, `(?:leider|dabei|das) kann ich`, `ich kann (?:dabei|dir|ihnen|das|diese)\b`,
	`lo siento`, `no puedo (?:ayudar|cumplir|hacer)`, `je suis désolée?`, `désolée?,`, `je ne peux pas`,
	`mi dispiace`, `non posso aiutar`, `desculpe`, `sinto muito`, `não posso ajudar`,
	`к сожалению`, `извините`, `простите`, `я не могу`, `抱歉`, `对不起`, `很抱歉`, `我无法`, `我不能`,
	`申し訳`, `すみません`, `죄송`,
}, "|") + `)`)

// decliningBytes is the longest text that is taken for a refusal by its words.
const decliningBytes = 1200

// clearlyShorter is the part of the replaced tokens that a summary may reach.
const clearlyShorter = 0.66

// vet decides whether an answer may stand in for messages of replaced tokens,
// and returns its text. The answer comes from a model that read a stranger's
// text: nothing about it is trusted but what is checked here.
func vet(a Answer, replaced int, count func(string) int) (text string, tokens int, result Result) {
	text = strings.TrimSpace(a.Text[len(thinking.FindString(a.Text)):])
	switch {
	case a.Refusal != "" || a.Finish == "content_filter":
		return "", 0, ResultRefused
	case a.Finish == "length" || a.Finish == "max_tokens" || a.Finish == "model_context_window_exceeded":
		return "", 0, ResultCutOff
	case a.ToolCalls || a.Finish == "tool_calls" || a.Finish == "function_call":
		return "", 0, ResultToolCalls
	case text == "":
		return "", 0, ResultEmpty
	case len(text) <= decliningBytes && declining.MatchString(strings.ReplaceAll(text, "’", "'")):
		return "", 0, ResultRefused
	}
	tokens = count(text)
	if float64(tokens) > clearlyShorter*float64(replaced) {
		return "", 0, ResultNotShorter
	}
	return text, tokens, ResultOK
}
