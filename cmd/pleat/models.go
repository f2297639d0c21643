package main

import (
	"strconv"
	"strings"
)

// modelRule is what the configuration says of the models whose names match a
// pattern. Zero numbers and an empty encoding are left to the catalogue.
type modelRule struct {
	Glob                 string
	Input, Output, Total int // tokens
	Encoding             string
	SameAs               string // a model that the catalogues know
}

// maxWindow is far above any model's window, in tokens.
const maxWindow = 1_000_000_000

// modelFields is the table of what can be said of a model.
func modelFields(m *modelRule) []option {
	return []option{
		{"input", count(&m.Input, "tokens", 1, maxWindow), "", "what the model reads at most"},
		{"output", count(&m.Output, "tokens", 1, maxWindow), "", "what it writes at most"},
		{"total", count(&m.Total, "tokens", 1, maxWindow), "", "both together at most: its context window"},
		{"encoding", choice(&m.Encoding, encodings()...), "", "how its text is cut into tokens"},
		{"same_as", modelName(&m.SameAs), "", "a model that Pleat knows, whose limits and encoding this one has unless they stand beside it"},
	}
}

// modelRules is the option that holds them: a mapping from pattern to fields.
func modelRules(p *[]modelRule) kind {
	return kind{
		name:    "map",
		allowed: "patterns such as gpt-4o* (* is any text), each with some of " + strings.Join(modelFieldNames(), ", ") + " below it",
		entries: func(d *document, key string, entries []entry) error {
			var rules []modelRule
			lines := make(map[string]int)
			for _, e := range entries {
				m, err := d.modelRule(key, e, lines)
				if err != nil {
					return err
				}
				rules = append(rules, m)
			}
			*p = rules
			return nil
		},
	}
}

// modelRule takes one pattern. lines holds the patterns seen before.
func (d *document) modelRule(key string, e entry, lines map[string]int) (modelRule, error) {
	m := modelRule{Glob: e.key}
	at, key := d.at(e.line), key+"."+e.key
	if first, seen := lines[e.key]; seen {
		return m, &optionError{at, key, "", "set before, on line " + strconv.Itoa(first), "each pattern once"}
	}
	lines[e.key] = e.line
	if e.key == "" {
		return m, &optionError{at, key, "", "an empty pattern", "a model's name, in which * is any text and ? one letter"}
	}
	names := strings.Join(modelFieldNames(), ", ")
	switch {
	case e.value.shape == blank, e.value.shape == mapping && len(e.value.entries) == 0:
		return m, &optionError{at, key, "", "no value", "some of " + names + " below it"}
	case e.value.shape != mapping:
		return m, &optionError{at, key, "", "this is " + e.value.shape.String(), "some of " + names + " below it"}
	}
	seen := make(map[string]int)
	for _, f := range e.value.entries {
		if err := d.modelField(&m, key, f, seen); err != nil {
			return m, err
		}
	}
	if m.Total > 0 && max(m.Input, m.Output) > m.Total {
		return m, &optionError{at, key, "", "input or output is larger than total, which counts both together", ""}
	}
	return m, nil
}

// modelField takes one field of a pattern.
func (d *document) modelField(m *modelRule, key string, e entry, seen map[string]int) error {
	at, key := d.at(e.line), key+"."+e.key
	if first, ok := seen[e.key]; ok {
		return &optionError{at, key, "", "set before, on line " + strconv.Itoa(first), "each key once"}
	}
	seen[e.key] = e.line
	for _, f := range modelFields(m) {
		if f.key != e.key {
			continue
		}
		text, problem := e.value.scalar(false)
		if problem != "" {
			return &optionError{at, key, "", problem, f.kind.allowed}
		}
		if err := f.kind.parse(text); err != nil {
			return &optionError{at, key, f.kind.show(text), err.Error(), f.kind.allowed}
		}
		return nil
	}
	names := modelFieldNames()
	return &optionError{at, key, "", "no such key" + didYouMean(nearest(e.key, names), ""), strings.Join(names, ", ")}
}

func modelFieldNames() []string {
	var names []string
	for _, f := range modelFields(new(modelRule)) {
		names = append(names, f.key)
	}
	return names
}
