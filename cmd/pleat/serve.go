package main

import (
	"github.com/spf13/cobra"
)

func serveCommand(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the proxy",
		Long: "Run the proxy until it is told to stop by SIGTERM or Ctrl-C. Answers that are running then may\n" +
			"finish within limits.shutdown; a second signal ends Pleat at once.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c, newLogger(c.Log, cmd.ErrOrStderr()), func(*lifecycle) {})
		},
	}
	addConfigFlags(cmd)
	return cmd
}
