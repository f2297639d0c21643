package compaction

import (
	"fmt"
	"slices"
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
			indent(&b, shorten(p.text, resultBytes))
		default:
			indent(&b, p.text)
		}
	}
	if o.refusal != "" {
		b.WriteString("(declines)\n")
		indent(&b, o.refusal)
	}
	for _, c := range o.calls {
		fmt.Fprintf(&b, "(calls %s)\n", oneLine(c.name))
		indent(&b, c.arguments)
	}
	return b.String()
}

// indent writes text so that no line of it can pass for a speaker's: those
// begin at the left margin.
func indent(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		b.WriteString("  ")
		b.WriteString(strings.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
}

// stayBytes is how much of each text a transcript carries of a message that is
// sent all the same: enough to know what the rest is about.
const stayBytes = 2 << 10

// abridge shortens the texts of a message that is sent all the same.
func (o *outline) abridge() {
	for i := range o.parts {
		o.parts[i].text = shorten(o.parts[i].text, stayBytes)
	}
}

// textOnly says that a message has no part but text.
func (o *outline) textOnly() bool {
	return !slices.ContainsFunc(o.parts, func(p outlinePart) bool { return p.kind != "text" })
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
