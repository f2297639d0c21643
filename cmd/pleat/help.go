package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide a line of help may be, in columns.
const helpWidth = 100

// addHelp gives the command and all below it their ways to ask for help. The
// flag is left out of the lists of flags: whoever reads one has found it.
func addHelp(root *cobra.Command) {
	root.PersistentFlags().BoolP("help", "h", false, "what the command does, and its flags")
	root.PersistentFlags().Lookup("help").Hidden = true
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [command]",
		Short: "Say what a command does, and its flags",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if err := knownCommand(cmd.Root(), rest); err != nil {
				return err
			}
			return target.Help()
		},
	})
}

// addConfigFlags gives a command its own flags and those of all options, and
// help that shows them by group.
func addConfigFlags(cmd *cobra.Command, own ...flagGroup) {
	groups := slices.Concat(own, flagGroups())
	for _, g := range groups {
		cmd.Flags().AddFlagSet(g.flags)
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		writeConfigHelp(cmd.OutOrStdout(), cmd, groups)
	})
}

// flagGroup is one heading of help and the flags below it.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

func flagGroups() []flagGroup {
	file := flagGroup{"Configuration", pflag.NewFlagSet("", pflag.ContinueOnError)}
	file.flags.Var(&text{kind: "path"}, configFlag, "YAML file with the options below (variable "+configVariable+")")
	groups := []flagGroup{file}
	for _, g := range optionTable(new(Config)) {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, o := range g.options {
			if o.flag() != "" {
				set.VarPF(&text{kind: o.kind.name, text: o.def}, o.flag(), "", o.help).DefValue = o.def
			}
		}
		groups = append(groups, flagGroup{g.title, set})
	}
	return groups
}

func writeConfigHelp(w io.Writer, cmd *cobra.Command, groups []flagGroup) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", cmd.Long, cmd.UseLine())
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(`
Each option is also a key of the file and a variable: --log-level is log.level and PLEAT_LOG_LEVEL.
Flags win over variables, variables over the file. Models' limits (models) are set in the file only.
All keys, units and ranges: docs/configuration.md.`))
}

// text is a flag that keeps what was written; load reads it. A later flag
// replaces an earlier one of the same name.
type text struct{ kind, text string }

func (t *text) Set(s string) error { t.text = s; return nil }
func (t *text) String() string     { return t.text }
func (t *text) Type() string       { return t.kind }
