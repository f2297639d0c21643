package compaction

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// said is a message as its author meant it; a speller writes it down in one of
// the many ways that mean the same.
type said struct {
	role, text string
	calls      []saidCall
	answers    int // which call of the assistant message before it; -1 none
}

type saidCall struct {
	name      string
	arguments value
}

// value is any JSON value.
type value struct {
	word    string // null, true, a number: as it is spelled
	text    *string
	items   []value
	members []saidMember
	isList  bool
}

type saidMember struct {
	key   string
	value value
}

func genValue(depth int) *rapid.Generator[value] {
	return rapid.Custom(func(t *rapid.T) value {
		kinds := 3
		if depth == 0 {
			kinds = 1
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return value{word: rapid.SampledFrom([]string{"null", "true", "0", "-1.50", "1e999"}).Draw(t, "word")}
		case 1:
			text := rapid.String().Draw(t, "text")
			return value{text: &text}
		case 2:
			return value{isList: true, items: rapid.SliceOfN(genValue(depth-1), 0, 3).Draw(t, "items")}
		}
		var v value
		keys := rapid.SliceOfNDistinct(rapid.String(), 0, 4, rapid.ID).Draw(t, "keys")
		for _, key := range keys {
			v.members = append(v.members, saidMember{key, genValue(depth-1).Draw(t, "member")})
		}
		return v
	})
}

func genConversation(t *rapid.T) []said {
	var list []said
	open := 0
	for range rapid.IntRange(1, 6).Draw(t, "messages") {
		m := said{role: rapid.SampledFrom([]string{"system", "user", "assistant", "tool"}).Draw(t, "role"), answers: -1}
		m.text = rapid.String().Draw(t, "text")
		switch m.role {
		case "assistant":
			open = rapid.IntRange(0, 2).Draw(t, "calls")
			for range open {
				m.calls = append(m.calls, saidCall{rapid.String().Draw(t, "name"), genValue(2).Draw(t, "arguments")})
			}
		case "tool":
			if open > 0 {
				open--
				m.answers = open
			}
		}
		list = append(list, m)
	}
	return list
}

type speller struct{ t *rapid.T }

// chance is drawn each time one of two spellings is to be chosen.
func (s speller) chance() bool { return rapid.Bool().Draw(s.t, "chance") }

func (s speller) space() string {
	return rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"}).Draw(s.t, "space")
}

func (s speller) quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch must := r == '"' || r == '\\' || r < ' '; {
		case r == '\n' && s.chance():
			b.WriteString(`\n`)
		case r == '/' && s.chance():
			b.WriteString(`\/`)
		case (r == '"' || r == '\\') && s.chance():
			b.WriteString(`\` + string(r))
		case must || s.chance():
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(s.t, "hex"), unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// object writes members, given as key and value in JSON, in any order.
func (s speller) object(members [][2]string) string {
	members = rapid.Permutation(members).Draw(s.t, "order")
	var all []string
	for _, m := range members {
		all = append(all, s.space()+s.quoted(m[0])+s.space()+":"+s.space()+m[1]+s.space())
	}
	return "{" + strings.Join(all, ",") + s.space() + "}"
}

func (s speller) value(v value) string {
	switch {
	case v.text != nil:
		return s.quoted(*v.text)
	case v.isList:
		var all []string
		for _, item := range v.items {
			all = append(all, s.space()+s.value(item)+s.space())
		}
		return "[" + strings.Join(all, ",") + s.space() + "]"
	case v.word != "":
		return v.word
	}
	var all [][2]string
	for _, m := range v.members {
		all = append(all, [2]string{m.key, s.value(m.value)})
	}
	return s.object(all)
}

func (s speller) mark() [2]string { return [2]string{"cache_control", `{"type":"ephemeral"}`} }

func (s speller) content(text string) string {
	part := [][2]string{{"type", s.quoted("text")}, {"text", s.quoted(text)}}
	switch choice := rapid.IntRange(0, 3).Draw(s.t, "content"); {
	case choice == 0:
		return "[" + s.object(part) + "]"
	case choice == 1:
		return "[" + s.object(append(part, s.mark())) + s.space() + "]"
	case choice == 2 && text == "":
		return rapid.SampledFrom([]string{"null", "[]", "[ ]"}).Draw(s.t, "nothing")
	}
	return s.quoted(text)
}

func (s speller) message(m said, prefix string) string {
	all := [][2]string{{"role", s.quoted(m.role)}, {"content", s.content(m.text)}}
	if s.chance() {
		all = append(all, [2]string{"reasoning_content", s.quoted(rapid.String().Draw(s.t, "reasoning"))}, s.mark())
	}
	if len(m.calls) > 0 {
		var calls []string
		for i, c := range m.calls {
			function := [][2]string{{"name", s.quoted(c.name)}, {"arguments", s.quoted(s.space() + s.value(c.arguments) + s.space())}}
			calls = append(calls, s.object([][2]string{
				{"id", s.quoted(fmt.Sprint(prefix, i))}, {"type", s.quoted("function")}, {"function", s.object(function)},
			}))
		}
		all = append(all, [2]string{"tool_calls", "[" + strings.Join(calls, ",") + "]"})
	}
	if m.role == "tool" {
		all = append(all, [2]string{"tool_call_id", s.quoted(fmt.Sprint(prefix, m.answers))})
	}
	return s.object(all)
}

func (s speller) request(list []said) *request {
	prefix := rapid.SampledFrom([]string{"call_", "é"}).Draw(s.t, "ids")
	var all []string
	for _, m := range list {
		all = append(all, s.message(m, prefix))
	}
	body := s.object([][2]string{{"model", `"m"`}, {"messages", "[" + strings.Join(all, ",") + "]"}})
	r, err := scan([]byte(body))
	if err != nil {
		s.t.Fatalf("scan(%s): %v", body, err)
	}
	r.fingerprint()
	return r
}

func TestAnotherSpellingMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := genConversation(t)
		s := speller{t}
		a, b := s.request(list), s.request(list)
		for i := range list {
			if a.messages[i].fp != b.messages[i].fp || a.messages[i].size != b.messages[i].size {
				t.Fatalf("message %d:\n%s\n%s", i, a.messages[i].in(a.body), b.messages[i].in(b.body))
			}
			if a.messages[i].answers != list[i].answers {
				t.Fatalf("message %d answers %d, want %d", i, a.messages[i].answers, list[i].answers)
			}
			o := a.outline(i)
			text := ""
			if len(o.parts) > 0 {
				text = o.parts[0].text
			}
			if text != list[i].text || len(o.parts) > 1 || len(o.calls) != len(list[i].calls) {
				t.Fatalf("message %d: outline %+v of %+v", i, o, list[i])
			}
		}
	})
}

func TestAnotherTextMeansSomethingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := genConversation(t)
		s := speller{t}
		before := s.request(list)
		changed := rapid.IntRange(0, len(list)-1).Draw(t, "changed")
		text := []rune(list[changed].text)
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		list[changed].text = string(text[:at]) + rapid.StringN(1, 3, -1).Draw(t, "insert") + string(text[at:])
		after := s.request(list)
		for i := range list {
			if same := before.messages[i].fp == after.messages[i].fp; same == (i == changed) {
				t.Fatalf("message %d: same %v, changed %d", i, same, changed)
			}
		}
	})
}
