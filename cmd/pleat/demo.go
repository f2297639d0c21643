package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/proxy/scripted"
)

const (
	demoTurns     = 48     // how long the conversation is unless told otherwise
	demoTrigger   = "1500" // tokens; low, so that folds come while one watches
	demoModel     = "gpt-4o"
	demoScriptKey = "no-key-is-needed"
)

// demo is what the flags of `pleat demo` say. Its other flags are options of
// the table, which load reads.
type demo struct {
	turns  int
	model  string
	keyEnv string
}

func demoCommand(environ []string) *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Play a long conversation through Pleat and show what it saves",
		Long: "Play a long conversation through Pleat, with a real client, and show turn by turn what the\n" +
			"provider is sent. Without --upstream the provider is scripted and in this process: no account\n" +
			"and no network are needed, replies and summaries are canned, the token counts are real.\n" +
			"With --upstream a real model answers and writes the summaries, at its price.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd, environ) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&d.turns, "turns", demoTurns, fmt.Sprintf("`number` of turns to play, 1 to %d", demoMaxTurns()))
	f.Var(&text{kind: "tokens", text: demoTrigger}, "trigger", "history tokens above which old turns are folded")
	f.Var(&text{kind: "URL"}, "upstream", "play before a real provider, such as https://api.openai.com/v1")
	f.StringVar(&d.model, "model", "", "`name` of the model that answers; only with --upstream")
	f.Var(&text{kind: "list", text: "same"}, "summarizer-models", "the models that write summaries; only with --upstream")
	f.StringVar(&d.keyEnv, "api-key-env", "OPENAI_API_KEY", "the `variable` that holds the provider's key; only with --upstream")
	return cmd
}

// run sets the scene, plays, and judges what came of it.
func (d *demo) run(cmd *cobra.Command, environ []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	c, key, err := d.configure(cmd.Flags(), environ)
	if err != nil {
		return err
	}
	var provider *scripted.Upstream
	who := fmt.Sprintf("Model %s; summaries by %s.", d.model, strings.Join(c.Summarizer.Models, ", "))
	if c.Upstream == nil {
		who = "Scripted model and summaries: the text is canned, the token counts are real."
		counter, err := tokens.New(nil)
		if err != nil {
			return err
		}
		provider = scripted.New(scripted.Options{Reply: demoReply, Count: counter.For(demoModel).Count})
		local, err := serveLocal(ctx, provider)
		if err != nil {
			return err
		}
		defer local.close()
		c.Upstream = local.base()
	}

	view := newDemoView(out, onTerminal(out, environ), demoTokens(d.turns))
	view.intro(d.turns, c.Trigger, who)
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	cost, err := d.play(ctx, c, key, view, log)
	if err != nil {
		return err
	}
	view.chart(cost)
	if provider == nil {
		return nil
	}
	return demoVerdict(provider.Violations(), view.sums(cost))
}

// play runs Pleat for the length of one conversation and returns what summaries
// cost. When it returns, nothing of Pleat runs any more.
func (d *demo) play(
	ctx context.Context, c *Config, key string, view *demoView, log *slog.Logger,
) (cost demoCost, err error) {
	p, err := startDemoPleat(ctx, c, log)
	if err != nil {
		return demoCost{}, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	client := &http.Client{Transport: newTransport()}
	defer client.CloseIdleConnections()

	player := newDemoPlayer(client, p.base(), key, d.model, p.settle)
	for n := range d.turns {
		r, err := player.turn(ctx, n)
		if err != nil {
			return demoCost{}, err
		}
		view.turn(r)
	}
	return p.cost(ctx, client)
}

// configure checks the flags. The configuration's Upstream is nil when the
// provider is to be scripted; key is what the client calls with.
func (d *demo) configure(f *pflag.FlagSet, environ []string) (c *Config, key string, err error) {
	if d.turns < 1 || d.turns > demoMaxTurns() {
		return nil, "", usagef("flag --turns: %d; allowed: 1 to %d", d.turns, demoMaxTurns())
	}
	if !f.Changed("trigger") {
		if err := f.Set("trigger", demoTrigger); err != nil {
			return nil, "", err
		}
	}
	// The environment is not read: PLEAT_ variables are for the proxy that
	// somebody runs in earnest, and the demo is to be the same everywhere.
	if c, err = load(f, nil, func(string) {}); err != nil {
		return nil, "", err
	}
	c.Log.Access = false
	if !f.Changed("upstream") {
		for _, name := range []string{"model", "api-key-env", "summarizer-models"} {
			if f.Changed(name) {
				return nil, "", usagef("flag --%s: needs --upstream, without it the provider is scripted", name)
			}
		}
		c.Upstream, d.model = nil, demoModel
		return c, demoScriptKey, nil
	}
	if d.model == "" {
		return nil, "", usagef("flag --upstream: needs --model, the name of the model that answers")
	}
	if key = variable(environ, d.keyEnv); key == "" {
		return nil, "", usagef("variable %s: empty; with --upstream it holds the provider's key (--api-key-env names another)", d.keyEnv)
	}
	if err := secret(new(string), 1).parse(key); err != nil {
		return nil, "", usagef("variable %s: %w; it should hold the provider's key alone", d.keyEnv, err)
	}
	return c, key, nil
}

// demoReply answers with the script's line. The system message and the turns
// so far tell which: a fold shortens the list, so the last message is looked up.
func demoReply(r *scripted.Request) scripted.Reply {
	last := r.Messages[len(r.Messages)-1].Text
	for n := range demoMaxTurns() {
		if user, assistant := demoTurn(n); user == last {
			return scripted.Reply{Text: assistant}
		}
	}
	return scripted.Reply{Text: "That is not in the script."}
}

// demoTokens is about how long the conversation will be, at four and a half
// bytes a token.
func demoTokens(turns int) int {
	size := len(demoSystem)
	for n := range turns {
		user, assistant := demoTurn(n)
		size += len(user) + len(assistant)
	}
	return size * 2 / 9
}

// demoVerdict is the demo's outcome before the scripted provider, which is as
// strict as the strictest.
func demoVerdict(broken []scripted.Violation, s demoSums) error {
	if len(broken) > 0 {
		return fmt.Errorf("%d invalid requests arrived, the first: %v", len(broken), broken[0])
	}
	if s.saved() <= 0 {
		return errors.New("nothing was saved: the conversation is too short for its trigger")
	}
	return nil
}

// variable is the value of an environment variable, "" if it is not set.
func variable(environ []string, name string) string {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// onTerminal reports whether out shows colours: a terminal that nobody asked
// to be plain (NO_COLOR, TERM=dumb).
func onTerminal(out io.Writer, environ []string) bool {
	file, ok := out.(*os.File)
	if !ok || variable(environ, "NO_COLOR") != "" || variable(environ, "TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
