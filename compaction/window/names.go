package window

import (
	"regexp"
	"strings"
)

var (
	// vendor is what Amazon Bedrock puts before a model's name:
	// "us.anthropic.claude-…".
	vendor = regexp.MustCompile(`^(?:[a-z]{2,6}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen)\.`)

	// revision is what Bedrock puts behind it: "…-v1:0".
	revision = regexp.MustCompile(`-v\d(?::\d+)?$`)

	// dated is the end of a name that says which release of the model is meant:
	// -2024-08-06, -20240806, -08-2024, -0613 (month and day), -2411 (year and
	// month), -001, -latest.
	dated = regexp.MustCompile(`-(?:20\d\d-?[01]\d-?[0-3]\d|[01]\d-20\d\d|(?:0[1-9]|1[0-2])[0-3]\d|2[2-9](?:0[1-9]|1[0-2])|00\d|latest)$`)
)

// forms returns the names under which the model may be known: those that mean
// the same, from the name in full to the one without provider, and those of
// the model without its date or tag. All are in one spelling (see spell).
func forms(name string) (same, shorter []string) {
	name = strings.ToLower(strings.TrimSpace(name))
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
	if plain := revision.ReplaceAllString(vendor.ReplaceAllString(name, ""), ""); plain != name {
		name = plain
		same = append(same, spell(name))
	}
	if untagged, _, found := strings.Cut(name, ":"); found {
		name = untagged
		shorter = append(shorter, spell(name))
	}
	if undated := dated.ReplaceAllString(strings.ReplaceAll(name, "@", "-"), ""); undated != name {
		shorter = append(shorter, spell(undated))
	}
	return same, shorter
}

// bareName is the model's name without provider, date or tag.
func bareName(name string) string {
	same, shorter := forms(name)
	if len(shorter) > 0 {
		return shorter[len(shorter)-1]
	}
	return same[len(same)-1]
}

// spell makes one of the ways in which people write a version:
// claude-3.5-sonnet and claude-3-5-sonnet, gpt-35-turbo (Azure) and
// gpt-3.5-turbo, claude-…@20240620 (Vertex) and claude-…-20240620.
func spell(name string) string {
	return strings.NewReplacer(".", "-", "@", "-", "gpt-35-", "gpt-3-5-").Replace(name)
}
