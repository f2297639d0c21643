package compaction

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
	default:
		return false
	}
}
