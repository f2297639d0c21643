package window

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/match"
)

// Rule states the limits, in tokens, of the models whose name, as the client
// wrote it, matches Glob: case is ignored, * matches any run of characters,
// "/" included, and ? matches one. Zero leaves a limit unsaid; a rule that
// states none is passed over.
type Rule struct {
	Glob                 string
	Input, Output, Total int

	// SameAs names a model that the other sources know and whose limits these
	// models have, as far as the rule leaves them unsaid. It is how a deployment
	// whose name says nothing ("prod-eu") is mapped to what runs behind it.
	// Rules are not asked about it.
	SameAs string
}

func (rule Rule) check() error {
	switch {
	case rule.Input < 0 || rule.Output < 0 || rule.Total < 0:
		return errors.New("a limit below 0")
	case rule.Total > 0 && rule.Input > rule.Total:
		return fmt.Errorf("input %d is more than total %d", rule.Input, rule.Total)
	case rule.Total > 0 && rule.Output > rule.Total:
		return fmt.Errorf("output %d is more than total %d", rule.Output, rule.Total)
	}
	return nil
}

func (rule Rule) states() bool {
	return rule.Input > 0 || rule.Output > 0 || rule.Total > 0 || rule.SameAs != ""
}

func (rule Rule) limits() Limits {
	l := Limits{Input: rule.Input, Output: rule.Output, Total: rule.Total}
	if l != (Limits{}) {
		l.Source = SourceConfig
	}
	return l
}

// rule returns the first rule that matches the model, or one that states
// nothing.
func (r *Resolver) rule(model string) Rule {
	written := strings.ToLower(model)
	for _, rule := range r.rules {
		if match.Match(written, rule.Glob) {
			return rule
		}
	}
	return Rule{}
}
