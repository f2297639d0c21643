package tokens

import (
	"strings"

	"github.com/tidwall/match"
)

// families are OpenAI's chat models by encoding; the first match wins (as in
// openai/tiktoken, model.py). A dash after a name admits its dated and sized
// forms and keeps out another maker's name that begins alike.
func families() []Rule {
	return []Rule{
		{"gpt-oss*", "o200k_harmony"},
		{"gpt-5*", "o200k_base"},
		{"gpt-4o*", "o200k_base"},
		{"gpt-4.1*", "o200k_base"},
		{"gpt-4.5*", "o200k_base"},
		{"chatgpt-4o*", "o200k_base"},
		{"gpt-audio*", "o200k_base"},
		{"gpt-realtime*", "o200k_base"},
		{"codex-mini*", "o200k_base"},
		{"o1", "o200k_base"},
		{"o1-*", "o200k_base"},
		{"o3", "o200k_base"},
		{"o3-*", "o200k_base"},
		{"o4-*", "o200k_base"},
		{"gpt-4", "cl100k_base"},
		{"gpt-4-*", "cl100k_base"},
		{"gpt-3.5*", "cl100k_base"},
		{"gpt-35-turbo*", "cl100k_base"}, // as Azure spells it
		{"davinci-002", "cl100k_base"},
		{"babbage-002", "cl100k_base"},
		{"text-davinci-00?", "p50k_base"},
	}
}

// encodingOf returns the encoding of the model and whether it is known to be
// the model's own. Rules see the name as it is written, families its bare form.
func encodingOf(model string, rules []Rule) (name string, exact bool) {
	written := strings.ToLower(model)
	for _, rule := range rules {
		if match.Match(written, strings.ToLower(rule.Glob)) {
			return rule.Encoding, true
		}
	}
	bare := bareName(written)
	for _, family := range families() {
		if match.Match(bare, family.Glob) {
			return family.Encoding, true
		}
	}
	return DefaultEncoding, false
}

// bareName takes away what stands around a model's own name: a fine-tune's
// marks ("ft:gpt-4o:org::id"), the providers in front ("openrouter/openai/…"),
// and a route's tag behind (":free").
func bareName(model string) string {
	model = strings.TrimPrefix(model, "ft:")
	if i := strings.LastIndexByte(model, '/'); i >= 0 {
		model = model[i+1:]
	}
	model, _, _ = strings.Cut(strings.TrimPrefix(model, "ft:"), ":")
	return model
}
