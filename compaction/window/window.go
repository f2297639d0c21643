// Package window knows how many tokens a model reads and writes.
//
// What it knows comes from five sources, and the first of them that states the
// window is believed:
//
//  1. rules of the configuration,
//  2. what an upstream's overflow error stated (Learn), of one tenant and model,
//  3. what the upstream says of its models (SetUpstream),
//  4. a catalogue file in LiteLLM's format (SetCatalogue),
//  5. the catalogue that charm.land/catwalk carries in its code.
//
// Where none knows the model, that is the answer. The package reads no file and
// no network: it is given what others read.
package window

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Limits are a model's limits in tokens. Zero is unknown.
type Limits struct {
	// Input is the most that a request may hold. It is Total where no lower
	// limit is known.
	Input int

	// Output is the most that a reply may be asked for, reasoning included. The
	// built-in catalogue's figure is the maker's usual setting, which may be
	// lower than what the model could do.
	Output int

	// Total is the most that request and reply may hold together.
	Total int

	// Source says where Input and Total come from.
	Source string
}

// The values of Limits.Source, best first.
const (
	SourceConfig    = "config"         // a rule
	SourceLearned   = "learned"        // an overflow error of the upstream
	SourceUpstream  = "upstream"       // the upstream's own list of models
	SourceFile      = "catalogue_file" // the catalogue file
	SourceCatalogue = "catalogue"      // the built-in catalogue
	SourceUnknown   = ""
)

// Known reports whether the size of the window is known.
func (l Limits) Known() bool { return l.Input > 0 }

// over lays what a better source states over what worse ones know. A source
// that states the window (input or total) is believed about the window alone:
// the same model may be served with a smaller one than its maker's. What it
// leaves unsaid is the others' as far as the two agree.
func (l Limits) over(known Limits) Limits {
	out := known
	if l.Input > 0 || l.Total > 0 {
		out = Limits{Input: l.Input, Total: l.Total, Source: l.Source}
		if out.Input == 0 {
			out.Input = out.Total
		}
		out.Output = min(known.Output, max(out.Total, out.Input))
	}
	if l.Output > 0 {
		out.Output = l.Output
	}
	return out
}

// Names come from clients, so their number and their length are bounded.
const (
	cachedModels = 1024
	maxName      = 256 // bytes; a longer one is no model that is known here
)

// Resolver finds the limits of the models of one upstream. It is safe for
// concurrent use.
type Resolver struct {
	rules   []Rule
	builtIn catalogue
	learned *learned

	mu    sync.Mutex // held by those who replace known
	known atomic.Pointer[known]
}

// known is what the sources that seldom change say, replaced as a whole when
// one of them does, and the answers that were made from it.
type known struct {
	upstream upstream
	file     *Catalogue // nil: none
	answers  *lru.Cache[string, answer]
}

// answer is what all sources but the learned limits say of a model.
type answer struct {
	rule  Limits // as the configuration states them
	below Limits // what is known without rules and learned limits
}

// New returns a Resolver that knows the built-in catalogue and, before it, the
// rules, of which the first that matches wins. The error names a rule that
// makes no sense.
func New(rules []Rule) (*Resolver, error) {
	r := &Resolver{builtIn: builtIn()}
	for _, rule := range rules {
		if err := rule.check(); err != nil {
			return nil, fmt.Errorf("window: models %q: %w", rule.Glob, err)
		}
		if rule.states() {
			rule.Glob = strings.ToLower(rule.Glob)
			r.rules = append(r.rules, rule)
		}
	}
	var err error
	if r.learned, err = newLearned(); err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	if err := r.replace(known{}); err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	return r, nil
}

// replace puts what is known in its place, with no answers made from it yet.
func (r *Resolver) replace(k known) error {
	answers, err := lru.New[string, answer](cachedModels)
	if err != nil {
		return err
	}
	k.answers = answers
	r.known.Store(&k)
	return nil
}

// change replaces what is known by what edit makes of it.
func (r *Resolver) change(edit func(*known)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := known{upstream: r.known.Load().upstream, file: r.known.Load().file}
	edit(&k)
	_ = r.replace(k) // it fails on a bad size alone, and New has seen this one
}

// SetCatalogue puts a catalogue file in the place of the one before; nil takes
// it away.
func (r *Resolver) SetCatalogue(c *Catalogue) {
	r.change(func(k *known) { k.file = c })
}

// Lookup returns the limits of the model, as the client names it, without what
// was learned for some tenant. A provider in front of the name, a date,
// "-latest" or a tag behind it, and the marks of a fine-tune are understood; a
// name that is merely similar is not.
func (r *Resolver) Lookup(model string) Limits {
	a := r.answer(model)
	return a.rule.over(a.below)
}

// LookupFor is Lookup with what was learned for the tenant.
func (r *Resolver) LookupFor(tenant, model string) Limits {
	a := r.answer(model)
	return a.rule.over(r.learned.get(tenant, model).over(a.below))
}

func (r *Resolver) answer(model string) answer {
	k := r.known.Load()
	if len(model) > maxName {
		return r.ask(k, model)
	}
	if a, ok := k.answers.Get(model); ok {
		return a
	}
	a := r.ask(k, model)
	k.answers.Add(model, a)
	return a
}

func (r *Resolver) ask(k *known, model string) answer {
	rule := r.rule(model)
	a := answer{rule: rule.limits()}
	for _, l := range slices.Backward(r.below(k, rule, model)) {
		a.below = l.over(a.below)
	}
	return a
}

// below is what the sources below rules and learned limits say, best first.
func (r *Resolver) below(k *known, rule Rule, model string) []Limits {
	said := []Limits{k.upstream.find(model)}
	if rule.SameAs != "" {
		model = rule.SameAs
		said = append(said, k.upstream.find(model))
	}
	return append(said, k.file.find(model), r.builtIn.find(model))
}

// Sources returns what each source says of the model by itself, best first.
// Those that say nothing are left out.
func (r *Resolver) Sources(tenant, model string) []Limits {
	rule := r.rule(model)
	said := append([]Limits{rule.limits(), r.learned.get(tenant, model)}, r.below(r.known.Load(), rule, model)...)
	return slices.DeleteFunc(said, func(l Limits) bool {
		return l.Input == 0 && l.Output == 0 && l.Total == 0
	})
}

// Names returns how many names, or patterns of names, each source knows. What
// was learned is left out: it is some tenant's.
func (r *Resolver) Names() map[string]int {
	k := r.known.Load()
	return map[string]int{
		SourceConfig:    len(r.rules),
		SourceUpstream:  len(k.upstream),
		SourceFile:      k.file.Len(),
		SourceCatalogue: len(r.builtIn),
	}
}
