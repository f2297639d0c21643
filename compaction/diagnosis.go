package compaction

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-proxy/pleat/compaction/overflow"
)

// Diagnosis says what used the tokens of a request that exceeds its window: the
// member "pleat" of the error that the client gets. It holds no text of messages
// but the provider's own words.
type Diagnosis struct {
	Kind           string          `json:"kind"` // "input": the prompt alone; "total": prompt and requested output
	Model          string          `json:"model"`
	Window         DiagnosedWindow `json:"window"`
	Tokens         DiagnosedTokens `json:"tokens"`
	Chunks         map[string]int  `json:"chunks"` // tokens of each chunk, and of the tools
	Largest        []Largest       `json:"largest"`
	Session        string          `json:"session,omitempty"`
	FoldedMessages int             `json:"folded_messages"`
	Attempts       []Attempt       `json:"attempts"`
	Suggestions    []string        `json:"suggestions"`
	Upstream       Refusal         `json:"upstream"`
}

// DiagnosedWindow is the window, in tokens; 0 is unknown.
type DiagnosedWindow struct {
	Input  int    `json:"input"`
	Output int    `json:"output"`
	Total  int    `json:"total"`
	Source string `json:"source"`
}

// DiagnosedTokens is what the request takes, in tokens.
type DiagnosedTokens struct {
	Input     int  `json:"input"`
	Output    int  `json:"output"` // asked for, or reserved
	Total     int  `json:"total"`
	Estimated bool `json:"estimated"`
}

// Largest is one of the largest messages that were sent.
type Largest struct {
	Index  int    `json:"index"` // in messages, from 0
	Role   string `json:"role"`
	Chunk  string `json:"chunk"`
	Tokens int    `json:"tokens"`
}

// Refusal is what the upstream answered.
type Refusal struct {
	Status  int    `json:"status"`
	Format  string `json:"format"`
	Message string `json:"message"`
}

// largestShown is how many of the largest messages a diagnosis names.
const largestShown = 5

// Diagnose says what used the tokens of a request that the upstream refused with
// o and status. It must be called before Responded.
func (c *Compactor) Diagnose(p *Plan, o Overflow, status int) *Diagnosis {
	d := &Diagnosis{
		Kind: string(o.Kind), Model: p.Model, Session: p.Session,
		FoldedMessages: p.FoldedMessages, Attempts: p.Attempts, Chunks: map[string]int{},
		Upstream: Refusal{Status: status, Format: o.Format, Message: o.Message},
	}
	v := p.view
	if v == nil {
		d.Suggestions = []string{"Start a new conversation, or send less."}
		return d
	}
	d.Window = DiagnosedWindow{v.limits.Input, v.limits.Output, v.limits.Total, v.limits.Source}
	d.statedWindow(o)
	d.Tokens = DiagnosedTokens{Input: p.TokensSent, Output: v.output, Estimated: p.Estimated}
	if o.Input.Tokens > 0 && !o.Input.Bound {
		d.Tokens.Input, d.Tokens.Estimated = o.Input.Tokens, false
	}
	if o.Output.Tokens > 0 {
		d.Tokens.Output = o.Output.Tokens
	}
	d.Tokens.Total = d.Tokens.Input + d.Tokens.Output
	d.parts(v, p.fold)
	d.suggest(v)
	return d
}

// statedWindow lets the upstream's own word stand above all other sources.
func (d *Diagnosis) statedWindow(o Overflow) {
	if o.Limit.Tokens == 0 || o.LimitIs == overflow.Bogus {
		return
	}
	d.Window.Source = "upstream"
	if o.Kind == overflow.Input {
		d.Window.Input = o.Limit.Tokens
		d.Window.Total = max(d.Window.Total, o.Limit.Tokens)
		return
	}
	d.Window.Total = o.Limit.Tokens
	d.Window.Input = min(cmp.Or(d.Window.Input, o.Limit.Tokens), o.Limit.Tokens)
}

