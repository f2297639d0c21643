package compaction

import "bytes"

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

// ownWord passes a value and returns a copy of its text if it is a string.
func (s *scanner) ownWord() (string, error) {
	s.lone = false
	word, err := s.word()
	if err == nil && s.lone {
		err = errSurrogate
	}
	return string(word), err
}

// isTrue passes a value and reports whether it is the word true.
func (s *scanner) isTrue() (bool, error) {
	at, err := s.value()
	return err == nil && s.text[at.from] == 't', err
}

func (s *scanner) literal(word string) error {
	if len(s.text)-s.pos < len(word) || string(s.text[s.pos:s.pos+len(word)]) != word {
		return errSyntax
	}
	s.pos += len(word)
	return nil
}

// number passes a number. Its size is nobody's business here: what no float64
// can hold is legal JSON.
func (s *scanner) number() error {
	if s.at('-') {
		s.pos++
	}
	switch {
	case s.at('0'):
		s.pos++
	case !s.digits():
		return errSyntax
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return errSyntax
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return errSyntax
		}
	}
	return nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

// digits passes decimal digits and reports whether there was one.
func (s *scanner) digits() bool {
	from := s.pos
	for s.pos < len(s.text) && s.text[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos > from
}
