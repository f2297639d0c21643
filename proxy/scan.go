package proxy

import "bytes"

// responseScanner finds the usage in a chat completion's response, JSON or
// event stream, as its bytes go by. It holds no line and no event, however
// long, only the member that it is after.
type responseScanner struct {
	doc    document
	kind   responseKind
	line   lineState
	prefix int  // how much of "data:" the line has begun with
	cr     bool // the line before ended with a CR: an LF still belongs to it
}

type responseKind byte

const (
	kindUnknown responseKind = iota // nothing but white space yet
	kindJSON
	kindEvents
)

type lineState byte

const (
	lineBegin lineState = iota
	lineData            // after "data:"
	lineOther           // a comment or another field
)

func (s *responseScanner) write(p []byte) {
	if s.kind == kindUnknown {
		for len(p) > 0 && isPreamble(p[0]) {
			p = p[1:]
		}
		if len(p) == 0 {
			return
		}
		s.kind = kindEvents
		if p[0] == '{' {
			s.kind = kindJSON
		}
	}
	if s.kind == kindJSON {
		s.doc.write(p)
		return
	}
	for len(p) > 0 {
		if s.line == lineBegin {
			p = s.begin(p)
		} else {
			p = s.within(p)
		}
	}
}

// isPreamble: keep-alive white space may stand before either kind, and so may
// a byte order mark.
func isPreamble(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		return true
	}
	return false
}

// begin takes one byte of the beginning of a line, or none if the line turns
// out to be no data.
func (s *responseScanner) begin(p []byte) []byte {
	const data = "data:"
	c := p[0]
	afterCR := s.cr
	s.cr = false
	switch {
	case c == '\n' && afterCR:
	case s.prefix == 0 && (c == '\n' || c == '\r'):
		s.cr = c == '\r'
		s.doc.reset() // a blank line ends an event, complete or not
	case s.prefix == 0 && c == ' ':
		// Not allowed, but seen.
	case c == data[s.prefix]:
		s.prefix++
		if s.prefix == len(data) {
			s.line = lineData
		}
	default:
		s.line = lineOther
		return p
	}
	return p[1:]
}

// within takes the rest of a line, as far as it is there.
func (s *responseScanner) within(p []byte) []byte {
	end := len(p)
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		end = i
	}
	if i := bytes.IndexByte(p[:end], '\r'); i >= 0 {
		end = i
	}
	if s.line == lineData {
		s.doc.write(p[:end])
	}
	if end == len(p) {
		return nil
	}
	s.line, s.prefix, s.cr = lineBegin, 0, p[end] == '\r'
	return p[end+1:]
}
