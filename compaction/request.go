package compaction

import (
	"fmt"
	"math"
	"strconv"
)

// request is the raw view of a chat completion request: where the things that
// matter stand in the body. The body itself is never encoded anew, so what is
// not cut out of it keeps its bytes.
type request struct {
	body       []byte
	messages   []message
	list       span   // the messages array, brackets included
	model      string // decoded; "" if absent or not a string
	rates      rates  // of the model
	stream     bool
	hasTools   bool   // tools or functions is an array with something in it
	extras     []span // values of tools, functions and response_format: counted, never touched
	maxOutput  int    // tokens: max_completion_tokens, else max_tokens; 0 if neither is a positive number
	limitField string // which of the two the client used; "" if none
	session    string // pleat.session, else metadata.session_id
	bypass     bool   // pleat.bypass
	pleat      span   // the member "pleat": {…} with one adjoining comma, to be cut out; empty if absent
}

// message is one element of messages. Spans of members that are absent are empty.
type message struct {
	span

	role    role
	calls   []string    // ids of its tool calls in order; a legacy function_call is one call with id ""
	answers int         // which call of the nearest assistant message before it a result answers; -1 none
	empty   bool        // nothing that a model would see
	opaque  bool        // refers to audio by id: a transcript cannot carry it
	fp      fingerprint // set by request.fingerprint, like size
	size    int         // bytes of meaning that fp was made from: no matter how they are spelled
	fields  fields

	isExample bool // see example
}

// fields are the values of a message's members that are read again later.
type fields struct {
	role, name, content, refusal      span
	audio                             span // the string audio.id
	toolCallID, toolCalls, legacyCall span
	reasoning                         span // the longest of the names under which servers repeat it
}

type role uint8

// The roles. What is not known to be safe to fold is roleOther.
const (
	roleOther role = iota
	roleSystem
	roleDeveloper
	roleUser
	roleAssistant
	roleTool
	roleFunction
)

func roleOf(name []byte) role {
	switch string(name) {
	case "system":
		return roleSystem
	case "developer":
		return roleDeveloper
	case "user":
		return roleUser
	case "assistant":
		return roleAssistant
	case "tool":
		return roleTool
	case "function":
		return roleFunction
	}
	return roleOther
}

const (
	errBody     scanError = "not a JSON object"
	errMessages scanError = "no messages"
	errMessage  scanError = "a message is not an object with a role"
	errTooMany  scanError = "more messages than are looked at"
)

// scan reads a body once and returns its raw view. It fills in everything but
// fingerprints. An error means that the body must be forwarded as it is: it is
// not JSON, not a chat request, or ambiguous, so that the upstream might read
// it differently. The error quotes nothing of the body.
func scan(body []byte) (*request, error) {
	r := &request{body: body}
	s := scanner{text: body, limit: maxDepth}
	if err := r.read(&s); err != nil {
		return nil, fmt.Errorf("byte %d: %w", s.pos, err)
	}
	r.match()
	r.rates = ratesOf(r.model)
	return r, nil
}

// read reads the whole body.
func (r *request) read(s *scanner) error {
	if s.peek() != '{' {
		return errBody
	}
	var fallback string // metadata.session_id
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "messages":
			err = r.readMessages(s)
		case "model":
			r.model, err = s.ownWord()
		case "stream":
			r.stream, err = s.isTrue()
		case "tools", "functions":
			err = r.readTools(s)
		case "response_format":
			_, err = r.readExtra(s)
		case "max_completion_tokens", "max_tokens":
			err = r.readLimit(s, key)
		case "metadata":
			fallback, err = r.readMetadata(s)
		case "pleat":
			err = r.readPleat(s)
		default:
			err = s.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.session == "" {
		r.session = fallback
	}
	r.pleat = withComma(r.body, r.pleat)
	if len(r.messages) == 0 {
		return errMessages
	}
	return s.end()
}

// readExtra passes a value that the model is shown beside the messages.
func (r *request) readExtra(s *scanner) (span, error) {
	at, err := s.value()
	if err == nil && s.text[at.from] != 'n' {
		r.extras = append(r.extras, at)
	}
	return at, err
}

// readTools passes tools or functions.
func (r *request) readTools(s *scanner) error {
	at, err := r.readExtra(s)
	if err != nil || s.text[at.from] != '[' {
		return err
	}
	inside := scanner{text: s.text, pos: at.from + 1}
	if inside.peek() != ']' {
		r.hasTools = true
	}
	return nil
}

// readLimit reads one of the two names of the output limit. The newer one,
// where it is not null, wins.
func (r *request) readLimit(s *scanner, key []byte) error {
	at, err := s.value()
	if err != nil || s.text[at.from] == 'n' || r.limitField == "max_completion_tokens" {
		return err
	}
	r.limitField = "max_tokens"
	if string(key) == "max_completion_tokens" {
		r.limitField = "max_completion_tokens"
	}
	r.maxOutput = 0
	if n, err := strconv.ParseFloat(string(at.in(s.text)), 64); n > 0 && err == nil {
		r.maxOutput = int(min(n, math.MaxInt32))
	}
	return nil
}

func (r *request) readMetadata(s *scanner) (session string, err error) {
	if s.peek() != '{' {
		return "", s.skip()
	}
	err = s.object(func(key []byte) (err error) {
		if string(key) != "session_id" {
			return s.skip()
		}
		session, err = s.ownWord()
		return err
	})
	return session, err
}

// readPleat reads the client's own wishes. What is no object is not Pleat's and
// stays in the body.
func (r *request) readPleat(s *scanner) error {
	from := s.keyPos
	if s.peek() != '{' {
		return s.skip()
	}
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "session":
			r.session, err = s.ownWord()
		case "bypass":
			r.bypass, err = s.isTrue()
		default:
			err = s.skip()
		}
		return err
	})
	r.pleat = span{from, s.pos}
	return err
}

// withComma widens the span of an object's member to one of the commas beside
// it, so that the object stays one when the span is cut out.
func withComma(body []byte, member span) span {
	if member.len() == 0 {
		return member
	}
	after := scanner{text: body, pos: member.to}
	if after.peek() == ',' {
		after.pos++
		after.peek()
		return span{member.from, after.pos}
	}
	before := member.from - 1
	for body[before] <= ' ' {
		before--
	}
	if body[before] == ',' {
		return span{before, member.to}
	}
	return member
}
