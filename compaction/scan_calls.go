package compaction

const errCalls scanError = "a tool call is not understood"

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
