package overflow

import "strings"

// slot is a number while it is being read: zero may be stated.
type slot struct {
	tokens int
	stated bool
	bound  bool
}

func (s slot) number() Number {
	return Number{Tokens: s.tokens, Bound: s.bound && s.tokens > 0}
}

// reading collects the numbers of one piece of plain prose.
type reading struct {
	text                        string // what has not been read yet; cut numbers are blank
	limit, input, output, total slot
	over                        slot
	limitIs                     LimitKind
}

// readNumbers reads all that a text says.
func readNumbers(text string) reading {
	r := reading{text: text}
	r.parts()
	for _, p := range patterns {
		r.apply(p)
	}
	r.truncatedCount()
	return r
}

// apply lets one pattern fill slots, each match at most once. The pattern is
// passed over if one of its slots is taken, since it would misread the text.
func (r *reading) apply(p pattern) {
	m := p.re.FindStringSubmatchIndex(r.text)
	if m == nil {
		return
	}
	names := p.re.SubexpNames()
	for i, name := range names {
		if s := r.slot(name); s != nil && m[2*i] >= 0 && s.stated {
			return
		}
	}
	least := false
	for i, name := range names {
		if m[2*i] < 0 {
			continue
		}
		from, to := m[2*i], m[2*i+1]
		switch s := r.slot(name); {
		case name == "least":
			least = true
		case name == "input2":
			r.input.tokens += tokens(r.text[from:to])
			r.cut(from, to)
		case name == "exclusive":
			r.fill(&r.limit, max(tokens(r.text[from:to])-1, 0))
			r.limitIs = p.limitIs
			r.cut(from, to)
		case name == "rest":
			r.cut(from, to)
		case s != nil:
			r.fill(s, tokens(r.text[from:to]))
			s.bound = (p.bound && name == "input") || least || approximate(r.text[from:to])
			r.cut(from, to)
			if name == "limit" {
				r.limitIs = p.limitIs
			}
		}
	}
}

func (r *reading) slot(name string) *slot {
	switch name {
	case "limit":
		return &r.limit
	case "input":
		return &r.input
	case "output":
		return &r.output
	case "total":
		return &r.total
	case "over":
		return &r.over
	}
	return nil
}

func (r *reading) fill(s *slot, n int) {
	s.tokens, s.stated = min(n, maxTokens), true
}

// cut blanks a number that was read.
func (r *reading) cut(from, to int) {
	r.text = r.text[:from] + strings.Repeat("#", to-from) + r.text[to:]
}

// approximate reports whether a number is rounded: "128k".
func approximate(s string) bool {
	return strings.HasSuffix(s, "k") || strings.HasSuffix(s, "m")
}

// truncatedCount marks the count of a vLLM that stops tokenizing one token
// after the largest prompt that would have fitted.
func (r *reading) truncatedCount() {
	if r.input.stated && r.output.stated && r.limit.stated &&
		strings.Contains(r.text, "maximum input length of") &&
		r.input.tokens <= r.limit.tokens-r.output.tokens+1 {
		r.input.bound = true
	}
}

// bogus reports whether the stated limit cannot be the real one: no model has
// such a window, or what was refused would have fitted into it.
func (r *reading) bogus() bool {
	if r.limit.tokens < minLimit || r.limit.tokens > maxLimit {
		return true
	}
	need := max(r.total.tokens, r.input.tokens+r.output.tokens)
	exact := !r.input.bound && !r.total.bound && (r.input.stated || r.total.stated)
	return exact && need < r.limit.tokens
}
