package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-proxy/pleat/compaction"
)

// explaining is what the flags of `pleat explain` say beside those of the
// configuration.
type explaining struct {
	model   string
	summary string
	out     string
	request bool
	json    bool
}

func explainCommand(environ []string) *cobra.Command {
	var e explaining
	cmd := &cobra.Command{
		Use:   "explain [flags] FILE|-",
		Short: "Say what would be done with a chat request, and why",
		Long: "Say what Pleat would do with the chat request in FILE, or with what comes in where FILE is -: its chunks,\n" +
			"turns and steps with their tokens, what would be folded, shortened and kept and why, and what would be sent\n" +
			"once the fold is there. Nobody is asked and nothing is kept: the request is planned as the first of its\n" +
			"conversation, and a summary that is not given is a placeholder.",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return e.run(cmd, environ, args[0]) },
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	own.StringVar(&e.model, "model", "", "`name` of the model to plan for, in place of the request's own")
	own.StringVar(&e.summary, "summary", "", "`text` that stands in for what a summarizer would write")
	own.StringVar(&e.out, "out", "", "`file` to write the outgoing request to")
	own.BoolVar(&e.request, "request", false, "print the outgoing request and nothing else, byte for byte")
	own.BoolVar(&e.json, "json", false, "print one JSON object, the outgoing request in it")
	addConfigFlags(cmd, flagGroup{"Explaining", own})
	return cmd
}

func (e explaining) run(cmd *cobra.Command, environ []string, path string) error {
	if e.request && e.json {
		return usagef("--request and --json are both given; allowed: one of the two")
	}
	plans, err := e.plans(cmd, environ)
	if err != nil {
		return err
	}
	body, err := readInput(cmd.InOrStdin(), path)
	if err != nil {
		return err
	}
	x, err := plans.Explain(body, e.summary)
	if err != nil {
		return usagef("%s: no chat request (%w); Pleat would send it as it is", onOneLine(path), err)
	}
	if e.out != "" {
		if err := os.WriteFile(e.out, x.Body, 0o600); err != nil {
			return usagef("flag --out: %s: %w", onOneLine(e.out), cause(err))
		}
	}
	return e.print(cmd.OutOrStdout(), x)
}

func (e explaining) print(w io.Writer, x compaction.Explanation) error {
	if e.request {
		_, err := w.Write(x.Body)
		return err
	}
	r := explainReport{countReport: countReport{out: w, json: e.json}, x: x}
	if e.json {
		return r.machine()
	}
	return r.people()
}

// plans is how `pleat serve` would plan, as far as can be known without asking
// anybody.
func (e explaining) plans(cmd *cobra.Command, environ []string) (compaction.Plans, error) {
	c, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
	if err != nil {
		return compaction.Plans{}, err
	}
	c.Windows.Metadata = false // it would ask the upstream
	known, err := believe(cmd.Context(), c, warningLog(cmd.ErrOrStderr()))
	if err != nil {
		return compaction.Plans{}, err
	}
	o := compactionOptions(c)
	return compaction.Plans{
		Model: e.model, Tokens: known.counter, Windows: known.windows,
		Trigger: o.Trigger, Scope: o.Scope, KeepFirst: o.KeepFirst, ToolResults: o.ToolResults,
	}, nil
}
