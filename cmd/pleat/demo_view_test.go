package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// show writes two turns and a chart.
func show(t *testing.T, colour bool, cost demoCost) string {
	t.Helper()
	trigger, err := compaction.ParseTrigger("2000")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	v := newDemoView(&out, colour, 3000)
	v.intro(2, trigger, "Nobody answers.")
	v.turn(demoResult{turn: 1, received: 1100, sent: 1100, prompt: 1000, status: "pending", added: time.Millisecond})
	v.turn(demoResult{
		turn: 2, received: 2900, sent: 900, prompt: 1000, cached: 128,
		folded: 12, status: "folded", added: 2500 * time.Microsecond,
	})
	v.chart(cost)
	return out.String()
}

func TestDemoViewGolden(t *testing.T) {
	golden(t, "testdata/demo.view.txt", show(t, false, demoCost{summaries: 2, prompt: 700, completion: 50}))
}

func TestDemoViewOfALoss(t *testing.T) {
	text := show(t, false, demoCost{summaries: 9, prompt: 70_000, completion: 500})
	if !strings.Contains(text, " -68,500  -1712.5%\n") {
		t.Errorf("a loss is not shown as one:\n%s", text)
	}
}

func TestDemoViewInColour(t *testing.T) {
	text := show(t, true, demoCost{})
	if strings.Count(text, "\x1b[0m") != strings.Count(text, "\x1b[")/2 || !strings.Contains(text, "\x1b[32m█") {
		t.Errorf("colours do not end where they should: %q", text)
	}
	plain := text
	for _, code := range []string{demoGreen, demoFaint, demoBold, "33", "0"} {
		plain = strings.ReplaceAll(plain, "\x1b["+code+"m", "")
	}
	if plain != show(t, false, demoCost{}) {
		t.Error("with colour the text is another")
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 48200113: "48,200,113", -1234: "-1,234", 100000: "100,000"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
}
