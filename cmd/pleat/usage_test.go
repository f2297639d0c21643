package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestServeHelpGolden(t *testing.T) {
	stdout, _, err := runCommand(t, nil, "serve", "--help")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/serve.help.txt", stdout)
}

// TestErrorLinesGolden reads testdata/errors.txt: each line that begins with a
// dollar sign is a command, possibly behind variables, and the lines below it
// are what it ends with. A new case needs the command only; -update fills in
// the rest, to be read by whoever adds it.
func TestErrorLinesGolden(t *testing.T) {
	const path = "testdata/errors.txt"
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(script)) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			if strings.HasPrefix(line, "#") || line == "\n" {
				got.WriteString(line)
			}
			continue
		}
		got.WriteString(line)
		environ, args := splitCommand(t, strings.TrimSpace(command))
		_, stderr, err := runCommand(t, environ, args...)
		if err == nil {
			t.Errorf("%s: no error", command)
			continue
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is not one line: %q", command, err)
		}
		if status := exitStatus(err); status != 2 {
			t.Errorf("%s: exit status %d, not 2", command, status)
		}
		lines := fmt.Sprintf("%spleat: %v\n", stderr, err)
		if strings.Contains(lines, "hunter2") || strings.Contains(lines, "sk-very-secret") {
			t.Errorf("%s: a secret is shown: %s", command, lines)
		}
		got.WriteString(lines)
	}
	golden(t, path, got.String())
}

// splitCommand takes a command line of words without spaces apart.
func splitCommand(t *testing.T, line string) (environ, args []string) {
	t.Helper()
	words := strings.Fields(line)
	for len(words) > 0 && words[0] != "pleat" {
		environ, words = append(environ, words[0]), words[1:]
	}
	if len(words) == 0 {
		t.Fatalf("no pleat in %q", line)
	}
	return environ, words[1:]
}

// runCommand runs a command line in a world that ends at once, so that nothing
// which starts by mistake stays.
func runCommand(t *testing.T, environ []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, complaints bytes.Buffer
	err = run(ctx, args, environ, &out, &complaints)
	return out.String(), complaints.String(), err
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("the network is down"), 1},
		{usagef("a slip"), 2},
		{fmt.Errorf("wrapped: %w", usagef("a slip")), 2},
	} {
		if got := exitStatus(c.err); got != c.want {
			t.Errorf("exitStatus(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"listen", "log.level", "limits.body", "limits.body_timeout", "summarizer.timeout"}
	for _, c := range []struct{ name, want string }{
		{"lisen", "listen"},
		{"LISTEN", "listen"},
		{"log_level", "log.level"},
		{"limits.body_timout", "limits.body_timeout"},
		{"timeout", "summarizer.timeout"},
		{"body_timeout", "limits.body_timeout"},
		{"redis", ""},
		{"x", ""},
		{"", ""},
	} {
		if got := nearest(c.name, names); got != c.want {
			t.Errorf("nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
