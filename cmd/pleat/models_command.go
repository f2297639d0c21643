package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

func modelsCommand(environ []string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models [flags] [NAME]",
		Short: "Say what is believed of a model: its window, its encoding, and where that is from",
		Long: "Say what Pleat believes of the model NAME, as clients write it: how much it reads and writes, how its\n" +
			"text is counted, and which source says so. Without NAME: the rules of the configuration, and what the\n" +
			"sources hold. The upstream is asked if upstream_metadata is on; a catalogue's URL is not fetched.",
		Args: atMostOneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			b, err := believe(cmd.Context(), c, warningLog(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			b.out, b.json = cmd.OutOrStdout(), asJSON
			if len(args) == 0 {
				return b.summary(c)
			}
			return b.model(args[0])
		},
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.BoolVar(&asJSON, "json", false, "print one JSON object")
	addConfigFlags(cmd, flagGroup{"Output", own})
	return cmd
}

func atMostOneName(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes the name of one model: %q is in the way", cmd.CommandPath(), args[1])
	}
	return nil
}

// warningLog writes what is wrong, for somebody who looks on.
func warningLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// beliefs is what is known of models, and where to tell it.
type beliefs struct {
	windows *window.Resolver
	counter *tokens.Counter
	out     io.Writer
	json    bool
}

// believe learns what `pleat serve` would know a moment after its start.
func believe(ctx context.Context, c *Config, log *slog.Logger) (*beliefs, error) {
	windows, err := window.New(windowRules(c.Models))
	if err != nil {
		return nil, err
	}
	counter, err := newCounter(c.Models)
	if err != nil {
		return nil, err
	}
	transport := newTransport()
	defer transport.CloseIdleConnections()
	if catalogue := newCatalogueKeeper(c.Windows, windows, transport, log); catalogue != nil {
		catalogue.restore()
	}
	if c.Windows.Metadata {
		list, err := newAsker(c, transport).ask(ctx)
		if err != nil {
			log.Warn("the upstream does not tell its models' windows", "cause", err)
		}
		windows.SetUpstream(list)
	}
	return &beliefs{windows: windows, counter: counter}, nil
}

// sourceNames are the sources of limits for people, best first.
func sourceNames() [][2]string {
	return [][2]string{
		{window.SourceConfig, "the configuration"},
		{window.SourceLearned, "an overflow error"},
		{window.SourceUpstream, "the upstream"},
		{window.SourceFile, "the catalogue file"},
		{window.SourceCatalogue, "the built-in catalogue"},
	}
}

func sourceName(source string) string {
	for _, s := range sourceNames() {
		if s[0] == source {
			return s[1]
		}
	}
	return source
}

// limitsJSON is limits for programs: null is unknown.
type limitsJSON struct {
	Input  *int    `json:"input"`
	Output *int    `json:"output"`
	Total  *int    `json:"total"`
	Source *string `json:"source"`
}

func limitsOf(l window.Limits) limitsJSON {
	return limitsJSON{orNull(l.Input), orNull(l.Output), orNull(l.Total), orNull(l.Source)}
}

func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// model tells of one model.
func (b *beliefs) model(name string) error {
	l, e := b.windows.Lookup(name), b.counter.For(name)
	said := b.windows.Sources("", name)
	if b.json {
		sources := make([]limitsJSON, len(said))
		for i, s := range said {
			sources[i] = limitsOf(s)
		}
		return json.NewEncoder(b.out).Encode(struct {
			Model string `json:"model"`
			//nolint:embeddedstructfieldcheck // it is printed second
			limitsJSON

			Encoding string       `json:"encoding"`
			Exact    bool         `json:"exact"`
			Sources  []limitsJSON `json:"sources"`
		}{name, limitsOf(l), e.Name(), e.Exact(), sources})
	}

	fmt.Fprintf(b.out, "%s\n\n", shownName(name))
	if l.Known() {
		fmt.Fprintf(b.out, "  window     input %s, output %s, total %s tokens, from %s\n",
			limit(l.Input), limit(l.Output), limit(l.Total), sourceName(l.Source))
	} else {
		fmt.Fprint(b.out, "  window     unknown: no source knows this name (models in the configuration can say it)\n")
	}
	if e.Exact() {
		fmt.Fprintf(b.out, "  encoding   %s, the model's own: counts are exact\n", e.Name())
	} else {
		fmt.Fprintf(b.out, "  encoding   %s in place of its own: counts are estimates\n", e.Name())
	}
	if len(said) == 0 {
		return nil
	}
	fmt.Fprint(b.out, "\nWhat each source says, the best one first:\n\n")
	w := tabwriter.NewWriter(b.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "input\toutput\ttotal\t  source")
	for _, s := range said {
		fmt.Fprintf(w, "%s\t%s\t%s\t  %s\n", limit(s.Input), limit(s.Output), limit(s.Total), sourceName(s.Source))
	}
	return w.Flush()
}

// limit writes a limit in tokens.
func limit(n int) string {
	if n == 0 {
		return "?"
	}
	return grouped(n)
}
