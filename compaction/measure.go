package compaction

import (
	"encoding/json"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// Measurement is what a chat request costs as input, in tokens, and what of it
// costs how much. The chunks, Tools, Format and Reply sum to Tokens; so do the
// messages in place of the chunks.
type Measurement struct {
	Model   string         // as the body names it
	Encoder tokens.Encoder // that counted

	Tokens int
	Chunks []ChunkTokens // those that hold messages, in the order of sending
	Tools  int           // all declarations of tools and functions, with what stands around them
	Format int           // the schema of the answer
	Reply  int           // the opening of the reply

	Messages     []MessageTokens // in the request's order
	Declarations []ToolTokens    // in the request's order
}

// ChunkTokens is the tokens of the messages of one chunk.
type ChunkTokens struct {
	Chunk    string
	Messages int
	Tokens   int
}

// MessageTokens is the tokens of one message.
type MessageTokens struct {
	Index  int // in messages, from 0
	Role   string
	Chunk  string
	Tokens int
}

// ToolTokens is what a request costs more for having this tool and no other.
type ToolTokens struct {
	Name   string // a function's own name, else the tool's type
	Tokens int
}

// Measure counts a request's body as planning does: for the model of that name,
// or if it is empty for the one that the body names, and with its encoder. The
// error says why the body is no chat request, and quotes nothing of it.
func Measure(body []byte, model string, encoder func(model string) tokens.Encoder) (Measurement, error) {
	r, err := scan(body)
	if err != nil {
		return Measurement{}, err
	}
	if model != "" {
		r.model, r.rates = model, ratesOf(model)
	}
	r.fingerprint()
	enc := encoder(r.model)
	v := look(r, enc, window.Limits{}, policy{}, r.meter(enc))

	m := Measurement{Model: r.model, Encoder: enc, Tokens: v.received()}
	m.addMessages(v)
	b := r.beside(enc)
	m.Tools, m.Format, m.Reply = b.tools, b.format, b.reply
	for _, one := range r.declarations() {
		m.Declarations = append(m.Declarations, ToolTokens{toolName(one.in(body)), r.toolTokens(enc, []span{one})})
	}
	return m, nil
}

// addMessages tells the costs of messages and chunks.
func (m *Measurement) addMessages(v *view) {
	counts := make([]int, len(v.byChunk))
	for i, c := range v.h.chunks(v.r) {
		counts[c]++
		m.Messages = append(m.Messages, MessageTokens{
			Index: i, Role: string(decoded(v.r.messages[i].fields.role.in(v.r.body))), Chunk: c.String(), Tokens: v.cost[i],
		})
	}
	for c, n := range v.byChunk {
		if counts[c] > 0 {
			m.Chunks = append(m.Chunks, ChunkTokens{Chunk: chunk(c).String(), Messages: counts[c], Tokens: n})
		}
	}
}

// toolName is the name of a declared tool or function; a tool of the
// provider's own has a type alone.
func toolName(declaration []byte) string {
	type named struct {
		Name string `json:"name"`
	}
	var tool struct {
		named

		Type     string `json:"type"`
		Function named  `json:"function"`
		Custom   named  `json:"custom"`
	}
	_ = json.Unmarshal(declaration, &tool) // scan has passed it; a name of another type is none
	for _, name := range []string{tool.Function.Name, tool.Custom.Name, tool.Name, tool.Type} {
		if name != "" {
			return name
		}
	}
	return ""
}

// String is the name of the chunk as requests and reports have it.
func (c chunk) String() string {
	return [...]string{"system", "examples", "readonly_files", "repo", "done", "chat_files", "cur", "reminder"}[c]
}
