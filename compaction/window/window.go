// Package window knows how many tokens a model reads and writes.
//
// What it knows comes from rules of the configuration, else from the catalogue
// that charm.land/catwalk carries in its code, else it does not know, and says
// so. It reads no file and no network.
package window

import (
	"errors"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/match"
)

// Limits are a model's limits in tokens. Zero is unknown.
type Limits struct {
	// Input is the most that a request may hold. It is Total where no lower
	// limit is known.
	Input int

	// Output is the most that a reply may be asked for, reasoning included. The
	// catalogue's figure is the maker's usual setting, which may be lower than
	// what the model could do.
	Output int

	// Total is the most that request and reply may hold together.
	Total int

	// Source says where Input and Total come from.
	Source string
}

// The values of Limits.Source.
const (
	SourceConfig    = "config"
	SourceCatalogue = "catalogue"
	SourceUnknown   = ""
)

// Known reports whether the size of the window is known.
func (l Limits) Known() bool { return l.Input > 0 }

// Rule states the limits, in tokens, of the models whose name, as the client
// wrote it, matches Glob: case is ignored, * matches any run of characters,
// "/" included, and ? matches one. Zero leaves a limit unsaid; a rule that
// states none is passed over.
type Rule struct {
	Glob                 string
	Input, Output, Total int
}

// Names come from clients, so their number and their length are bounded.
const (
	cachedModels = 1024
	maxName      = 256 // bytes; a longer one is no model that is known here
)

// Resolver finds the limits of a model. It is safe for concurrent use.
type Resolver struct {
	rules     []Rule
	catalogue catalogue
	models    *lru.Cache[string, Limits]
}

// New returns a Resolver that knows the built-in catalogue and, before it, the
// rules, of which the first that matches wins. The error names a rule that
// makes no sense.
func New(rules []Rule) (*Resolver, error) {
	r := &Resolver{catalogue: builtIn()}
	for _, rule := range rules {
		if err := rule.check(); err != nil {
			return nil, fmt.Errorf("window: models %q: %w", rule.Glob, err)
		}
		if rule.Input > 0 || rule.Output > 0 || rule.Total > 0 {
			rule.Glob = strings.ToLower(rule.Glob)
			r.rules = append(r.rules, rule)
		}
	}
	models, err := lru.New[string, Limits](cachedModels)
	if err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	r.models = models
	return r, nil
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

// Lookup returns the limits of the model, as the client names it. A provider
// in front of the name, a date, "-latest" or a tag behind it, and the marks of a
// fine-tune are understood; a name that is merely similar is not.
//
// A rule that states the window (input or total) is believed about the window
// alone: the same model may be served with a smaller one than its maker's. A
// limit that the matching rule leaves unsaid is the catalogue's as far as the
// two agree.
func (r *Resolver) Lookup(model string) Limits {
	if len(model) > maxName {
		return r.find(model)
	}
	if l, ok := r.models.Get(model); ok {
		return l
	}
	l := r.find(model)
	r.models.Add(model, l)
	return l
}

func (r *Resolver) find(model string) Limits {
	known := r.catalogue.find(model)
	written := strings.ToLower(model)
	for _, rule := range r.rules {
		if match.Match(written, rule.Glob) {
			return rule.over(known)
		}
	}
	return known
}

// over lays the rule over what the catalogue knows.
func (rule Rule) over(known Limits) Limits {
	l := known
	if rule.Input > 0 || rule.Total > 0 {
		l = Limits{Input: rule.Input, Total: rule.Total, Source: SourceConfig}
		if l.Input == 0 {
			l.Input = l.Total
		}
		l.Output = min(known.Output, max(l.Total, l.Input))
	}
	if rule.Output > 0 {
		l.Output = rule.Output
	}
	return l
}
