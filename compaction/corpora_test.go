package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// corpora finds the real conversations, or skips the test.
func corpora(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("PLEAT_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpora")
	}
	files, err := filepath.Glob(filepath.Join(dir, "conversations", "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("no corpora: set PLEAT_CORPORA")
	}
	return files
}

type conversation struct {
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
	Legacy   json.RawMessage   `json:"functions"`
}

// openConversation reads a conversation, without the white space around its
// values, which the test's own client would not send.
func openConversation(t testing.TB, file string) conversation {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var conv conversation
	if err := json.Unmarshal(data, &conv); err != nil {
		t.Fatal(err)
	}
	for i, m := range conv.Messages {
		conv.Messages[i] = compact(m)
	}
	return conv
}

// extras are the members that declare tools: its own ones, else one that stands
// for those that were not recorded.
func (c conversation) extras() string {
	switch {
	case len(c.Tools) > 0:
		return `,"tools":` + string(c.Tools)
	case len(c.Legacy) > 0:
		return `,"functions":` + string(c.Legacy)
	}
	return `,"tools":[{"type":"function","function":{"name":"look_up","parameters":{"type":"object"}}}]`
}

// peek is what the checks need to know of a message; it is read by
// encoding/json and shares no code with what it checks.
type peek struct {
	Role    string          `json:"role"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"tool_call_id"`
	Calls   []peekCall      `json:"tool_calls"`
	Legacy  json.RawMessage `json:"function_call"`
}

// isFold says that a message is Pleat's and not the client's.
func (p peek) isFold() bool { return bytes.HasPrefix(p.Content, []byte(`"`+foldOpening)) }

func (p peek) pinned() bool { return p.Role == "system" || p.Role == "developer" }

type peekCall struct {
	ID string `json:"id"`
}

func peeks(t testing.TB, list []json.RawMessage) []peek {
	t.Helper()
	out := make([]peek, len(list))
	for i, raw := range list {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	return out
}

// fault says what is wrong with a list of messages by the rules that providers
// enforce; empty if nothing is.
func fault(list []peek) string {
	open := map[string]bool{}
	legacy := false
	for i, m := range list {
		switch m.Role {
		case "tool":
			if !open[m.CallID] {
				return fmt.Sprintf("tool result %d answers no open call", i)
			}
			delete(open, m.CallID)
		case "function":
			if !legacy {
				return fmt.Sprintf("function result %d answers no call", i)
			}
			legacy = false
		case "assistant":
			clear(open)
			for _, c := range m.Calls {
				open[c.ID] = true
			}
			legacy = len(m.Legacy) > 0 && string(m.Legacy) != "null"
		case "user":
			for range open {
				return fmt.Sprintf("message %d comes before a call is answered", i)
			}
		}
	}
	return ""
}

func alternating(list []peek, exemptTools bool) bool {
	want := "user"
	for _, m := range list {
		if m.pinned() {
			continue
		}
		if exemptTools && (m.Role == "tool" || m.Role == "function" || len(m.Calls) > 0 || len(m.Legacy) > 0) {
			continue
		}
		if m.Role != want {
			return false
		}
		want = map[string]string{"user": "assistant", "assistant": "user"}[want]
	}
	return true
}

// Every real conversation, replayed request by request: what goes out is valid
// where what came in was, instructions stay, kept messages keep their bytes.
func TestCorporaStayValid(t *testing.T) {
	triggers := corporaTriggers()
	files := corpora(t)
	if testing.Short() || underRace {
		triggers = triggers[:1]
	}
	for i, file := range files {
		if underRace && i%8 != 0 {
			continue
		}
		name := filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
		for _, scope := range []Scope{ScopeTurns, ScopeSteps} {
			t.Run(name+"/"+string(scope), func(t *testing.T) {
				conv := openConversation(t, file)
				for _, trigger := range triggers {
					replay(t, conv, replaying{trigger: trigger, scope: scope, share: 1, summarizer: &writer{}, requests: thinned})
				}
			})
		}
	}
}

// corporaTriggers are small ones, so that short conversations are folded too.
func corporaTriggers() []int { return []int{1024, 2000, 8192} }

// thinned leaves out some requests of long sessions: every so many are sent, and
// the last ones.
func thinned(ends []int) []int {
	if len(ends) <= 60 {
		return ends
	}
	var some []int
	step := len(ends)/50 + 1
	for i, e := range ends {
		if i%step == 0 || i > len(ends)-5 {
			some = append(some, e)
		}
	}
	return some
}

func unthinned(ends []int) []int { return ends }

// replaying is how a conversation is replayed.
type replaying struct {
	trigger    int
	scope      Scope
	share      float64
	summarizer Summarizer
	requests   func(ends []int) []int // chooses which
}

// replay sends a conversation's requests, one a minute, and checks what goes out.
func replay(t *testing.T, conv conversation, how replaying) (o outcome) {
	t.Helper()
	passing := newClock(time.Minute)
	cl := newClient(t, how.summarizer, func(o *Options) {
		o.Trigger, o.Scope, o.Share, o.Now = Trigger{tokens: how.trigger}, how.scope, how.share, passing.now
	})
	cl.extra = conv.extras()
	for _, end := range how.requests(requestEnds(peeks(t, conv.Messages))) {
		passing.tick()
		list := conv.Messages[:end]
		p, out := cl.turn(list)
		o.requests++
		o.received, o.sent = o.received+p.TokensReceived, o.sent+p.TokensSent
		if p.Status == Folded {
			o.folded++
			checkFolded(t, end, list, out, how.scope)
		} else if !equalLists(list, out) {
			t.Fatalf("request %d (%s): messages were changed", end, p.Status)
		}
	}
	return o
}

// requestEnds are the lengths of the lists that a client would have sent: one
// before each assistant message.
func requestEnds(all []peek) []int {
	var ends []int
	for i, m := range all {
		if m.Role == "assistant" && i > 0 && all[i-1].Role != "assistant" && all[i-1].Role != "system" {
			ends = append(ends, i)
		}
	}
	if n := len(all); n > 0 && (all[n-1].Role == "user" || all[n-1].Role == "tool") {
		ends = append(ends, n)
	}
	return ends
}

func equalLists(a, b []json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], compact(b[i])) {
			return false
		}
	}
	return true
}

