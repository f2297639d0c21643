package compaction

import (
	"bytes"
	"encoding/binary"
)

// maxDepth bounds how deep the values of a body may nest, the body itself
// counted. Real requests stay under 30 (tool schemas are the deepest).
const maxDepth = 512

// maxMembers bounds the members of an object that is read, not skipped, so that
// looking for duplicate keys stays cheap whatever a client sends.
const maxMembers = 128

// scanError says why a body is not understood. It never quotes the body.
type scanError string

func (e scanError) Error() string { return string(e) }

const (
	errSyntax    scanError = "not JSON"
	errTrailing  scanError = "data after the end of the JSON value"
	errUTF8      scanError = "not UTF-8"
	errSurrogate scanError = "half of a surrogate pair"
	errDepth     scanError = "nested too deeply"
	errDuplicate scanError = "an object has a key twice"
	errMembers   scanError = "an object has too many members"
)

// scanner reads JSON (RFC 8259) front to back and checks every byte that it
// passes: grammar, UTF-8 and depth. It copies nothing but keys that are spelled
// with escapes. After an error it is of no more use.
type scanner struct {
	text   []byte
	pos    int
	depth  int
	limit  int       // the greatest depth allowed
	lone   bool      // a string passed since this was last cleared held half of a surrogate pair
	keyPos int       // where the key given to the innermost visit begins
	keys   []seenKey // of the objects being read, outermost first
}

type seenKey struct {
	digest uint64
	key    []byte
}

// span is a stretch of the body, to excluded.
type span struct{ from, to int }

// in returns the bytes of text that the span covers.
func (p span) in(text []byte) []byte { return text[p.from:p.to:p.to] }

func (p span) len() int { return p.to - p.from }

// again moves a scanner back to a value that was scanned before, so that errors
// cannot come.
func (s *scanner) again(at span) { s.pos, s.depth = at.from, 0 }

// peek passes white space and returns the byte after it, 0 at the end. (A NUL
// byte in the text begins no value, so the two need not be told apart.)
func (s *scanner) peek() byte {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if c > ' ' {
			return c
		}
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return 0
		}
		s.pos++
	}
	return 0
}

// end checks that nothing but white space is left.
func (s *scanner) end() error {
	s.peek()
	if s.pos != len(s.text) {
		return errTrailing
	}
	return nil
}

// value passes one value and returns where it stands.
func (s *scanner) value() (span, error) {
	next := s.peek()
	from := s.pos
	var err error
	switch next {
	case '"':
		return s.str()
	case '{':
		err = s.skipObject()
	case '[':
		err = s.array(s.skip)
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	default:
		err = s.number()
	}
	return span{from, s.pos}, err
}

func (s *scanner) skip() error {
	_, err := s.value()
	return err
}

// object reads the object at pos. It calls visit with each key, decoded and
// valid until visit returns; visit must pass the member's value, which begins
// at pos. A key that occurs twice is an error: which of the two counts differs
// from one server to the next.
func (s *scanner) object(visit func(key []byte) error) error {
	first := len(s.keys)
	err := s.members(func() error {
		at, err := s.colon()
		if err != nil {
			return err
		}
		key := decoded(at.in(s.text))
		if err := s.note(key, first); err != nil {
			return err
		}
		s.keyPos = at.from
		return visit(key)
	})
	s.keys = s.keys[:first]
	return err
}

// skipObject passes the object at pos and minds no duplicates.
func (s *scanner) skipObject() error {
	return s.members(func() error {
		if _, err := s.colon(); err != nil {
			return err
		}
		return s.skip()
	})
}

// array reads the array at pos. visit must pass one element each time.
func (s *scanner) array(visit func() error) error {
	return s.list(']', visit)
}

func (s *scanner) members(visit func() error) error {
	return s.list('}', visit)
}

// list reads what stands between the bracket at pos and its closing one. visit
// is called with pos at an element.
func (s *scanner) list(closing byte, visit func() error) error {
	if s.depth++; s.depth > s.limit {
		return errDepth
	}
	s.pos++
	for more := s.peek() != closing; more; {
		if err := visit(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
			s.peek()
		case closing:
			more = false
		default:
			return errSyntax
		}
	}
	s.pos++
	s.depth--
	return nil
}

// colon passes a key and its colon, up to the value, and returns where the key
// stands.
func (s *scanner) colon() (span, error) {
	if s.peek() != '"' {
		return span{}, errSyntax
	}
	key, err := s.str()
	if err != nil {
		return key, err
	}
	if s.peek() != ':' {
		return key, errSyntax
	}
	s.pos++
	s.peek()
	return key, nil
}

// note remembers a key of the object whose keys begin at first.
func (s *scanner) note(key []byte, first int) error {
	digest := digestOf(key)
	for _, k := range s.keys[first:] {
		if k.digest == digest && bytes.Equal(k.key, key) {
			return errDuplicate
		}
	}
	if len(s.keys)-first == maxMembers {
		return errMembers
	}
	s.keys = append(s.keys, seenKey{digest, key})
	return nil
}

// digestOf tells most keys apart at the price of one comparison.
func digestOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.LittleEndian.Uint64(key) ^ uint64(len(key))
	}
	digest := uint64(len(key))
	for _, c := range key {
		digest = digest<<8 | uint64(c)
	}
	return digest
}
