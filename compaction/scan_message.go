package compaction

// maxMessages bounds the messages of a request: what is remembered of one takes
// many times the bytes of the shortest.
const maxMessages = 20_000

// maxCalls bounds the tool calls of one message, so that matching results with
// them stays cheap. OpenAI allows 128 tools.
const maxCalls = 256

const errManyCalls scanError = "a message has too many tool calls"

// readMessages reads the value of messages at pos.
func (r *request) readMessages(s *scanner) error {
	if s.peek() != '[' {
		return errMessages
	}
	s.lone = false
	from := s.pos
	r.messages = make([]message, 0, min(len(s.text)/2048+4, 1024)) // a guess that saves most of the growing
	err := s.array(func() error {
		if len(r.messages) == maxMessages {
			return errTooMany
		}
		r.messages = append(r.messages, message{answers: -1})
		return r.readMessage(s, &r.messages[len(r.messages)-1])
	})
	r.list = span{from, s.pos}
	if err == nil && s.lone {
		err = errSurrogate
	}
	return err
}

// readMessage reads the message at pos into m.
func (r *request) readMessage(s *scanner, m *message) error {
	if s.peek() != '{' {
		return errMessage
	}
	m.from = s.pos
	m.empty = true
	err := s.object(func(key []byte) error { return m.readMember(s, key) })
	m.to = s.pos
	if err != nil {
		return err
	}
	if m.fields.role.len() == 0 {
		return errMessage
	}
	m.role = roleOf(decoded(m.fields.role.in(s.text)))
	switch string(decoded(m.fields.name.in(s.text))) {
	case "example_user", "example_assistant":
		m.isExample = true
	}
	if m.fields.legacyCall.len() > 0 {
		m.calls = append(m.calls, "")
	}
	if m.fields.refusal.len() > len(`""`) || m.opaque || len(m.calls) > 0 {
		m.empty = false
	}
	return nil
}

// readMember reads the member of m with the given key, whose value is at pos.
func (m *message) readMember(s *scanner, key []byte) (err error) {
	f := &m.fields
	switch string(key) {
	case "role":
		f.role, err = s.ifString()
	case "name":
		f.name, err = s.ifString()
	case "refusal":
		f.refusal, err = s.ifString()
	case "tool_call_id":
		f.toolCallID, err = s.ifString()
	case "content":
		err = m.readContent(s)
	case "tool_calls":
		err = m.readCalls(s)
	case "function_call":
		var filled bool
		var c call
		if c, filled, err = s.legacyCall(); filled {
			f.legacyCall = c.span
		}
	case "audio":
		err = m.readAudio(s)
	case "reasoning", "reasoning_content", "reasoning_details", "thinking":
		var at span
		if at, err = s.value(); at.len() > f.reasoning.len() {
			f.reasoning = at
		}
	default:
		err = s.skip()
	}
	return err
}

func (m *message) readContent(s *scanner) error {
	from := s.pos
	err := s.content(func(p part) error {
		m.empty = m.empty && p.blank()
		return nil
	})
	m.fields.content = span{from, s.pos}
	return err
}

func (m *message) readCalls(s *scanner) error {
	from := s.pos
	err := s.calls(func(c call) error {
		if len(m.calls) == maxCalls {
			return errManyCalls
		}
		m.calls = append(m.calls, string(decoded(c.id.in(s.text))))
		return nil
	})
	m.fields.toolCalls = span{from, s.pos}
	return err
}

// readAudio reads what an assistant said aloud. In a request it is a reference
// by id; servers that fill the field with empty values mean none.
func (m *message) readAudio(s *scanner) error {
	if s.peek() != '{' {
		return s.skip()
	}
	err := s.object(func(key []byte) (err error) {
		if string(key) != "id" {
			return s.skip()
		}
		m.fields.audio, err = s.ifString()
		return err
	})
	m.opaque = m.fields.audio.len() > len(`""`)
	return err
}

// match finds for each tool result the call that it answers: among the calls of
// the nearest assistant message before it the first with its id that has no
// answer yet. Ids say nothing beyond that message, since some clients and models
// use them again.
func (r *request) match() {
	var open []string // calls of the nearest assistant message
	var done [maxCalls + 1]bool
	for i := range r.messages {
		m := &r.messages[i]
		switch m.role {
		case roleAssistant:
			open = m.calls
			clear(done[:len(open)])
		case roleTool, roleFunction:
			id := decoded(m.fields.toolCallID.in(r.body))
			for k := range open {
				if !done[k] && open[k] == string(id) {
					m.answers, done[k] = k, true
					break
				}
			}
		default: // neither calls nor answers
		}
	}
}

// example says that the message's name makes it part of an example: a system
// message that shows how a user or an assistant would speak (OpenAI cookbook,
// "How to format inputs to ChatGPT models").
func (m *message) example() bool { return m.isExample }