// parts fills in what the chunks and the largest messages take, as sent.
func (d *Diagnosis) parts(v *view, f applied) {
	if v.extra > 0 {
		d.Chunks["tools"] = v.extra
	}
	if f.tokens > 0 {
		d.Chunks[chunkDone.String()] += f.tokens
	}
	for i, fate := range v.fates(f) {
		if fate.What == "folded" {
			continue
		}
		if s, ok := v.short[i]; ok {
			fate.Tokens = s.tokens
		}
		d.Chunks[fate.Chunk] += fate.Tokens
		d.Largest = append(d.Largest, Largest{Index: i, Role: fate.Role, Chunk: fate.Chunk, Tokens: fate.Tokens})
	}
	slices.SortStableFunc(d.Largest, func(a, b Largest) int { return b.Tokens - a.Tokens })
	d.Largest = d.Largest[:min(len(d.Largest), largestShown)]
}

// suggest says what the person can do, in words that fit what was measured.
func (d *Diagnosis) suggest(v *view) {
	add := func(format string, args ...any) { d.Suggestions = append(d.Suggestions, fmt.Sprintf(format, args...)) }
	window := max(d.Window.Input, d.Window.Total)
	if v.r.limitField != "" && d.Window.Total > 0 && d.Tokens.Input < d.Window.Total && d.Tokens.Total > d.Window.Total {
		add("Ask for less output: %s is %d, and %d tokens are left beside the input.",
			v.r.limitField, d.Tokens.Output, d.Window.Total-d.Tokens.Input)
	}
	if len(d.Largest) > 0 {
		if m := d.Largest[0]; m.Tokens*3 > d.Tokens.Input || window > 0 && m.Tokens*2 > window {
			add("Shorten message %d (%s): it alone takes about %d tokens.", m.Index, m.Role, m.Tokens)
		}
	}
	if tools := d.Chunks["tools"]; tools*4 > d.Tokens.Input {
		add("Declare fewer tools: their definitions take about %d of %d tokens.", tools, d.Tokens.Input)
	}
	if system := d.Chunks[chunkSystem.String()]; system*4 > d.Tokens.Input {
		add("Shorten the system messages: they take about %d of %d tokens.", system, d.Tokens.Input)
	}
	if timedOut(d.Attempts) {
		add("Send the request again in a minute: a summary of the older turns is being written.")
	}
	if v.h.done > 0 {
		add("Start a new conversation, or leave out turns that no longer matter.")
	}
	if len(d.Suggestions) == 0 {
		add("Send less text, or use a model with a larger window.")
	}
}

func timedOut(attempts []Attempt) bool {
	return slices.ContainsFunc(attempts, func(a Attempt) bool { return a.Result == "timed_out" })
}

// RetryAfter is when the request is worth sending again, in seconds; 0 if it is
// not to be expected that it will ever fit.
func (d *Diagnosis) RetryAfter() int {
	if timedOut(d.Attempts) {
		return 60
	}
	return 0
}

// possibly is the part of a limit from which on it may be what was exceeded,
// where counts are estimates (Aider's rule).
const possibly = 0.7

// Message is the diagnosis for a person, readable on its own.
func (d *Diagnosis) Message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The context window of %s is exceeded.\n", cmp.Or(d.Model, "the model"))
	line := func(what string, tokens, limit int) {
		about := ""
		if d.Tokens.Estimated {
			about = "~"
		}
		fmt.Fprintf(&b, "%s tokens: %s%s of %s%s\n", what, about, grouped(tokens), orUnknown(limit), verdict(tokens, limit))
	}
	line("Input", d.Tokens.Input, d.Window.Input)
	line("Output", d.Tokens.Output, d.Window.Output)
	line("Total", d.Tokens.Total, d.Window.Total)
	for _, s := range d.Suggestions {
		b.WriteString("- " + s + "\n")
	}
	if d.Upstream.Message != "" {
		b.WriteString("The provider said: " + d.Upstream.Message)
	}
	return strings.TrimRight(b.String(), "\n")
}

func verdict(tokens, limit int) string {
	switch {
	case limit > 0 && tokens > limit:
		return " (exceeded)"
	case limit > 0 && float64(tokens) >= possibly*float64(limit):
		return " (possibly exceeded)"
	}
	return ""
}

func orUnknown(limit int) string {
	if limit == 0 {
		return "an unknown limit"
	}
	return grouped(limit)
}

// grouped writes a number with a comma at the thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
