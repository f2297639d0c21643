package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionLine(t *testing.T) {
	built := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.4.0"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	suffix := ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	for _, c := range []struct {
		version string
		info    *debug.BuildInfo
		want    string
	}{
		{"dev", nil, "pleat dev"},
		{"v1.2.3", built, "pleat v1.2.3, revision 0123456789ab (modified)"},
		{"dev", built, "pleat v1.4.0, revision 0123456789ab (modified)"},
		{"dev", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "pleat dev"},
	} {
		if got := versionLine(c.version, c.info); got != c.want+suffix {
			t.Errorf("%q, want %q", got, c.want+suffix)
		}
	}
}

func TestVersionCommand(t *testing.T) {
	for _, spelling := range []string{"version", "--version"} {
		stdout, _, err := runCommand(t, nil, spelling)
		if err != nil || !strings.HasPrefix(stdout, "pleat ") || strings.Count(stdout, "\n") != 1 {
			t.Errorf("%s: %q, %v", spelling, stdout, err)
		}
	}
}
