package window

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// catalogue is models' limits under every name that stands for one model.
type catalogue map[string]entry

// entry is what the catalogue says of a name. Of two that claim one name the
// one with the lower rank is believed, of equals the smaller window.
type entry struct {
	limits Limits
	rank   rank
}

// rank is how far an entry is to be believed, best first.
type rank int

const (
	byMaker         rank = iota // the model's own maker, of this very model
	byMakerShort                // the same, of a model whose name is longer by a date or a tag
	byReseller                  // somebody who serves the model
	byResellerShort             // the same, of a name longer by a date or a tag
)

// shortened is what a name that had to be shortened costs in rank.
const shortened = byMakerShort - byMaker

// makers serve models of their own and state their limits. The others resell,
// often with a smaller window.
func makers() []catwalk.InferenceProvider {
	return []catwalk.InferenceProvider{
		catwalk.InferenceProviderOpenAI,
		catwalk.InferenceProviderAnthropic,
		catwalk.InferenceProviderGemini,
		catwalk.InferenceProviderXAI,
		catwalk.InferenceProviderDeepSeek,
		catwalk.InferenceProviderMoonshot,
		catwalk.InferenceKimiCoding,
		catwalk.InferenceProviderZAI,
		catwalk.InferenceProviderZhipu,
		catwalk.InferenceProviderMiniMax,
		catwalk.InferenceProviderMiniMaxChina,
	}
}

// builtIn returns the catalogue of the binary. Where providers disagree about
// a model, its maker is right; where no maker speaks, the smallest window is
// taken: a request that fits it fits everywhere.
func builtIn() catalogue {
	c := catalogue{}
	for _, m := range slices.Concat(retired(), openWeights()) {
		l := Limits{Input: m.total, Output: m.output, Total: m.total, Source: SourceCatalogue}
		if strings.HasSuffix(m.name, "-latest") {
			c.enter(spell(m.name), entry{l, byMaker}) // it says nothing of the releases before
			continue
		}
		c.add(m.name, l, byMaker)
	}
	for _, provider := range embedded.GetAll() {
		by := byReseller
		if slices.Contains(makers(), provider.ID) {
			by = byMaker
		}
		for _, m := range provider.Models {
			if m.ContextWindow > 0 {
				c.add(m.ID, limitsOf(m), by)
			}
		}
	}
	return c
}

// limitsOf reads the limits off a catalogue's model.
func limitsOf(m catwalk.Model) Limits {
	total := int(m.ContextWindow)
	l := Limits{Input: total, Total: total, Source: SourceCatalogue}
	if m.DefaultMaxTokens > 0 && m.DefaultMaxTokens <= m.ContextWindow {
		l.Output = int(m.DefaultMaxTokens)
	}
	if total == gpt5Total && strings.HasPrefix(bareName(m.ID), "gpt-5") {
		l.Input = gpt5Input
	}
	return l
}

// add enters the limits under all forms of the model's name.
func (c catalogue) add(name string, l Limits, by rank) {
	same, shorter := forms(name)
	for _, form := range same {
		c.enter(form, entry{l, by})
	}
	for _, form := range shorter {
		c.enter(form, entry{l, by + shortened})
	}
}

func (c catalogue) enter(form string, e entry) {
	if known, ok := c[form]; !ok || e.before(known) {
		c[form] = e
	}
}

// before reports whether e is to be believed rather than o.
func (e entry) before(o entry) bool {
	return cmp.Or(
		cmp.Compare(e.rank, o.rank),
		cmp.Compare(e.limits.Input, o.limits.Input),
		cmp.Compare(e.limits.Output, o.limits.Output),
	) < 0
}

// find returns the limits that are known best of the forms of the name, the
// most exact form first, or none.
func (c catalogue) find(model string) Limits {
	if len(model) > maxName {
		return Limits{}
	}
	same, shorter := forms(model)
	var best *entry
	for _, form := range slices.Concat(same, shorter) {
		if e, ok := c[form]; ok && (best == nil || e.rank < best.rank) {
			best = &e
		}
	}
	if best == nil {
		return Limits{}
	}
	return best.limits
}
