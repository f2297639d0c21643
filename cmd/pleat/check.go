package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/redisstore"
)

// checkTimeout is how long each of the things that check reaches for may take
// to answer.
const checkTimeout = 5 * time.Second

func checkCommand(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Check the configuration, and whether upstream and store can be reached",
		Long: "Check the configuration, and whether upstream and store can be reached. No credential is sent.\n" +
			"The exit status is 2 if the configuration is wrong, 1 if something cannot be reached, else 0.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			log := slog.New(slog.DiscardHandler) // what it would hold is reported
			redisstore.SendClientLog(log)
			s, err := openStore(cmd.Context(), c, nil, log)
			if err != nil {
				return err
			}
			defer s.Close() //nolint:errcheck // nothing was written to it
			transport := newTransport()
			defer transport.CloseIdleConnections()
			return checker{config: c, store: s, transport: transport, out: cmd.OutOrStdout()}.run(cmd.Context())
		},
	}
	addConfigFlags(cmd)
	return cmd
}

// checker says what a configuration means and whether what it names answers.
type checker struct {
	config    *Config
	store     store.Store
	transport http.RoundTripper
	out       io.Writer
}

// run prints all findings and then returns an error if something could not be
// reached: whoever repairs one thing wants to know of the others.
func (c checker) run(ctx context.Context) error {
	c.settings()

	var lost []string
	table := tabwriter.NewWriter(c.out, 0, 0, 3, ' ', 0)
	report := func(what, where, found string, err error) {
		if err != nil {
			found = "NOT REACHED: " + err.Error()
			lost = append(lost, what)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", what, where, found)
	}
	found, err := c.reach(ctx, c.config.Upstream)
	report("upstream", withoutQuery(c.config.Upstream), found, err)
	if u := c.config.Summarizer.Upstream; u != nil {
		found, err = c.reach(ctx, u)
		report("summarizer.upstream", withoutQuery(u), found, err)
	}
	err = c.ping(ctx)
	report("store", c.config.Store.Kind, "answers", err)
	if err := table.Flush(); err != nil {
		return err
	}
	if err == nil {
		c.servers(ctx)
	}

	c.advice()
	if len(lost) > 0 {
		return fmt.Errorf("not reached: %s", strings.Join(lost, ", "))
	}
	return nil
}

// settings prints every option that somebody set.
func (c checker) settings() {
	var rows []string
	for _, g := range optionTable(new(Config)) {
		for _, o := range g.options {
			if v := c.config.values[o.key]; v.origin != byDefault {
				rows = append(rows, fmt.Sprintf("%s\t%s\t%s\n", o.key, v.shown, v.origin))
			}
		}
	}
	if len(rows) == 0 {
		fmt.Fprint(c.out, "The configuration is right: every option is at its default.\n\n")
		return
	}
	fmt.Fprint(c.out, "The configuration is right. Not at their defaults:\n\n")
	table := tabwriter.NewWriter(c.out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprint(table, "  "+row)
	}
	_ = table.Flush() // the next write tells
	fmt.Fprintln(c.out)
}

// reach asks a base URL for its list of models, without a credential. Any HTTP
// answer means that it is there.
func (c checker) reach(ctx context.Context, base *url.URL) (found string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("models").String(), http.NoBody)
	if err != nil {
		return "", err
	}
	r.Header.Set("User-Agent", userAgent())

	begin := time.Now()
	res, err := c.transport.RoundTrip(r) // no redirects: they would not be followed in service either
	if err != nil {
		if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", fmt.Errorf("no answer within %s", spell(checkTimeout))
		}
		if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
			return "", fmt.Errorf("%w (does it speak http, and not https?)", err)
		}
		return "", err
	}
	_ = res.Body.Close()
	found = fmt.Sprintf("answers: %s to GET /models without a credential, after %d ms", res.Status, time.Since(begin).Milliseconds())
	return found + meaning(res.StatusCode, base), nil
}

// withoutQuery leaves out what may hold a key.
func withoutQuery(u *url.URL) string {
	shown := *u
	shown.RawQuery = ""
	return shown.String()
}

// meaning is what a status says of a base URL.
func meaning(status int, base *url.URL) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return " (as it should)"
	case status == http.StatusNotFound && strings.Trim(base.Path, "/") == "":
		return " (it has no list of models there: most base URLs end with a path such as /v1)"
	case status == http.StatusNotFound:
		return " (it has no list of models there; if chats are not found either, the path of the URL is wrong)"
	case status >= 300 && status < 400:
		return " (a redirect, which Pleat relays and does not follow: is the scheme or the path wrong?)"
	case status >= 500:
		return " (it is there, but not well)"
	}
	return ""
}

// advice names what is allowed and may still not be meant.
func (c checker) advice() {
	models := c.config.Summarizer.Models
	if models[0] == "same" {
		fmt.Fprint(c.out, "\nNote: summaries are written by the conversation's own model, at its own price (summarizer.models\n"+
			"begins with same). A small one will do: --summarizer-models=NAME,same\n")
	}
	if c.config.Summarizer.Upstream != nil && slices.Contains(models, "same") {
		fmt.Fprint(c.out, "\nNote: summarizer.models names same, and summarizer.upstream may not have the conversation's model.\n")
	}
}
