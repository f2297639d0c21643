package main

import "github.com/spf13/cobra"

func checkCommand(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Check the configuration, and whether upstream and store can be reached",
		Long: "Check the configuration, and whether upstream and store can be reached. No credential is sent.\n" +
			"The exit status is 2 if the configuration is wrong, 1 if something cannot be reached, else 0.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := load(cmd.Flags(), environ, warnTo(cmd.ErrOrStderr()))
			return err
		},
	}
	addConfigFlags(cmd)
	return cmd
}
