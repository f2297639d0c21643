package compaction

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// Trigger says how many tokens of history, as they would be sent, are enough
// for a new fold to be made. The zero value is "auto".
type Trigger struct {
	tokens  int
	percent int // of the window's input
}

// Bounds of a trigger in tokens, and what "auto" takes where the window is
// unknown. Without tools auto is Aider's formula for its chat history: a
// sixteenth of the window, between these bounds.
const (
	triggerMin     = 1024
	triggerMax     = 8192
	triggerUnknown = 8192
	triggerFloor   = 64 // the least that may be configured
)

// ParseTrigger reads "auto", a number of tokens ("8000", at least 64) or a
// part of the window ("50%", 1 to 90).
func ParseTrigger(s string) (Trigger, error) {
	if s == "auto" || s == "" {
		return Trigger{}, nil
	}
	if p, ok := strings.CutSuffix(s, "%"); ok {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 90 {
			return Trigger{}, fmt.Errorf("%q is no percentage from 1%% to 90%%", s)
		}
		return Trigger{percent: n}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < triggerFloor {
		return Trigger{}, fmt.Errorf("%q is neither auto, nor a percentage, nor a number of tokens from %d", s, triggerFloor)
	}
	return Trigger{tokens: n}, nil
}

// Scope says what of a conversation may be folded.
type Scope string

// The values of Scope.
const (
	ScopeAuto  Scope = "auto"  // completed turns; near the window, completed steps of the current turn as well
	ScopeTurns Scope = "turns" // completed turns alone
	ScopeSteps Scope = "steps" // completed steps of the current turn as much as completed turns
)

// String is the inverse of ParseTrigger.
func (t Trigger) String() string {
	switch {
	case t.tokens > 0:
		return strconv.Itoa(t.tokens)
	case t.percent > 0:
		return strconv.Itoa(t.percent) + "%"
	}
	return "auto"
}

// demand is what a request needs of a window besides its history, in tokens.
type demand struct {
	fixed    int  // system messages, tools and the like
	reserved int  // output that must stay possible
	tools    bool // the client declares tools
}

// limit is the trigger in tokens for a request with that demand.
//
// Agents, who declare tools, are read by providers that cache the prefix, and
// every fold costs them a cache miss: so they get half of what is left of the
// window rather than a sixteenth of all of it.
func (t Trigger) limit(l window.Limits, d demand) int {
	input := inputLimit(l, d.reserved)
	switch {
	case t.tokens > 0 && input > 0: // a trigger above the window would never be reached
		return min(t.tokens, max(triggerFloor, int(nearWindow*float64(input))-d.fixed))
	case t.tokens > 0:
		return t.tokens
	case input == 0:
		return triggerUnknown
	case t.percent > 0:
		return max(triggerFloor, windowInput(l)*t.percent/100)
	case d.tools:
		return max(triggerMin, (input-d.fixed)/2)
	}
	return min(max(windowInput(l)/16, triggerMin), triggerMax)
}

// windowInput is how many input tokens a model takes at the most; 0: unknown.
func windowInput(l window.Limits) int {
	if l.Input > 0 {
		return l.Input
	}
	return l.Total
}

// inputLimit is how many input tokens fit when reserved ones must stay free
// for the output; 0 if the window is unknown.
func inputLimit(l window.Limits, reserved int) int {
	input := l.Input
	if l.Total > 0 {
		left := max(l.Total-reserved, 1)
		if input == 0 || left < input {
			input = left
		}
	}
	return input
}

// reservedOutput is what the client asked for, else the lesser of the model's
// output limit and an eighth of its window. Of a request for more than the model
// can write, or than half its window, no more than that is reserved: some clients
// ask for everything, always. The built-in catalogue's output figure is a usual
// setting rather than a limit, and does not count for that.
func reservedOutput(l window.Limits, asked int) int {
	most := max(l.Total, l.Input)
	if asked > 0 {
		if l.Output > 0 && l.Source != window.SourceCatalogue {
			asked = min(asked, l.Output)
		}
		if most > 0 {
			asked = min(asked, most/2)
		}
		return asked
	}
	eighth := most / 8
	if l.Output > 0 {
		return min(l.Output, eighth)
	}
	return eighth
}
