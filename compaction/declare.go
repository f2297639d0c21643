package compaction

import (
	"bytes"
	"strings"
)

// declarer writes functions as OpenAI's models are shown them: as TypeScript
// types in a namespace. The form is that of the harmony format (OpenAI cookbook,
// "OpenAI harmony response format", "Function calling"), which older models'
// bills agree with. Of a JSON schema it shows what they show: properties in
// their order and whether each is required, descriptions, enums, constants,
// defaults, unions, what arrays hold, and under $defs each definition once as a
// type of its own, which a $ref then names. Titles, patterns, formats and
// bounds are not shown.
type declarer struct {
	scanner

	out []byte
}

const (
	declarationsBegin = "namespace functions {\n\n"
	declarationsEnd   = "} // namespace functions"
	anyType           = "any"
	indentWidth       = 2

	// maxDeclared bounds how deep what is shown of a schema may nest. Each level
	// is read once more by all those above it.
	maxDeclared = 24

	// maxDeclarations bounds, in bytes, what is read so. Longer declarations
	// count as JSON, which costs one reading: no window holds them anyway.
	maxDeclarations = 1 << 20
)

// function appends the declaration of an element of tools or functions. It
// reports false, with nothing appended, for a tool of any other kind.
func (d *declarer) function(tool span) bool {
	m := d.members(tool)
	if inner, ok := m["function"]; ok {
		m = d.members(inner)
	} else if kind, ok := m["type"]; ok && string(decoded(kind.in(d.text))) != "function" {
		return false
	}
	name := decoded(m["name"].in(d.text))
	if len(name) == 0 {
		return false
	}
	d.definitions(m["parameters"])
	d.comment(m["description"], 0)
	d.write("type ", string(name), " = (")
	if d.hasProperties(m["parameters"]) {
		d.write("_: {\n")
		d.properties(d.members(m["parameters"]), 0, 1)
		d.write("}")
	}
	d.write(") => any;\n\n")
	return true
}

func (d *declarer) write(texts ...string) {
	for _, t := range texts {
		d.out = append(d.out, t...)
	}
}

// members are the values of an object by key, none if it is no object.
func (d *declarer) members(at span) map[string]span {
	if at.len() == 0 || d.text[at.from] != '{' {
		return nil
	}
	out := map[string]span{}
	d.each(at, func(key string, value span) { out[key] = value })
	return out
}

// each visits the members of an object, which scan has passed, in order.
func (d *declarer) each(at span, visit func(key string, value span)) {
	if at.len() == 0 || d.text[at.from] != '{' {
		return
	}
	s := scanner{text: d.text, pos: at.from, limit: maxDepth}
	_ = s.members(func() error {
		key, err := s.colon()
		if err != nil {
			return err
		}
		value, err := s.value()
		if err == nil {
			visit(string(decoded(key.in(d.text))), value)
		}
		return err
	})
}

// elements are those of an array, none if it is no array.
func (d *declarer) elements(at span) []span {
	if at.len() == 0 || d.text[at.from] != '[' {
		return nil
	}
	var out []span
	s := scanner{text: d.text, pos: at.from, limit: maxDepth}
	_ = s.array(func() error {
		value, err := s.value()
		out = append(out, value)
		return err
	})
	return out
}

func (d *declarer) hasProperties(schema span) bool {
	return len(d.members(d.members(schema)["properties"])) > 0
}

// comment writes a description, line by line.
func (d *declarer) comment(text span, indent int) {
	words := strings.TrimSuffix(string(decoded(text.in(d.text))), "\n")
	if words == "" {
		return
	}
	for line := range strings.SplitSeq(words, "\n") {
		d.write(strings.Repeat(" ", indent), "// ", line, "\n")
	}
}

// definitions writes what the schema of a function's parameters defines.
func (d *declarer) definitions(schema span) {
	m := d.members(schema)
	for _, list := range []span{m["$defs"], m["definitions"]} {
		d.each(list, func(name string, value span) {
			d.comment(d.members(value)["description"], 0)
			d.write("type ", name, " = ")
			d.kind(value, 0, 1)
			d.write(";\n\n")
		})
	}
}

// properties writes the lines between the braces of an object type.
func (d *declarer) properties(schema map[string]span, indent, depth int) {
	required := map[string]bool{}
	for _, name := range d.elements(schema["required"]) {
		required[string(decoded(name.in(d.text)))] = true
	}
	d.each(schema["properties"], func(name string, value span) {
		m := d.members(value)
		d.comment(m["description"], indent)
		d.write(strings.Repeat(" ", indent), name)
		if !required[name] {
			d.write("?")
		}
		d.write(": ")
		d.kind(value, indent, depth)
		d.write(",")
		if otherwise := m["default"]; otherwise.len() > 0 {
			d.write(" // default: ", d.literal(otherwise, ""))
		}
		d.write("\n")
	})
}

// kind writes the type that a schema stands for.
func (d *declarer) kind(schema span, indent, depth int) {
	if depth > maxDeclared {
		d.write(string(schema.in(d.text)))
		return
	}
	m := d.members(schema)
	switch {
	case m["$ref"].len() > 0:
		path := decoded(m["$ref"].in(d.text))
		d.write(string(path[bytes.LastIndexByte(path, '/')+1:]))
	case m["const"].len() > 0:
		d.write(d.literal(m["const"], `"`))
	case len(d.elements(m["enum"])) > 0:
		d.join(" | ", d.elements(m["enum"]), func(one span) { d.write(d.literal(one, `"`)) })
	case len(d.elements(m["anyOf"])) > 0:
		d.join(" | ", d.elements(m["anyOf"]), func(one span) { d.kind(one, indent, depth+1) })
	case len(d.elements(m["oneOf"])) > 0:
		d.join(" | ", d.elements(m["oneOf"]), func(one span) { d.kind(one, indent, depth+1) })
	case len(d.elements(m["allOf"])) > 0:
		d.join(" & ", d.elements(m["allOf"]), func(one span) { d.kind(one, indent, depth+1) })
	case len(d.elements(m["type"])) > 0:
		d.join(" | ", d.elements(m["type"]), func(one span) { d.named(string(decoded(one.in(d.text))), m, indent, depth) })
	default:
		d.named(string(decoded(m["type"].in(d.text))), m, indent, depth)
	}
}

func (d *declarer) join(between string, list []span, write func(span)) {
	for i, one := range list {
		if i > 0 {
			d.write(between)
		}
		write(one)
	}
}

// named writes the type of that name in JSON schema.
func (d *declarer) named(name string, m map[string]span, indent, depth int) {
	switch {
	case name == "integer":
		d.write("number")
	case name == "array" || name == "" && m["items"].len() > 0:
		if m["items"].len() == 0 {
			d.write(anyType)
		} else {
			d.kind(m["items"], indent, depth+1)
		}
		d.write("[]")
	case (name == "object" || name == "") && len(d.members(m["properties"])) > 0:
		d.write("{\n")
		d.properties(m, indent+indentWidth, depth+1)
		d.write(strings.Repeat(" ", indent), "}")
	case name == "":
		d.write(anyType)
	default:
		d.write(name)
	}
}

// literal is a value as it is shown: a string's words, in quotes of that kind,
// any other value as JSON.
func (d *declarer) literal(value span, quote string) string {
	raw := value.in(d.text)
	if len(raw) > 0 && raw[0] == '"' {
		return quote + string(decoded(raw)) + quote
	}
	return string(raw)
}
