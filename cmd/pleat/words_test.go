package main

import "testing"

// TestToggle: a switch takes YAML's words as well as its own, and no others.
func TestToggle(t *testing.T) {
	for text, want := range map[string]bool{"on": true, "true": true, "off": false, "false": false} {
		got := !want
		if err := toggle(&got).parse(text); err != nil || got != want {
			t.Errorf("%q: %t, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "yes", "0", "True", "ON"} {
		if err := toggle(new(bool)).parse(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
