package compaction

import "bytes"

const (
	errContent scanError = "a part of a content is not understood"
	errCalls   scanError = "a tool call is not understood"
)

// kind is what a part of a message's content holds.
type kind uint8

const (
	kindOther kind = iota
	kindText
	kindRefusal
	kindThinking
	kindImage
	kindAudio
	kindFile
	kindJSON // a content that is neither text nor parts
)

// part is one piece of a content. text is the string that holds its words,
// quotes included; it is empty for kinds that have none.
type part struct {
	span
	kind kind
	text span
}

// kindOf maps a part's type. Names that are not OpenAI's own are those of
// compatible servers and of the Responses API, which some pass through.
func kindOf(name []byte) kind {
	switch string(name) {
	case "text", "input_text", "output_text":
		return kindText
	case "refusal":
		return kindRefusal
	case "thinking", "redacted_thinking", "reasoning":
		return kindThinking
	case "image_url", "image", "input_image":
		return kindImage
	case "input_audio", "audio":
		return kindAudio
	case "file", "input_file", "document", "document_url":
		return kindFile
	}
	return kindOther
}

// content reads the value of a content at pos as parts. A string is one part of
// text, null is none, and what is neither string nor array is one part of JSON.
func (s *scanner) content(visit func(part) error) error {
	switch s.peek() {
	case '[':
		return s.array(func() error {
			p, err := s.part()
			if err != nil {
				return err
			}
			return visit(p)
		})
	case 'n':
		return s.skip()
	}
	at, err := s.value()
	if err != nil {
		return err
	}
	if s.text[at.from] == '"' {
		return visit(part{span: at, kind: kindText, text: at})
	}
	return visit(part{span: at, kind: kindJSON})
}

// part reads one element of a content array. An element that is a bare string
// is text: some servers take lists of strings.
func (s *scanner) part() (part, error) {
	if s.peek() != '{' {
		at, err := s.value()
		if err == nil && s.text[at.from] == '"' {
			return part{span: at, kind: kindText, text: at}, nil
		}
		return part{span: at}, err
	}
	p := part{span: span{from: s.pos}}
	var words, refusal span
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			var name []byte
			name, err = s.word()
			p.kind = kindOf(name)
		case "text":
			words, err = s.ifString()
		case "refusal":
			refusal, err = s.ifString()
		default:
			err = s.skip()
		}
		return err
	})
	p.to = s.pos
	switch p.kind {
	case kindText:
		p.text = words
	case kindRefusal:
		p.text = refusal
	default:
		return p, err
	}
	if p.text == (span{}) {
		p.kind = kindOther
	}
	return p, err
}

// blank reports whether a model sees nothing of the part. Reasoning is no part
// of what a message says.
func (p part) blank() bool {
	switch p.kind {
	case kindThinking:
		return true
	case kindText, kindRefusal:
		return p.text.len() <= len(`""`)
	}
	return false
}

// call is one tool call. Spans of what is absent are empty.
type call struct {
	span
	kind      callKind
	id        span // a string
	name      span // a string
	arguments span // any value; by the API a string that holds JSON
}

type callKind uint8

const (
	callFunction callKind = iota
	callCustom
	callLegacy // the function_call of a message
	callOther
)

// calls reads the value of tool_calls at pos.
func (s *scanner) calls(visit func(call) error) error {
	switch s.peek() {
	case 'n':
		return s.skip()
	case '[':
		return s.array(func() error {
			c, err := s.call()
			if err != nil {
				return err
			}
			return visit(c)
		})
	}
	return errCalls
}

func (s *scanner) call() (call, error) {
	if s.peek() != '{' {
		return call{}, errCalls
	}
	c := call{span: span{from: s.pos}}
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "id":
			c.id, err = s.ifString()
		case "type":
			var name []byte
			name, err = s.word()
			switch string(name) {
			case "", "function", "custom":
			default:
				c.kind = callOther
			}
		case "function":
			err = s.function(&c, "arguments")
		case "custom":
			if c.kind == callFunction {
				c.kind = callCustom
			}
			err = s.function(&c, "input")
		default:
			err = s.skip()
		}
		return err
	})
	c.to = s.pos
	return c, err
}

// function reads the object at pos that names what is called, and with what
// under the key input.
func (s *scanner) function(c *call, input string) error {
	if s.peek() != '{' {
		return errCalls
	}
	return s.object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			c.name, err = s.ifString()
		case input:
			c.arguments, err = s.value()
			if err == nil && s.text[c.arguments.from] == 'n' {
				c.arguments = span{}
			}
		default:
			err = s.skip()
		}
		return err
	})
}

// legacyCall reads the value of function_call at pos. Some servers fill the
// field with an empty name and empty arguments where there is no call.
func (s *scanner) legacyCall() (c call, ok bool, err error) {
	if s.peek() == 'n' {
		return call{}, false, s.skip()
	}
	c = call{span: span{from: s.pos}, kind: callLegacy}
	err = s.function(&c, "arguments")
	c.to = s.pos
	return c, c.name.len() > len(`""`) || c.arguments.len() > len(`""`), err
}

// ifString passes a value and returns where it stands if it is a string.
func (s *scanner) ifString() (span, error) {
	at, err := s.value()
	if err != nil || s.text[at.from] != '"' {
		return span{}, err
	}
	return at, nil
}

// word passes a value and returns its text if it is a string.
func (s *scanner) word() ([]byte, error) {
	at, err := s.ifString()
	if err != nil || at.len() == 0 {
		return nil, err
	}
	return decoded(at.in(s.text)), nil
}

// decoded returns the text of a JSON string, given with its quotes: a part of
// raw itself where it is spelled without escapes. What is no string has no text.
func decoded(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendDecoded(nil, raw)
}
