package compaction

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// corporaTable has TestCorporaTable run: it replays every request of every
// conversation, which takes minutes.
var corporaTable = flag.Bool("corpora-table", false, "replay all of the corpora and print the table of docs/benchmarks.md")

// Real conversations, all their requests, at three triggers and two scopes: how
// many tokens come in and go out, by source.
func TestCorporaTable(t *testing.T) {
	if !*corporaTable {
		t.Skip("asked for with -corpora-table")
	}
	var sources []string
	files := map[string][]string{}
	for _, file := range corpora(t) {
		source := filepath.Base(filepath.Dir(file))
		if len(files[source]) == 0 {
			sources = append(sources, source)
		}
		files[source] = append(files[source], file)
	}
	total := make([]outcome, len(corporaTriggers())*2)
	conversations := 0
	var lines []string
	for _, source := range sources {
		row := make([]outcome, len(total))
		for _, file := range files[source] {
			conv := openConversation(t, file)
			for i, trigger := range slices.Repeat(corporaTriggers(), 2) {
				scope := ScopeTurns
				if i >= len(total)/2 {
					scope = ScopeSteps
				}
				s := newScribe(t)
				o := replay(t, conv, replaying{trigger: trigger, scope: scope, share: 0.5, summarizer: s, requests: unthinned})
				o.spent = s.spent()
				row[i].add(o)
				total[i].add(o)
			}
		}
		conversations += len(files[source])
		lines = append(lines, tableRow(source, len(files[source]), row))
	}
	for _, line := range append(lines, tableRow("all", conversations, total)) {
		fmt.Println(line) //nolint:forbidigo // it was asked for
	}
}

func (o *outcome) add(other outcome) {
	o.requests += other.requests
	o.folded += other.folded
	o.received += other.received
	o.sent += other.sent
	o.spent += other.spent
}

// tableRow is what went out of what came in and, behind a plus sign, what
// summaries cost, in percent.
func tableRow(name string, conversations int, row []outcome) string {
	line := fmt.Sprintf("| %s | %d | %d | %d k |", name, conversations, row[0].requests, (row[0].received+500)/1000)
	for _, o := range row {
		whole := float64(max(o.received, 1))
		line += fmt.Sprintf(" %.0f + %.0f |", 100*float64(o.sent)/whole, 100*float64(o.spent)/whole)
	}
	return line
}
