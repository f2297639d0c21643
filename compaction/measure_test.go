package compaction

import (
	"reflect"
	"testing"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

const measured = `{
	"model": "gpt-4o",
	"messages": [
		{"role": "system", "content": "Be brief."},
		{"role": "user", "content": "What is the weather?"},
		{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Bern\"}"}}]},
		{"role": "tool", "tool_call_id": "a", "content": "7 degrees, rain"},
		{"role": "assistant", "content": "Cold and wet."},
		{"role": "user", "content": "And tomorrow?"}
	],
	"tools": [
		{"type": "function", "function": {"name": "weather", "description": "Tells the weather of a city, in degrees Celsius", "parameters": {"type": "object"}}},
		{"type": "custom", "custom": {"name": "shell"}},
		{"type": "web_search"},
		{"function": 3},
		7
	],
	"functions": [{"name": "old", "parameters": {}}],
	"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
}`

func TestMeasure(t *testing.T) {
	counter, err := tokens.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Measure([]byte(measured), "", counter.For)
	if err != nil {
		t.Fatal(err)
	}
	if m.Model != "gpt-4o" || m.Encoder.Name() != "o200k_base" || !m.Encoder.Exact() {
		t.Errorf("model %q, encoder %+v", m.Model, m.Encoder)
	}

	// It agrees with what planning counts.
	r := mustScan(t, measured)
	r.fingerprint()
	want := r.beside(m.Encoder).total()
	for i := range r.messages {
		want += r.tokens(i, m.Encoder)
		if got := m.Messages[i].Tokens; got != r.tokens(i, m.Encoder) || m.Messages[i].Index != i {
			t.Errorf("message %d: %+v, want %d tokens", i, m.Messages[i], r.tokens(i, m.Encoder))
		}
	}
	if m.Tokens != want {
		t.Errorf("%d tokens, want %d", m.Tokens, want)
	}

	var roles, chunks []string
	for _, one := range m.Messages {
		roles, chunks = append(roles, one.Role), append(chunks, one.Chunk)
	}
	if want := []string{"system", "user", "assistant", "tool", "assistant", "user"}; !reflect.DeepEqual(roles, want) {
		t.Errorf("roles %v", roles)
	}
	if want := []string{"system", "done", "done", "done", "done", "cur"}; !reflect.DeepEqual(chunks, want) {
		t.Errorf("chunks %v", chunks)
	}
	checkSums(t, m)
	if m.Format == 0 || m.Tools == 0 || m.Reply != tokens.ReplyPriming {
		t.Errorf("format %d, tools %d, reply %d", m.Format, m.Tools, m.Reply)
	}

	var names []string
	for _, tool := range m.Declarations {
		names = append(names, tool.Name)
		if tool.Tokens <= 0 || tool.Tokens > m.Tools {
			t.Errorf("%+v of %d tokens for all tools", tool, m.Tools)
		}
	}
	if want := []string{"weather", "shell", "web_search", "", "", "old"}; !reflect.DeepEqual(names, want) {
		t.Errorf("tools %q", names)
	}
	if m.Declarations[0].Tokens <= m.Declarations[1].Tokens {
		t.Errorf("a long declaration costs no more than a short one: %+v", m.Declarations)
	}
}

// checkSums: the parts make the whole, counted either way.
func checkSums(t *testing.T, m Measurement) {
	t.Helper()
	beside := m.Tools + m.Format + m.Reply
	byChunk, byMessage, messages := beside, beside, 0
	for _, c := range m.Chunks {
		byChunk += c.Tokens
		messages += c.Messages
	}
	for _, one := range m.Messages {
		byMessage += one.Tokens
	}
	if byChunk != m.Tokens || byMessage != m.Tokens || messages != len(m.Messages) {
		t.Errorf("chunks sum to %d, messages to %d, the whole is %d; %d of %d messages are in chunks",
			byChunk, byMessage, m.Tokens, messages, len(m.Messages))
	}
}

func TestMeasureWhatIsNoRequest(t *testing.T) {
	for _, body := range []string{"", "hello", "[]", `{"messages": []}`, `{"messages": [{"role": "user"}`} {
		if m, err := Measure([]byte(body), "", (*tokens.Counter)(nil).For); err == nil {
			t.Errorf("%q: %+v", body, m)
		}
	}
}

func TestMeasureRealConversations(t *testing.T) {
	counter, err := tokens.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range corpus(t) {
		m, err := Measure(body, "", counter.For)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkSums(t, m)
	}
}

func TestChunkNames(t *testing.T) {
	for c, want := range map[chunk]string{chunkSystem: "system", chunkDone: "done", chunkCur: "cur", chunkReminder: "reminder"} {
		if got := c.String(); got != want {
			t.Errorf("chunk %d is %q, want %q", c, got, want)
		}
	}
}
