package window

import (
	"cmp"
	"strings"
)

// ModelInfo is what an upstream says of one of its models.
type ModelInfo struct {
	// Name is the model's name in the upstream's list. The empty name stands
	// for any: a server of one model often does not care what it is called.
	Name string

	// Limits are those stated; their Source does not matter.
	Limits Limits
}

// maxUpstream bounds how many models an upstream may list. The largest lists
// (OpenRouter, gateways) hold some hundreds.
const maxUpstream = 10_000

// upstream is the limits of an upstream's models by name. These names need no
// interpretation: they are the ones that the upstream takes.
type upstream map[string]Limits

// SetUpstream puts what the upstream says of its models in the place of what it
// said before. Of two that name one model the later is believed where it says
// something. It returns of how many models the window is known by that; those
// with absurd limits are left out.
func (r *Resolver) SetUpstream(list []ModelInfo) (windows int) {
	u := make(upstream)
	for _, m := range list {
		if len(m.Name) > maxName || !m.Limits.plausible() {
			continue
		}
		name := upstreamName(m.Name)
		if _, present := u[name]; !present && len(u) >= maxUpstream {
			continue
		}
		m.Limits.Source = SourceUpstream
		u[name] = m.Limits.over(u[name])
	}
	for _, l := range u {
		if l.Known() {
			windows++
		}
	}
	r.change(func(k *known) { k.upstream = u })
	return windows
}

// find returns what the upstream says of the model, or of any.
func (u upstream) find(model string) Limits {
	if len(u) == 0 || len(model) > maxName {
		return Limits{}
	}
	return cmp.Or(u[upstreamName(model)], u[""])
}

// upstreamName makes one of the spellings that servers take for one model:
// Ollama's "llama3.2" and "llama3.2:latest", Gemini's "models/gemini-…" and
// "gemini-…".
func upstreamName(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(trimmed(name), "models/"), ":latest")
}
