package main

import (
	"flag"
	"os"
	"testing"
)

// update rewrites the golden files instead of comparing with them:
//
//	go test ./cmd/pleat -run Golden -update
var update = flag.Bool("update", false, "rewrite golden files and docs/configuration.md")

// golden compares got with the file, or makes it the file's content.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the code makes (rewrite it with -update and read the difference):\n%s", path, got)
	}
}