// compact undoes the white space that json.Marshal of a RawMessage removes.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	return b.Bytes()
}

func checkFolded(t *testing.T, end int, list, out []json.RawMessage, scope Scope) {
	t.Helper()
	in, sent := peeks(t, list), peeks(t, out)
	if f := fault(in); f == "" {
		if f := fault(sent); f != "" {
			t.Fatalf("request %d: %s", end, f)
		}
	}
	for _, exempt := range []bool{false, true} {
		if alternating(in, exempt) && !alternating(sent, exempt) {
			t.Fatalf("request %d: no longer alternates (tools exempt: %t)", end, exempt)
		}
	}
	checkRules(t, in, sent)
	isKept, added := keptOf(list, out, sent)
	if added > 2 {
		t.Fatalf("request %d: %d messages are not the client's", end, added)
	}
	if !isKept[len(list)-1] {
		t.Fatalf("request %d: does not end with the client's newest message", end)
	}
	for i := range in {
		if in[i].pinned() && !isKept[i] {
			t.Fatalf("request %d: instruction %d is gone", end, i)
		}
	}
	for _, i := range mustStay(in, scope) {
		same := func(o json.RawMessage) bool { return bytes.Equal(o, list[i]) } // perhaps taken for an equal one before it
		if !isKept[i] && !slices.ContainsFunc(out, same) {
			t.Fatalf("request %d: message %d of the current turn is gone", end, i)
		}
	}
}

// keptOf tells which of the client's messages went out, and how many messages are
// not the client's: the fold and its acknowledgement at most. Kept messages stand
// in the client's order, but for instructions, which may stand before the user
// messages that a fold in a turn leaves behind it.
func keptOf(list, out []json.RawMessage, sent []peek) (kept map[int]bool, added int) {
	kept = map[int]bool{}
	i, j := len(out), len(list)
	for i > 0 && j > 0 && bytes.Equal(out[i-1], list[j-1]) {
		i, j = i-1, j-1
		kept[j] = true
	}
	next := map[bool]int{}
	for n := range i {
		if n > 0 && sent[n-1].isFold() && bytes.Equal(out[n], plainMessage("assistant", acknowledgement)) {
			added++ // and not a message of the client's that says the same
			continue
		}
		at := next[sent[n].pinned()]
		for at < j && !bytes.Equal(list[at], out[n]) {
			at++
		}
		if at == j {
			added++
			continue
		}
		kept[at], next[sent[n].pinned()] = true, at+1
	}
	return kept, added
}

// mustStay are the messages of the current turn that no fold may stand in for:
// all of them, or, where steps may be folded, those that opened it and its
// newest step.
func mustStay(in []peek, scope Scope) []int {
	opening, newest := 0, 0
	before := ""
	for i, m := range in {
		switch {
		case m.pinned():
			continue
		case m.Role == "user" && before != "user" && before != "tool" && before != "function":
			opening, newest = i, i
		case m.Role == "assistant":
			newest = i
		}
		before = m.Role
	}
	var stay []int
	inOpening := true
	for i := opening; i < len(in); i++ {
		if in[i].pinned() {
			continue
		}
		inOpening = inOpening && in[i].Role == "user"
		if scope == ScopeTurns || i >= newest || inOpening {
			stay = append(stay, i)
		}
	}
	return stay
}
