package window

import (
	"regexp"
	"strings"
)

var (
	// vendor is what Amazon Bedrock puts before a model's name: the region of an
	// inference profile, and the model's maker ("us.anthropic.claude-…").
	vendor = regexp.MustCompile(`^(?:[a-z]{2,6}(?:-gov)?\.)?` +
		`((?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|writer|zai)\.)`)

	// revision is what Bedrock puts behind it: "…-v1:0", "…-v1:0:200k", "…-1:0".
	revision = regexp.MustCompile(`-(?:v\d(?::\d+)?|\d:\d+)(?::\d+k)?$`)

	// dated is the end of a name that says which release of the model is meant:
	// -2024-08-06, -20240806, -08-2024, -0613 (month and day), -2411 (year and
	// month), -001, -latest.
	dated = regexp.MustCompile(`-(?:20\d\d-?[01]\d-?[0-3]\d|[01]\d-20\d\d|(?:0[1-9]|1[0-2])[0-3]\d|2[2-9](?:0[1-9]|1[0-2])|00\d|latest|default)$`)

	// sized is an Ollama tag that begins with a number of parameters: the tag
	// belongs to the model's name ("llama3.1:8b-instruct-q4_K_M").
	sized = regexp.MustCompile(`^e?\d+(?:x\d+)?(?:\.\d+)?[bmt](?:-|$)`)

	// quantised is the end of a name that says in what precision the weights are
	// kept, in what file, or (Ollama's cloud) where. It does not change the model.
	quantised = regexp.MustCompile(`(?:[-_.:@](?:i?q\d\w*|(?:bf|fp|f)(?:8|16|32)|fp8-dynamic|awq|gptq|nvfp4|w\d+a\d+|int[48]|(?:bnb-)?[48]bits?|mlx|gguf|qat|cloud))+$`)

	// glued is a family's name that runs into its version: "qwen2.5", where
	// others write "qwen-2.5".
	glued = regexp.MustCompile(`\b(llama|qwen|gemma|phi|granite)(\d)`)

	// pointed is Fireworks' way to write a point: "llama-v3p1", "qwen3p7".
	pointed = regexp.MustCompile(`(?:-v)?(\d)p(\d)\b`)
)

// forms returns the names under which the model may be known: those that mean
// the same, from the name in full to the one without provider, and those of
// the model without its date or tag. All are in one spelling (see spell).
func forms(name string) (same, shorter []string) {
	name = trimmed(name)
	for {
		same = append(same, spell(name))
		_, rest, found := strings.Cut(name, "/")
		if !found {
			break
		}
		name = rest
	}
	if tuned, found := strings.CutPrefix(name, "ft:"); found {
		name, _, _ = strings.Cut(tuned, ":")
		same = append(same, spell(name))
	}
	if plain := revision.ReplaceAllString(name, ""); plain != name || vendor.MatchString(name) {
		same = append(same, spell(vendor.ReplaceAllString(plain, "$1"))) // "deepseek.r1" is deepseek-r1
		name = vendor.ReplaceAllString(plain, "")
		same = append(same, spell(name))
	}
	if plain := quantised.ReplaceAllString(name, ""); plain != name && plain != "" {
		name = plain
		same = append(same, spell(name))
	}
	return same, shorterForms(name)
}

// shorterForms takes tag and date off a name that has no provider any more.
func shorterForms(name string) (shorter []string) {
	if untagged, tag, found := strings.Cut(name, ":"); found {
		if sized.MatchString(tag) {
			// Ollama's tag without more is the model that follows instructions.
			whole := spell(untagged + "-" + tag)
			return []string{whole, whole + "-instruct", whole + "-it"}
		}
		name = untagged
		shorter = append(shorter, spell(name))
	}
	if undated := dated.ReplaceAllString(strings.ReplaceAll(name, "@", "-"), ""); undated != name {
		shorter = append(shorter, spell(undated))
	}
	return shorter
}

// bareName is the model's name without provider, date or tag.
func bareName(name string) string {
	same, shorter := forms(name)
	if len(shorter) > 0 {
		return shorter[len(shorter)-1]
	}
	return same[len(same)-1]
}

// trimmed is a name as it is compared: case and space around it do not count.
func trimmed(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// spell makes one of the ways in which people write a version:
// claude-3.5-sonnet and claude-3-5-sonnet, gpt-35-turbo (Azure) and
// gpt-3.5-turbo, claude-…@20240620 (Vertex) and claude-…-20240620,
// Meta-Llama-3.1 (Hugging Face), llama3.1 (Ollama), llama3-1 (Bedrock) and
// llama-v3p1 (Fireworks).
func spell(name string) string {
	name = glued.ReplaceAllString(pointed.ReplaceAllString(name, "-$1.$2"), "$1-$2")
	name = strings.Map(func(r rune) rune {
		if r == '.' || r == '@' || r == '_' {
			return '-'
		}
		return r
	}, name)
	return strings.ReplaceAll(strings.ReplaceAll(name, "gpt-35-", "gpt-3-5-"), "meta-llama-3", "llama-3")
}
