package overflow

import (
	"strconv"
	"strings"
)

const (
	// maxText bounds each piece of prose that is matched, in bytes.
	maxText = 8 << 10
	// maxProse bounds all pieces together: matching is what costs time.
	maxProse = 24 << 10
	// maxTexts bounds how many pieces there are.
	maxTexts = 32
	// maxLayers bounds how often a string is read as a literal of its own.
	maxLayers = 6
)

// evidence is what the provider itself says in an answer.
type evidence struct {
	marked bool     // the document is an error envelope, whatever the status
	codes  []string // codes, types and exception names, outermost first
	texts  []string // prose without the literals embedded in it, innermost first
	size   int      // of all texts, in bytes
	limit  int      // a field such as n_ctx; 0 if absent
	input  int      // a field such as n_prompt_tokens; 0 if absent
}

// role is what a member's name promises of its value.
type role uint8

const (
	ignored   role = iota // anything that may hold a user's or an assistant's text
	codeRole              // a machine-readable code or type
	proseRole             // the provider's words, or an envelope around them
	layerRole             // an envelope; a string in its place is not the provider's words
	limitRole             // the limit in tokens
	inputRole             // the prompt's size in tokens
	choice                // choices, of which only the error member is read
)

// keyRole knows a member by its name, in any spelling of case, _ and -.
func keyRole(name string) role {
	switch fold(name) {
	case "code", "type", "errortype", "errorcode", "status", "statuscode", "httpstatuscode",
		"httpcode", "providererrorcode", "errorname", "object":
		return codeRole
	case "error", "errors", "message", "msg", "errormessage", "errormsg", "detail", "details", "raw",
		"description", "errordescription", "reason", "cause", "exception", "innererror",
		"statusmsg", "title", "err", "upstreamerror", "providererror", "originalmessage", "failure":
		return proseRole
	case "metadata", "baseresp", "response", "body", "data", "lasterror":
		return layerRole
	case "nctx", "nctxslot", "contextlength", "contextwindow", "contextlimit", "maxcontextlength",
		"maxcontexttokens", "maxmodellen", "maxtokenlimit":
		return limitRole
	case "nprompttokens", "prompttokens", "inputtokens", "numtokens", "tokencount", "ntokens":
		return inputRole
	case "choices":
		return choice
	}
	return ignored
}

// fold lowers ASCII letters and drops all but letters and digits.
func fold(s string) string {
	var b strings.Builder
	for i := range min(len(s), 64) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteByte(c)
		}
	}
	return b.String()
}

// gather collects the evidence of one document.
func gather(body string) evidence {
	var ev evidence
	body = strings.TrimLeft(body, " \t\r\n\ufeff")
	if body == "" {
		return ev
	}
	if strings.IndexByte(`{["`, body[0]) < 0 {
		ev.prose(body, 0)
		return ev
	}
	doc, _ := read(body)
	ev.marked = marks(doc)
	ev.value(doc, 0)
	return ev
}

// value collects what a value says whose place promises the provider's words.
func (ev *evidence) value(n node, layer int) {
	switch n.shape {
	case textShape:
		ev.prose(n.text, layer)
	case listShape:
		for _, item := range n.items {
			ev.value(item, layer)
		}
	case objectShape:
		for i, name := range n.names {
			ev.member(keyRole(name), n.items[i], layer)
		}
	case wordShape: // a number or a name is nobody's words
	}
}

func (ev *evidence) member(role role, v node, layer int) {
	structured := v.shape == objectShape || v.shape == listShape
	switch role {
	case ignored:
	case codeRole:
		if !structured && !v.empty() {
			ev.codes = append(ev.codes, v.text)
		}
	case proseRole:
		ev.value(v, layer)
	case layerRole:
		if structured {
			ev.value(v, layer)
		} else {
			ev.embedded(v.text, layer)
		}
	case limitRole:
		ev.limit = count(v, ev.limit)
	case inputRole:
		ev.input = count(v, ev.input)
	case choice:
		for _, item := range v.items {
			for i, name := range item.names {
				if fold(name) == "error" {
					ev.value(item.items[i], layer)
				}
			}
		}
	}
}

// count reads a field of tokens; what is no positive number changes nothing.
func count(v node, old int) int {
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || !(f >= 1 && f <= maxTokens) {
		return old
	}
	return int(f)
}

// prose takes a piece of the provider's prose apart: the literals embedded in
// it are evidence in their own right, and what remains is words.
func (ev *evidence) prose(s string, layer int) {
	rest := ends(ev.embedded(s, layer), min(maxText, max(maxProse-ev.size, 0)))
	if rest != "" && len(ev.texts) < maxTexts {
		ev.texts = append(ev.texts, rest)
		ev.size += len(rest)
	}
}

// unescape takes off one level of backslashes.
//
//nolint:gochecknoglobals // built once, never changed
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// embedded collects what the literals within s say, and returns s without them.
func (ev *evidence) embedded(s string, layer int) string {
	s = strings.TrimSpace(s)
	if layer >= maxLayers || s == "" {
		return ""
	}
	// What follows in a pydantic error is the value that was refused.
	s, _, _ = strings.Cut(s, "input_value=")
	if s[0] == '"' && strings.Contains(s, `\"`) {
		if n, _ := read(s); n.shape == textShape {
			ev.value(n, layer+1)
			return ""
		}
	}
	if at := strings.Index(s, `{\"`); at >= 0 {
		if open := literalStart(s); open < 0 || at < open {
			s = unescape.Replace(s) // a literal that was escaped without quotes around it
		}
	}
	var rest strings.Builder
	for {
		at := literalStart(s)
		if at < 0 {
			rest.WriteString(s)
			return strings.TrimSpace(rest.String())
		}
		n, length := read(s[at:])
		ev.value(n, layer+1)
		rest.WriteString(s[:at])
		rest.WriteByte(' ')
		s = s[at+length:]
	}
}

// literalStart finds the next { that opens an object: a quote or a } follows.
func literalStart(s string) int {
	for at := 0; ; at++ {
		next := strings.IndexByte(s[at:], '{')
		if next < 0 {
			return -1
		}
		at += next
		after := at + 1
		for after < len(s) && isSpace(s[after]) {
			after++
		}
		if after < len(s) && strings.IndexByte(`"'}`, s[after]) >= 0 {
			return at
		}
	}
}
