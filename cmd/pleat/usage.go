package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// knownCommand refuses what is left of the command line when no subcommand
// matched.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usagef("%q is no command%s; see pleat --help", args[0], didYouMean(nearest(args[0], names), ""))
}

// warnTo returns a function that writes warnings, one a line.
func warnTo(w io.Writer) func(string) {
	return func(line string) { fmt.Fprintf(w, "pleat: warning: %s\n", line) }
}

// noArguments is for commands that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%s takes no arguments, only flags: %q is in the way", cmd.CommandPath(), args[0])
}

// flagError says in one line what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usageError{err}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if short := unknown.GetSpecifiedShortnames(); short != "" { // to pflag a group of one-letter flags
		name, _, _ := strings.Cut(short, "=")
		meant := nearest(name, names)
		if meant == "" {
			name = unknown.GetSpecifiedName() // one letter: what stands behind it may be a value, and a secret
		}
		return usagef("-%s is no flag of %s%s; flags begin with two dashes", name, cmd.CommandPath(), didYouMean(meant, "--"))
	}
	name := unknown.GetSpecifiedName()
	return usagef("--%s is no flag of %s%s", name, cmd.CommandPath(), didYouMean(nearest(name, names), "--"))
}

// didYouMean is the hint behind a complaint about an unknown name, or nothing
// when no known name is near.
func didYouMean(name, prefix string) string {
	if name == "" {
		return ""
	}
	return " (did you mean " + prefix + name + "?)"
}

// nearest returns the name that was most likely meant: the one with the fewest
// letters to change, at most a third of them (two in a short name). The last
// part of a dotted name is enough to find it. It returns "" when no name is
// near.
func nearest(name string, names []string) string {
	best, fewest := "", max(min(2, len(name)/2), len(name)/3)+1
	for _, candidate := range names {
		if d := distance(name, candidate); d < fewest {
			best, fewest = candidate, d
		}
	}
	if best != "" {
		return best
	}
	for _, candidate := range names {
		if strings.HasSuffix(candidate, "."+name) || strings.HasSuffix(candidate, "-"+name) {
			return candidate
		}
	}
	return ""
}

// distance is how many letters must be inserted, removed or replaced to make b
// of a (Levenshtein), case aside.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
