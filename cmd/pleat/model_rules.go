package main

import (
	"slices"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// newCounter makes the part that counts tokens.
func newCounter(models []modelRule) (*tokens.Counter, error) {
	plain := (*tokens.Counter)(nil)
	if slices.ContainsFunc(models, func(m modelRule) bool { return m.SameAs != "" }) {
		var err error
		if plain, err = tokens.New(nil); err != nil {
			return nil, err
		}
	}
	return tokens.New(encodingRules(models, plain))
}

// encodingRules says what the configuration knows of encodings. A model that is
// the same as another has that one's, as far as plain, which is needed for such
// alone, knows it exactly: of an estimate there is nothing to be said.
func encodingRules(models []modelRule, plain *tokens.Counter) []tokens.Rule {
	rules := make([]tokens.Rule, len(models))
	for i, m := range models {
		rules[i] = tokens.Rule{Glob: m.Glob, Encoding: m.Encoding}
		if m.SameAs == "" || m.Encoding != "" {
			continue
		}
		if e := plain.For(m.SameAs); e.Exact() {
			rules[i].Encoding = e.Name()
		}
	}
	return rules
}

func windowRules(models []modelRule) []window.Rule {
	rules := make([]window.Rule, len(models))
	for i, m := range models {
		rules[i] = window.Rule{Glob: m.Glob, Input: m.Input, Output: m.Output, Total: m.Total, SameAs: m.SameAs}
	}
	return rules
}
