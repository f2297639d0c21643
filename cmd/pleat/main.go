// Command pleat is a reverse proxy for OpenAI chat completions that folds old
// turns of long conversations into summaries.
//
// It alone knows files, flags and the environment: it reads the configuration,
// wires the packages together and hands each its part of it. Each subcommand
// has a file of its own; the options of all of them stand in one table
// (options.go).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	// net/http's client has no logger of its own: it writes what an upstream
	// sent out of turn, text included, to the standard one ("Unsolicited
	// response received on idle HTTP channel starting with …"). All of Pleat's
	// lines go through a logger that is passed in.
	log.SetOutput(io.Discard)
	os.Exit(start())
}

// start runs the command line until it is done or a signal asks it to stop. A
// second signal ends the process at once: with the handler gone, the operating
// system's own applies again. Only pleat serve listens on, for a while
// (lifecycle.drainOff).
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop)

	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pleat: %v\n", err)
	}
	return exitStatus(err)
}

// stopSignals are those that ask a process to stop.
func stopSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// run is the whole program: it takes what the outside world gives a process and
// returns once the command is done. environ holds NAME=VALUE pairs, as from
// os.Environ. The error is one line for a person to read; exitStatus says how
// the process should end on it.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	root := newRoot(environ) //nolint:contextcheck // a command takes its context from ExecuteContext
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// newRoot is the list of all commands.
func newRoot(environ []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "pleat",
		Short: "A proxy that keeps long chat conversations short",
		Long: "Pleat stands between an OpenAI client and its provider. Old turns of long conversations\n" +
			"are summarized in the background and sent as one short fold; the client changes nothing\n" +
			"but its base URL.",
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SilenceErrors: true, // main prints the error, once
		SilenceUsage:  true, // a page of usage would push the error off the screen

		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(flagError)
	addHelp(root)
	addVersionFlag(root)
	root.SetUsageTemplate(root.UsageTemplate() + "\n")
	root.AddCommand(
		serveCommand(environ),
		checkCommand(environ),
		countCommand(environ),
		explainCommand(environ),
		modelsCommand(environ),
		demoCommand(environ),
		versionCommand(),
	)
	return root
}

// usageError is a mistake in the command line or the configuration: nothing was
// started, and the same call would fail again.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitStatus is 0 for success, 2 for mistakes in the command line or the
// configuration, and 1 for everything else.
func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}
