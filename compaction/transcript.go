package compaction

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// resultBytes is how much of a tool result a transcript carries: its first two
// thirds and its last third are kept when it is longer.
const resultBytes = 6 << 10

// render writes one message as plain text for a summarizer. number is its
// place among the unpinned messages, counted from 1.
func (o *outline) render(number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d] %s", number, o.role)
	if o.name != "" {
		fmt.Fprintf(&b, " (%s)", oneLine(o.name))
	}
	b.WriteString(":\n")
	isResult := o.role == "tool" || o.role == "function"
	for _, p := range o.parts {
		switch {
		case p.kind != "text":
			fmt.Fprintf(&b, "(%s)\n", oneLine(strings.TrimSpace(p.kind+" "+p.text)))
		case isResult:
			b.WriteString(shorten(p.text, resultBytes) + "\n")
		default:
			b.WriteString(p.text + "\n")
		}
	}
	if o.refusal != "" {
		b.WriteString("(declined: " + o.refusal + ")\n")
	}
	for _, c := range o.calls {
		fmt.Fprintf(&b, "(calls %s with %s)\n", oneLine(c.name), c.arguments)
	}
	return b.String()
}

// shorten keeps the beginning and the end of a long text and says what is cut.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := cutRunes(text, limit*2/3), len(text)-limit/3
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n(… %d bytes left out …)\n%s", text[:head], tail-head, text[tail:])
}

// cutRunes is the greatest length up to limit, in bytes, that splits no rune.
func cutRunes(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
