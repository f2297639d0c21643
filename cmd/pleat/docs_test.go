package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestConfigurationDocGolden keeps docs/configuration.md equal to the option
// table.
func TestConfigurationDocGolden(t *testing.T) {
	golden(t, "../../docs/configuration.md", configurationDoc())
}

const docHead = `# Configuration

<!-- Made from the option table: go test ./cmd/pleat -run TestConfigurationDocGolden -update -->

Pleat runs without any configuration. Every option below is

- a key of a YAML file, named with ` + "`--config FILE` or `PLEAT_CONFIG`" + `: ` + "`summarizer.models`" + ` is ` + "`models`" + `
  below ` + "`summarizer`" + `, or the dotted key itself;
- a flag of ` + "`pleat serve`, `check`, `explain` and `models`" + `: the key with ` + "`-` for `.` and `_`, such as `--summarizer-models`" + `;
- an environment variable: ` + "`PLEAT_`" + ` and the key in capitals with ` + "`_` for `.`, such as `PLEAT_SUMMARIZER_MODELS`" + `.

Flags win over variables, variables over the file, the file over the defaults. In flags and variables the
parts of a list are separated by commas. An empty variable counts as not set. A wrong value is an error
even where something stronger replaces it; Pleat then ends with exit status 2 and one line that says
where the value stands, what is wrong with it and what is allowed. An unknown key or flag is an error, an
unknown ` + "`PLEAT_…`" + ` variable a warning.

Secrets are never printed. A flag can be read by everybody on the machine, so give secrets in a variable,
in the file, or in a file of their own (the options that end in ` + "`_file`" + `).

The upstream is reached through the HTTP proxy that ` + "`HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`" + ` name, if any.

` + "`pleat check`" + ` prints every option that is not at its default, and where it was set.
`

const docModels = `
## Models

` + "`models`" + ` is a mapping from patterns to what is known of the models whose names match, as the client writes
them. In a pattern ` + "`*` is any text and `?`" + ` one letter; case does not count. Limits are taken from the first pattern
that matches and states one, the encoding from the first that matches and states one; what they leave out is
taken from the other sources (below). ` + "`same_as`" + ` maps a name that says nothing, such as a deployment's, to the model
behind it.

` + "```yaml" + `
models:
  my-finetune-*:
    total: 32768
    output: 4096
    encoding: cl100k_base
  prod-eu:
    same_as: gpt-4o
` + "```" + `

| key | type | allowed | meaning |
|---|---|---|---|
`

const docWindows = `
The window of a model is what the first of these says of it: these rules; an overflow error of the upstream (for
the tenant who met it, for a while); the upstream's own list of models (` + "`upstream_metadata`" + `); the file that ` + "`catalogue`" + `
names; the built-in catalogue. ` + "`pleat models NAME`" + ` prints what each of them says, but for what a running Pleat has
learned from errors. Of a model that none knows the window is unknown, and folds are made above 8192 tokens of history.
Some servers run a model with less than it could do and cut long prompts without a word: Ollama does, unless the model
was made with ` + "`num_ctx`" + `. There, say what the window is:

` + "```yaml" + `
models:
  "*":
    total: 4096
` + "```" + `

LiteLLM's own catalogue, which many keep up to date:

` + "```yaml" + `
catalogue: https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json
` + "```" + `
`

// configurationDoc renders the option table.
func configurationDoc() string {
	var b strings.Builder
	b.WriteString(docHead)
	for _, g := range optionTable(new(Config)) {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		for _, o := range g.options {
			writeOption(&b, o)
		}
	}
	b.WriteString(docModels)
	for _, f := range modelFields(new(modelRule)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.key, typeWithUnit(f.kind), f.kind.allowed, f.help)
	}
	b.WriteString(docWindows)
	return b.String()
}

// writeOption renders one row of the table as a paragraph and a list: a table
// with this much text in its cells cannot be read in a terminal.
func writeOption(b *strings.Builder, o option) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s.\n\n", o.key, upperFirst(o.help))
	def := "not set"
	if o.def != "" {
		def = "`" + o.def + "`"
	}
	fmt.Fprintf(b, "- Default: %s\n- Type: %s\n- Allowed: %s\n", def, typeWithUnit(o.kind), o.kind.allowed)
	if o.flag() == "" {
		fmt.Fprintf(b, "- Set in the file only\n")
		return
	}
	fmt.Fprintf(b, "- Flag `--%s`, variable `%s`\n", o.flag(), o.variable())
}

func typeWithUnit(k kind) string {
	name := k.name
	if strings.Contains(name, "|") {
		name = "one of some words"
	}
	if k.unit != "" {
		return name + " (" + k.unit + ")"
	}
	return name
}

func upperFirst(s string) string {
	return strings.ToUpper(s[:1]) + s[1:]
}
