package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/pleat-proxy/pleat/store/redisstore"
)

func serveCommand(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the proxy",
		Long: "Run the proxy until it is told to stop by SIGTERM or Ctrl-C. It then goes on taking requests for\n" +
			"limits.drain, which a second signal cuts short, and lets running answers finish within\n" +
			"limits.shutdown; a signal during that ends Pleat at once.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, stopSignals()...)
			defer signal.Stop(signals)
			log := newLogger(c.Log, cmd.ErrOrStderr())
			redisstore.SendClientLog(log)
			return serve(cmd.Context(), c, log, func(l *lifecycle) { l.signals = signals })
		},
	}
	addConfigFlags(cmd)
	return cmd
}
