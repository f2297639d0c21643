package compaction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// ToolResults says what becomes of old tool results. Observation masking does
// about as well as summaries for agents, at half the cost (Lindenbauer et al.,
// "The Complexity Trap", arXiv 2508.21433).
type ToolResults struct {
	// Shorten replaces results of all but the newest steps by their first and
	// last lines. Off, results are kept as they are, come what may.
	Shorten bool

	// Keep is how many of the newest steps keep their results whole (10). It is
	// also how many steps are shortened at a time, so that the prefix moves
	// once in so many steps.
	Keep int

	// Exempt names tools whose results are always kept whole.
	Exempt []string
}

// resultsKept is how many of the newest steps keep their results whole.
const resultsKept = 10

// Bounds of a short form, in bytes. A result of up to shortFrom bytes is left
// as it is: less would not be gained than is lost.
const (
	shortFrom = 1 << 10
	shortHead = 480
	shortTail = 240
)

// shortened is what stands in for a message whose tool result is shortened.
type shortened struct {
	raw    []byte
	tokens int
}

// shorten finds the results to shorten. Which they are is a function of the
// request alone, so that the same messages are treated alike on every turn: of
// the steps before the newest Keep, as many whole batches of Keep as there are,
// counted from the conversation's beginning.
func (v *view) shorten() {
	if !v.results.Shorten {
		return
	}
	batch := v.results.Keep
	steps := max(0, len(v.h.steps)-batch) / batch * batch
	for _, s := range v.h.steps[:steps] {
		names := v.callNames(s)
		for p := s.from; p < s.to; p++ {
			i := v.h.msgs[p]
			if !v.r.messages[i].role.result() || slices.Contains(v.results.Exempt, names(i)) {
				continue
			}
			if raw, text, ok := v.r.shortResult(i); ok {
				if v.short == nil {
					v.short = map[int]shortened{}
				}
				v.short[i] = shortened{raw: raw, tokens: v.count(text) + tokens.MessageOverhead}
			}
		}
	}
}

// callNames names the tool that a result of the step came from.
func (v *view) callNames(s step) func(i int) string {
	var calls []outlineCall
	if i := v.h.msgs[s.from]; v.r.messages[i].role == roleAssistant {
		calls = v.r.outline(i).calls
	}
	return func(i int) string {
		m := &v.r.messages[i]
		switch {
		case m.answers >= 0 && m.answers < len(calls):
			return calls[m.answers].name
		case m.fields.name.len() > 0:
			return v.r.outline(i).name
		}
		return ""
	}
}

// shortResult is message i with its result shortened: every byte but those of
// its content is the client's. It is not ok for a result that is short already,
// or has other parts than text.
func (r *request) shortResult(i int) (raw []byte, text string, ok bool) {
	m := &r.messages[i]
	if m.fields.content.len() <= shortFrom {
		return nil, "", false
	}
	o := r.outline(i)
	if !o.textOnly() {
		return nil, "", false
	}
	var whole strings.Builder
	for n, p := range o.parts {
		if n > 0 {
			whole.WriteByte('\n')
		}
		whole.WriteString(p.text)
	}
	if text = shortForm(whole.String()); len(text) > whole.Len()*3/4 {
		return nil, "", false
	}
	content, err := json.Marshal(text)
	if err != nil {
		return nil, "", false
	}
	raw = slices.Concat(r.body[m.from:m.fields.content.from], content, r.body[m.fields.content.to:m.to])
	return raw, text, true
}

// shortForm keeps the first and the last lines of a text, whole ones where they
// are not too long, and says in their middle what was cut.
func shortForm(text string) string {
	head := cutRunes(text, shortHead)
	if i := strings.LastIndexByte(text[:head], '\n'); i > shortHead/2 {
		head = i + 1
	}
	tail := cutRunes(text, len(text)-shortTail)
	if i := strings.IndexByte(text[tail:], '\n'); i >= 0 && i < shortTail/2 {
		tail += i + 1
	}
	cut := text[head:tail]
	return fmt.Sprintf("%s\n[… %d lines, %d bytes of an older tool result left out …]\n%s",
		strings.TrimRight(text[:head], "\n"), strings.Count(cut, "\n")+1, len(cut), text[tail:])
}
