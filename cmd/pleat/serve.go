package main

import "github.com/spf13/cobra"

func serveCommand(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the proxy",
		Long:  "Run the proxy until it is told to stop (SIGTERM or Ctrl-C).",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
			return err
		},
	}
	addConfigFlags(cmd)
	return cmd
}
