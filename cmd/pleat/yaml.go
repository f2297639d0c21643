package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// shape is what stands at a place in a YAML file.
type shape int

const (
	blank shape = iota // nothing, or null
	scalar
	list
	mapping
)

func (s shape) String() string {
	return [...]string{"nothing", "a single value", "a list", "a group of keys"}[s]
}

// node is a place in a YAML file. Scalars are kept as they were written, so
// that each option reads numbers, durations and words in its own way.
type node struct {
	shape   shape
	line    int
	text    string  // scalar, unquoted
	items   []node  // list
	entries []entry // mapping
}

// entry is one key of a mapping.
type entry struct {
	key   string
	line  int
	value node
}

// yamlError is a file that could not be understood, or that uses more of YAML
// than a configuration needs. It prints as LINE: problem.
type yamlError struct {
	line    int
	problem string
}

func (e *yamlError) Error() string { return fmt.Sprintf("%d: %s", e.line, e.problem) }

// parseYAML reads one document. Keys may repeat: who takes the values says so
// in better words than the parser.
func parseYAML(data []byte) (node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors on Windows begin a file with it
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return node{}, syntaxError(err)
	}
	var root node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		n, err := convert(doc.Body)
		if err != nil {
			return node{}, err
		}
		if n.shape == blank {
			continue
		}
		if root.shape != blank {
			return node{}, &yamlError{n.line, "a second document begins; a configuration is one"}
		}
		root = n
	}
	return root, nil
}

// syntaxError keeps the parser's own words and line. They may span lines when
// they show the source; only the message is taken, so that an error never
// carries a secret that stands near it.
func syntaxError(err error) error {
	line, message := 1, "not YAML"
	if syntax, ok := err.(yaml.Error); ok { //nolint:errorlint // the parser returns it bare
		message = strings.Join(strings.Fields(hint(syntax.GetMessage())), " ")
		if t := syntax.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
	}
	return &yamlError{line, "this is not YAML: " + message}
}

// hint explains the complaints that the parser words worst.
func hint(message string) string {
	switch {
	case strings.Contains(message, "'\t'"):
		return "a tab, where YAML wants spaces"
	case strings.Contains(message, "not allowed in this context"):
		return "a value that begins with a mark such as [ or * needs quotes, and keys of one group the same indent"
	}
	return message
}

// convert takes what a configuration may use of YAML and refuses the rest:
// anchors, aliases, tags, merge keys.
func convert(n ast.Node) (node, error) {
	line := lineOf(n)
	switch n := n.(type) {
	case *ast.NullNode, *ast.CommentGroupNode:
		return node{line: line}, nil
	case *ast.StringNode:
		return node{shape: scalar, line: line, text: n.Value}, nil
	case *ast.LiteralNode:
		return node{shape: scalar, line: line, text: strings.TrimRight(n.Value.Value, "\n")}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node{shape: scalar, line: line, text: n.GetToken().Value}, nil
	case *ast.SequenceNode:
		out := node{shape: list, line: line}
		for _, v := range n.Values {
			item, err := convert(v)
			if err != nil {
				return node{}, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case ast.MapNode:
		return convertMapping(n, line)
	}
	return node{}, &yamlError{line, "anchors, aliases and tags are not supported here"}
}

func convertMapping(m ast.MapNode, line int) (node, error) {
	out := node{shape: mapping, line: line}
	for it := m.MapRange(); it.Next(); {
		key, ok := it.Key().(ast.ScalarNode)
		if !ok || it.Key().IsMergeKey() {
			return node{}, &yamlError{lineOf(it.Key()), "a key is a plain word; merging and composed keys are not supported here"}
		}
		v, err := convert(it.Value())
		if err != nil {
			return node{}, err
		}
		out.entries = append(out.entries, entry{key.GetToken().Value, lineOf(key), v})
	}
	return out, nil
}

// lineOf is the line that a node begins on.
func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// scalar is the node's value as a flag would hold it: a list, where the option
// takes one, joined by commas. problem says why there is none.
func (n node) scalar(listAllowed bool) (text, problem string) {
	switch {
	case n.shape == scalar:
		return n.text, ""
	case n.shape == blank:
		return "", "no value"
	case n.shape != list || !listAllowed:
		return "", "this is " + n.shape.String()
	case len(n.items) == 0:
		return "", "the list is empty"
	}
	var texts []string
	for _, item := range n.items {
		if item.shape != scalar || strings.Contains(item.text, ",") {
			return "", "each item of the list must be a single value without a comma"
		}
		texts = append(texts, item.text)
	}
	return strings.Join(texts, ","), ""
}
