package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-proxy/pleat/compaction"
	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// maxCounted keeps a wrong path (a disk image) from being read whole.
const maxCounted = gib

// counting is what the flags of `pleat count` say.
type counting struct {
	model    string
	encoding string
	text     bool
	json     bool
}

func countCommand(environ []string) *cobra.Command {
	var c counting
	cmd := &cobra.Command{
		Use:   "count [flags] FILE|-",
		Short: "Count the tokens of a chat request, or of plain text",
		Long: "Count the tokens of FILE, or of what comes in where FILE is -. The body of a chat request is counted\n" +
			"by chunk, message and tool, as Pleat counts it when it plans; anything else is plain text.\n" +
			"Without --model the request's own model decides how text is cut into tokens. Nothing is sent anywhere.",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, environ, args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.model, "model", "", "`name` of the model to count for, in place of the request's own")
	f.StringVar(&c.encoding, "encoding", "", "`name` of the encoding to count in: "+strings.Join(encodings(), ", "))
	f.BoolVar(&c.text, "text", false, "count FILE as plain text, even if it is a chat request")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.Var(&text{kind: "path"}, configFlag, "YAML file, of which models is read (variable "+configVariable+")")
	return cmd
}

// oneFile is for commands that read one file.
func oneFile(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("%s takes the name of a file, or - for what comes in", cmd.CommandPath())
	case len(args) > 1:
		return usagef("%s takes one file: %q is in the way", cmd.CommandPath(), args[1])
	}
	return nil
}

func (c counting) run(cmd *cobra.Command, environ []string, path string) error {
	encoder, err := c.encoder(cmd, environ)
	if err != nil {
		return err
	}
	data, err := readInput(cmd.InOrStdin(), path)
	if err != nil {
		return err
	}
	report := countReport{out: cmd.OutOrStdout(), json: c.json, told: c.encoding != ""}
	if c.text {
		return report.plain(c.model, encoder(""), data)
	}
	m, err := compaction.Measure(data, c.model, encoder)
	if err != nil {
		if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
			warnTo(cmd.ErrOrStderr())("counted as plain text, since it is no chat request: " + err.Error())
		}
		return report.plain(c.model, encoder(""), data)
	}
	return report.request(m)
}

// encoder returns what counts for a model: the flags decide before the request.
func (c counting) encoder(cmd *cobra.Command, environ []string) (func(string) tokens.Encoder, error) {
	config, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
	if err != nil {
		return nil, err
	}
	models := config.Models
	if c.encoding != "" {
		k := choice(new(string), encodings()...)
		if err := k.parse(c.encoding); err != nil {
			return nil, usageError{&optionError{"flag --encoding", "encoding", k.show(c.encoding), err.Error(), k.allowed}}
		}
		models = []modelRule{{Glob: "*", Encoding: c.encoding}}
	}
	counter, err := newCounter(models)
	if err != nil {
		return nil, err
	}
	if c.model == "" {
		return counter.For, nil
	}
	return func(string) tokens.Encoder { return counter.For(c.model) }, nil
}

// readInput reads a file, or in where the path is "-".
func readInput(in io.Reader, path string) ([]byte, error) {
	if path != "-" {
		file, err := os.Open(path) //nolint:gosec // whoever calls says which file
		if err != nil {
			return nil, usagef("%s: %w", path, cause(err))
		}
		defer file.Close() //nolint:errcheck // it was only read
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxCounted+1))
	switch {
	case err != nil:
		return nil, usagef("%s: %w", path, cause(err))
	case len(data) > maxCounted:
		return nil, usagef("%s: larger than %s", path, spellSize(maxCounted))
	}
	return data, nil
}
