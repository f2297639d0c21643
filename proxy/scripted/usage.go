package scripted

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// What a message costs beside its texts, in tokens. Source: OpenAI's cookbook,
// "How to count tokens with tiktoken", for all models since gpt-3.5-turbo-0613.
const (
	perMessage = 3
	perName    = 1
	perReply   = 3 // every reply is primed with the assistant's opening
)

// How OpenAI's prompt cache grants: nothing below cacheFloor tokens, then whole
// steps. Source: OpenAI's prompt caching guide.
const (
	cacheFloor = 1024
	cacheStep  = 128
)

// remembered bounds how many earlier prompts the cache compares with.
const remembered = 256

// Usage is what an answer says that it used, in tokens.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int // the part of Prompt that came from the prompt cache
}

func (u *Usage) add(v Usage) {
	u.Prompt += v.Prompt
	u.Completion += v.Completion
	u.Cached += v.Cached
}

// prompts counts input tokens and plays the provider's prompt cache, which
// holds the bytes of earlier requests' messages. Safe for concurrent use.
type prompts struct {
	text func(string) int // tokens of a text

	mu      sync.Mutex
	known   map[[sha256.Size]byte]int // raw message → its tokens
	earlier []prompt                  // oldest first
}

// prompt is one request as the cache sees it.
type prompt struct {
	scope    string // what must be equal for any of it to be found: model and tools
	messages []string
}

func newPrompts(text func(string) int) *prompts {
	return &prompts{text: text, known: make(map[[sha256.Size]byte]int)}
}

// count returns the tokens of the request's input, and how many of them the
// cache held; then the cache holds this request too.
func (p *prompts) count(r *Request) (tokens, cached int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tools := string(r.Field("tools")) + string(r.Field("functions")) + string(r.Field("response_format"))
	extra := perReply + p.text(tools)
	tokens = extra
	now := prompt{scope: r.Model + "\x00" + tools}
	for i := range r.Messages {
		now.messages = append(now.messages, string(r.Messages[i].Raw))
		tokens += p.message(&r.Messages[i])
	}
	for _, before := range p.earlier {
		cached = max(cached, p.common(before, now, r.Messages))
	}
	if cached > 0 {
		cached += extra - perReply // tools stand in front of the messages
	}
	if p.earlier = append(p.earlier, now); len(p.earlier) > remembered {
		p.earlier = slices.Delete(p.earlier, 0, 1)
	}
	if cached < cacheFloor {
		return tokens, 0
	}
	return tokens, cached - cached%cacheStep
}

// message returns the tokens of one message.
func (p *prompts) message(m *Message) int {
	key := sha256.Sum256(m.Raw)
	if n, ok := p.known[key]; ok {
		return n
	}
	n := perMessage + p.text(m.Role) + p.text(m.Text)
	if m.Name != "" {
		n += perName + p.text(m.Name)
	}
	for _, c := range m.ToolCalls {
		n += perMessage + p.text(c.Name) + p.text(c.Arguments)
	}
	if m.function != nil {
		n += perMessage + p.text(m.function.Name) + p.text(m.function.Arguments)
	}
	p.known[key] = n
	return n
}

// common returns the tokens of the longest prefix that two prompts share. The
// message in which they part counts by the bytes that are equal.
func (p *prompts) common(before, now prompt, messages []Message) int {
	if before.scope != now.scope {
		return 0
	}
	tokens := 0
	for i, m := range now.messages {
		if i == len(before.messages) {
			break
		}
		if m != before.messages[i] {
			shared := 0
			for shared < min(len(m), len(before.messages[i])) && m[shared] == before.messages[i][shared] {
				shared++
			}
			return tokens + p.message(&messages[i])*shared/len(m)
		}
		tokens += p.message(&messages[i])
	}
	return tokens
}
