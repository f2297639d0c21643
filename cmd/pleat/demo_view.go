package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Widths of the demo's bars, in columns. With the numbers beside them a line
// stays within 80.
const (
	demoTurnBar  = 30
	demoChartBar = 36
)

// demoView writes what the demo shows. It keeps its own sums.
type demoView struct {
	out    io.Writer
	colour bool
	cell   int // tokens of one column of a turn's bar

	results []demoResult
}

// newDemoView returns a view whose bars have room for a conversation of about
// so many tokens.
func newDemoView(out io.Writer, colour bool, tokens int) *demoView {
	return &demoView{out: out, colour: colour, cell: max(1, (tokens+demoTurnBar-1)/demoTurnBar)}
}

// The colours of the demo, as ANSI codes.
const (
	demoGreen = "32"
	demoFaint = "2"
	demoBold  = "1"
)

func (v *demoView) paint(code, text string) string {
	if !v.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (v *demoView) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(v.out, format, args...)
}

// intro says what is about to be seen.
func (v *demoView) intro(turns int, trigger fmt.Stringer, provider string) {
	v.printf("%s\n", v.paint(demoBold, fmt.Sprintf("Pleat demo: a conversation of %d turns through the real proxy, trigger %s.", turns, trigger)))
	v.printf("%s\n", provider)
	v.printf("Folds are made in the background. Between turns the demo waits until that is\nidle, as it would be while a person reads and types; no answer waits for it.\n\n")
	v.printf("%s\n", v.paint(demoBold, "turn  received    sent  folded  status    sent █  held back by the fold ░"))
}

// turn writes one line: the tokens that came in, the tokens that went out, and
// whether a new fold was used for the first time.
func (v *demoView) turn(r demoResult) {
	before := 0
	if len(v.results) > 0 {
		before = v.results[len(v.results)-1].folded
	}
	v.results = append(v.results, r)
	mark := ""
	if r.folded > before {
		mark = v.paint(demoGreen, " ◂ new")
	}
	v.printf("%4d  %8s  %6s  %6s  %-8s  %s%s\n", r.turn, grouped(r.received), grouped(r.sent), grouped(r.folded), r.status,
		v.bar(r.sent, r.received), mark)
}

// bar is a turn's bar: what was sent, and behind it what was not.
func (v *demoView) bar(sent, received int) string {
	whole := min(demoTurnBar, (received+v.cell-1)/v.cell)
	full := min(whole, (sent+v.cell-1)/v.cell)
	return v.paint(demoGreen, strings.Repeat("█", full)) + v.paint(demoFaint, strings.Repeat("░", whole-full))
}

// demoSums is the outcome of a demo, in input tokens but for the summaries',
// which count both ways.
type demoSums struct {
	without, with, cost int
	counted             int // what was sent, as Pleat counted it
	cached              int
}

// saved is what is left of the gain when the summaries are paid for.
func (s demoSums) saved() int { return s.without - s.with - s.cost }

func (s demoSums) percent() float64 {
	if s.without == 0 {
		return 0
	}
	return 100 * float64(s.saved()) / float64(s.without)
}

func (v *demoView) sums(cost demoCost) demoSums {
	s := demoSums{cost: cost.prompt + cost.completion}
	for _, r := range v.results {
		s.without += r.received
		s.with += r.prompt
		s.counted += r.sent
		s.cached += r.cached
	}
	return s
}

// chart writes the closing bars and what is to be known about them.
func (v *demoView) chart(cost demoCost) {
	s := v.sums(cost)
	v.printf("\n%s\n\n", v.paint(demoBold, fmt.Sprintf("Input tokens over %d turns", len(v.results))))
	longest := max(s.without, s.with, s.cost, 1)
	line := func(label, colour string, tokens int, note string) {
		full := max(0, tokens) * demoChartBar / longest
		if full == 0 && tokens > 0 {
			full = 1
		}
		bar := v.paint(colour, strings.Repeat("█", full)) + strings.Repeat(" ", demoChartBar-full)
		v.printf("  %-14s %s %9s%s\n", label, bar, grouped(tokens), note)
	}
	line("without Pleat", demoFaint, s.without, "")
	line("with Pleat", demoGreen, s.with, "")
	line("its summaries", "33", s.cost, "")
	line("net saved", demoGreen, s.saved(), fmt.Sprintf("  %.1f%%", s.percent()))
	v.printf("\n")
	v.notes(s, cost)
}

func (v *demoView) notes(s demoSums, cost demoCost) {
	v.printf("Without Pleat: all that the client sent, as Pleat counts it. With Pleat: what\nthe provider's usage says. Summaries: %s; %s tokens read, %s written.\n",
		grouped(cost.summaries), grouped(cost.prompt), grouped(cost.completion))
	if off := s.counted - s.with; s.with > 0 && 50*max(off, -off) > s.with {
		v.printf("Pleat's own count of what was sent is %s tokens, %+.1f%% off the provider's.\n",
			grouped(s.counted), 100*float64(off)/float64(s.with))
	}
	largest := slices.MaxFunc(v.results, func(a, b demoResult) int { return a.received - b.received })
	sent := slices.MaxFunc(v.results, func(a, b demoResult) int { return a.sent - b.sent })
	v.printf("Longest request: %s tokens without Pleat, %s with it.\n", grouped(largest.received), grouped(sent.sent))
	var added []time.Duration
	for _, r := range v.results {
		added = append(added, r.added)
	}
	slices.Sort(added)
	v.printf("Pleat held a request for %s in the median, %s at most, before sending.\n",
		inMilliseconds(added[len(added)/2]), inMilliseconds(added[len(added)-1]))
	v.printf("These are tokens, not money. Providers bill what their prompt cache holds at a\ndiscount: %s of the tokens sent with Pleat, about %s without it.\n",
		grouped(s.cached), grouped(v.cachedWithout()))
}

// cachedWithout is about how many tokens a prompt cache would have held if the
// client's requests had gone out whole: each begins with the one before it.
// OpenAI's cache grants from 1,024 tokens on, in steps of 128.
func (v *demoView) cachedWithout() int {
	sum := 0
	for _, r := range v.results[:max(0, len(v.results)-1)] {
		if r.received >= 1024 {
			sum += r.received - r.received%128
		}
	}
	return sum
}

func inMilliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
}

// grouped writes a number with its thousands apart: 48,200,113.
func grouped(n int) string {
	if n < 0 {
		return "-" + grouped(-n)
	}
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
