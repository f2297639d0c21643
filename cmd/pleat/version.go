package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is stamped by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

// userAgent is what Pleat calls itself in requests of its own.
func userAgent() string { return "pleat/" + version }

// addVersionFlag answers --version as well as the command version: it is what
// one tries first.
func addVersionFlag(root *cobra.Command) {
	info, _ := debug.ReadBuildInfo()
	root.Version = versionLine(version, info)
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "as the command version")
	root.Flags().Lookup("version").Hidden = true // the list of commands says it
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of Pleat and what it was built from",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine(version, info))
			return err
		},
	}
}

// versionLine is version, revision and tool chain in one line. info may be nil:
// a binary can be built without it.
func versionLine(version string, info *debug.BuildInfo) string {
	revision, modified := "", ""
	if info != nil {
		// `go install module@version` stamps no variable but knows its version.
		if v := info.Main.Version; version == "dev" && v != "" && v != "(devel)" {
			version = v
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = ", revision " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = " (modified)"
			}
		}
	}
	if revision == "" {
		modified = ""
	}
	return fmt.Sprintf("pleat %s%s%s, %s %s/%s", version, revision, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
