package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// ruleJSON is a rule of the configuration for programs: null is unsaid.
type ruleJSON struct {
	Pattern  string  `json:"pattern"`
	Input    *int    `json:"input"`
	Output   *int    `json:"output"`
	Total    *int    `json:"total"`
	Encoding *string `json:"encoding"`
	SameAs   *string `json:"same_as"`
}

// summary tells of the rules and the sources.
func (b *beliefs) summary(c *Config) error {
	names := b.windows.Names()
	if b.json {
		rules := make([]ruleJSON, len(c.Models))
		for i, m := range c.Models {
			rules[i] = ruleJSON{m.Glob, orNull(m.Input), orNull(m.Output), orNull(m.Total), orNull(m.Encoding), orNull(m.SameAs)}
		}
		return json.NewEncoder(b.out).Encode(struct {
			Rules []ruleJSON     `json:"rules"`
			Names map[string]int `json:"names"`
		}{rules, names})
	}
	return errors.Join(b.rules(c.Models), b.sources(c.Windows, names))
}

func (b *beliefs) rules(models []modelRule) error {
	if len(models) == 0 {
		_, err := fmt.Fprint(b.out, "The configuration has no rules about models (models).\n")
		return err
	}
	fmt.Fprint(b.out, "Rules of the configuration (models), the first that matches being the one that counts:\n\n")
	w := tabwriter.NewWriter(b.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "  pattern\tinput\toutput\ttotal\tencoding\tsame as")
	for _, m := range models {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", shownName(m.Glob),
			unsaid(m.Input), unsaid(m.Output), unsaid(m.Total), orDash(m.Encoding), orDash(m.SameAs))
	}
	return w.Flush()
}

func unsaid(n int) string {
	if n == 0 {
		return "-"
	}
	return grouped(n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return shownName(s)
}

// sources tells how much each source holds, and why one holds nothing.
func (b *beliefs) sources(c WindowsConfig, names map[string]int) error {
	fmt.Fprint(b.out, "\nSources of windows, the best one first:\n\n")
	w := tabwriter.NewWriter(b.out, 0, 0, 3, ' ', 0)
	for _, s := range sourceNames() {
		holds := amount(names[s[0]], "name")
		switch {
		case s[0] == window.SourceConfig:
			holds = amount(names[s[0]], "rule")
		case s[0] == window.SourceLearned:
			continue // a running process has them, and this is another
		case s[0] == window.SourceUpstream && !c.Metadata:
			holds = "not asked (upstream_metadata is off)"
		case s[0] == window.SourceFile && c.Catalogue == "":
			holds = "none (catalogue is not set)"
		case s[0] == window.SourceFile:
			holds += ", " + withoutSecrets(c.Catalogue)
		}
		fmt.Fprintf(w, "  %s\t%s\n", sourceName(s[0]), holds)
	}
	return w.Flush()
}
