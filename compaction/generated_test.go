package compaction

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// growing is a generated conversation: every message as the client spells it,
// and the lengths at which it sends a request.
type growing struct {
	rt       *rapid.T
	messages []string
	requests []int
	style    string
	ids      int
}

// The styles of generated conversations. All but the last give lists that strict
// providers take.
const (
	styleChat  = "chat"  // user and assistant in turn
	styleAgent = "agent" // tool calls, all answered at once
	styleWild  = "wild"  // whatever has been seen
)

// drawConversation draws a conversation of several turns.
func drawConversation(rt *rapid.T) *growing {
	styles := []string{styleChat, styleAgent, styleWild, styleWild}
	g := &growing{rt: rt, style: rapid.SampledFrom(styles).Draw(rt, "style")}
	if g.some(70) {
		g.add("system", g.text(80))
	}
	if g.wild(20) {
		g.add("developer", g.text(80))
	}
	if g.wild(15) { // few-shot examples
		g.rawf(`{"role":"system","name":"example_user","content":%s,"n":%d}`, quoted(g.text(60)), len(g.messages))
		g.rawf(`{"role":"system","name":"example_assistant","content":%s,"n":%d}`, quoted(g.text(60)), len(g.messages))
	}
	for range rapid.IntRange(2, 14).Draw(rt, "turns") {
		g.turn()
	}
	return g
}

func (g *growing) some(percent int) bool {
	return rapid.IntRange(1, 100).Draw(g.rt, "chance") <= percent
}

// wild is some where anything goes, else false.
func (g *growing) wild(percent int) bool { return g.style == styleWild && g.some(percent) }

func (g *growing) text(most int) string {
	return prose(fmt.Sprintf("m%d ", len(g.messages)), rapid.IntRange(8, most).Draw(g.rt, "size"))
}

func quoted(text string) string { return `"` + text + `"` }

// rawf adds a message, and white space in it that must be kept.
func (g *growing) rawf(format string, args ...any) {
	m := fmt.Sprintf(format, args...)
	if g.some(20) {
		m = "{ \t" + m[1:]
	}
	g.messages = append(g.messages, m)
}

// add adds a plain message; its member n tells it from all others.
func (g *growing) add(role, text string) {
	g.rawf(`{"role":"%s","content":%s,"n":%d}`, role, quoted(text), len(g.messages))
}

// send notes that the client sends what there is.
func (g *growing) send() { g.requests = append(g.requests, len(g.messages)) }

// turn adds a turn, and the requests that are sent in it.
func (g *growing) turn() {
	g.user()
	if g.wild(12) {
		g.add("system", g.text(100))
	}
	if g.wild(10) {
		g.user()
	}
	if g.style != styleChat {
		for range rapid.IntRange(0, 6).Draw(g.rt, "steps") {
			g.send()
			g.step()
		}
	}
	g.send()
	//nolint:gocritic // every case draws anew
	switch {
	case g.wild(8):
		return // the client gave up, and says something else
	case g.wild(8):
		g.rawf(`{"role":"assistant","content":"","n":%d}`, len(g.messages))
	case g.wild(8):
		g.rawf(`{"role":"assistant","refusal":%s,"n":%d}`, quoted(g.text(90)), len(g.messages))
	default:
		g.add("assistant", g.text(1200))
	}
	if g.wild(8) {
		g.add("assistant", g.text(200))
	}
	if g.wild(6) {
		g.add("developer", g.text(90))
	}
}

// user adds a message of the user's.
func (g *growing) user() {
	n := len(g.messages)
	//nolint:gocritic // every case draws anew
	switch {
	case g.wild(10):
		g.rawf(`{"role":"user","content":[{"type":"text","text":%s},{"type":"image_url","image_url":{"url":"https://x/%d.png"}}],"n":%d}`,
			quoted(g.text(400)), n, n)
	case g.wild(10):
		g.rawf(`{"role":"user","name":"u%d","content":%s,"n":%d}`, n%3, quoted(g.text(300)), n)
	case g.wild(6):
		g.rawf(`{"role":"user","content":"","n":%d}`, n)
	case g.wild(3):
		g.rawf(`{"role":"critic","content":%s,"n":%d}`, quoted(g.text(90)), n)
	case g.wild(3):
		g.rawf(`{"role":"assistant","audio":{"id":"a%d"},"n":%d}`, n, n)
	default:
		g.add("user", g.text(900))
	}
}

// step adds calls and their results, and what agents put around them.
func (g *growing) step() {
	if g.wild(12) {
		g.legacyStep()
		return
	}
	n := rapid.IntRange(1, 3).Draw(g.rt, "calls")
	var ids, calls []string
	for range n {
		g.ids++
		id := fmt.Sprintf("call%05d", g.ids)
		if g.style == styleWild && g.ids%2 == 0 {
			id = fmt.Sprintf("again%d", len(ids)) // as some models do
		}
		ids = append(ids, id)
		calls = append(calls, fmt.Sprintf(`{"id":"%s","type":"function","function":{"name":"look","arguments":"{\"at\": %d}"}}`, id, g.ids))
	}
	content := rapid.SampledFrom([]string{`"content":null,`, ``, `"content":"",`, `"content":"I look.",`,
		`"content":null,"reasoning_content":"It may be there.",`}).Draw(g.rt, "content")
	g.rawf(`{"role":"assistant",%s"tool_calls":[%s],"n":%d}`, content, strings.Join(calls, ","), len(g.messages))
	if g.wild(20) {
		ids[0], ids[len(ids)-1] = ids[len(ids)-1], ids[0] // in another order
	}
	for i, id := range ids {
		switch {
		case g.wild(6):
			continue // never answered
		case i > 0 && g.wild(8):
			g.add("user", g.text(200)) // and the result comes late
		}
		g.result(id)
	}
	if g.wild(12) {
		g.add("user", g.text(200)) // a note
	}
}

func (g *growing) result(id string) {
	n := len(g.messages)
	//nolint:gocritic // every case draws anew
	switch {
	case g.wild(10):
		g.rawf(`{"role":"tool","tool_call_id":"%s","content":"","n":%d}`, id, n)
	case g.wild(10):
		g.rawf(`{"role":"tool","tool_call_id":"%s","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO%d"}}],"n":%d}`, id, n, n)
	default:
		g.rawf(`{"role":"tool","tool_call_id":"%s","content":%s,"n":%d}`, id, quoted(g.text(2400)), n)
	}
}

func (g *growing) legacyStep() {
	n := len(g.messages)
	g.rawf(`{"role":"assistant","content":null,"function_call":{"name":"look","arguments":"{\"at\":%d}"},"n":%d}`, n, n)
	if !g.wild(8) {
		g.rawf(`{"role":"function","name":"look","content":%s,"n":%d}`, quoted(g.text(900)), len(g.messages))
	}
}
