package scripted

import (
	"fmt"
	"strings"
	"testing"
)

const transcript = `[1] user:
Hello there, good morning to you. We move the orders table from db-7 to the cluster at orders.internal on 14 March.
[2] assistant (Ada):
Understood. The table holds 48,200,113 rows and Priya Raman approves the switch.
[3] user:
Thanks a lot for that. The rollback script is scripts/rollback_orders.sh and it must finish in 20 minutes.
`

func TestExtract(t *testing.T) {
	for _, bound := range []int{0, 1, 5, 12, 20, 40, 400} {
		summary := Extract(transcript, bound, byWords)
		if n := byWords(summary); n > bound {
			t.Errorf("%d tokens, at most %d asked: %q", n, bound, summary)
		}
		if bound > 1 && summary == "" {
			t.Errorf("nothing for %d tokens", bound)
		}
		if again := Extract(transcript, bound, byWords); again != summary {
			t.Errorf("two runs differ: %q, %q", summary, again)
		}
		for word := range strings.FieldsSeq(summary) {
			if !strings.Contains(transcript, word) {
				t.Errorf("%q is not in the transcript", word)
			}
		}
	}
	summary := Extract(transcript, 50, byWords)
	for _, fact := range []string{"db-7", "orders.internal", "14 March", "48,200,113", "Priya Raman", "scripts/rollback_orders.sh", "20 minutes"} {
		if !strings.Contains(summary, fact) {
			t.Errorf("%q is lost in %q", fact, summary)
		}
	}
	for _, noise := range []string{"Hello", "user:", "[2]", "Thanks"} {
		if strings.Contains(summary, noise) {
			t.Errorf("%q takes room in %q", noise, summary)
		}
	}
	if strings.Index(summary, "db-7") > strings.Index(summary, "rollback_orders") {
		t.Errorf("out of order: %q", summary)
	}
}

func TestExtractWithoutFacts(t *testing.T) {
	if got := Extract("user:\nso it goes on and on.\n", 4, byWords); got != "so it goes on" && got != "so it goes" {
		t.Errorf("got %q, want the beginning", got)
	}
	for _, blank := range []string{"", " \n\n", "=====\n"} {
		if got := Extract(blank, 100, byWords); got != "" {
			t.Errorf("Extract(%q) = %q", blank, got)
		}
	}
}

func TestExtractOfMuch(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "[%d] user:\nItem item-%d costs %d crowns at Stall %d.\n", i, i, i*7, i%9)
	}
	if n := byWords(Extract(b.String(), 60, byWords)); n == 0 || n > 60 {
		t.Errorf("%d tokens", n)
	}
}

func TestFenced(t *testing.T) {
	tests := map[string]string{
		"":                              "",
		"no fence":                      "",
		"===== a\nalone":                "",
		"===== a\ntext\n===== a\n":      "text",
		"x\n===== a\n1\n\n2\n===== a\n": "1\n\n2",
		"===== a\n1\n===== a\n===== b\n2\n===== b\n": "2",
		"===== a\n===== b\nt\n===== a":               "===== b\nt",
	}
	for question, want := range tests {
		if got := Fenced(question); got != want {
			t.Errorf("Fenced(%q) = %q, want %q", question, got, want)
		}
	}
}
