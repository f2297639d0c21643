package compaction

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction/window"
)

func TestExplain(t *testing.T) {
	loadCounter(t)
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	windows, err := window.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	plans := Plans{Tokens: counter, Windows: windows, Trigger: Trigger{tokens: 1024}}
	long := []byte(`{"model":"gpt-4o","messages":` + mustJSON(t, append(talk("why", 8), msg{"user", "go on"})) + `}`)
	tests := map[string]struct {
		body  []byte
		plans func(*Plans)
		due   bool
		why   string
	}{
		"due":         {long, func(*Plans) {}, true, ""},
		"short":       {[]byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`), func(*Plans) {}, false, string(gateTrigger)},
		"one answer":  {[]byte(`{"messages":` + mustJSON(t, append(talk("one", 1), msg{"user", prose("", 6000)})) + `}`), func(p *Plans) { p.Trigger = Trigger{tokens: 64} }, false, string(gateBoundary)},
		"high enough": {long, func(p *Plans) { p.Trigger = Trigger{tokens: 100_000} }, false, string(gateTrigger)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plans := plans
			tc.plans(&plans)
			e, err := plans.Explain(tc.body, "They spoke of the harbour.")
			if err != nil {
				t.Fatal(err)
			}
			if e.Due != tc.due || e.Why != tc.why {
				t.Fatalf("due: %t, because %q", e.Due, e.Why)
			}
			if !tc.due {
				if !bytes.Equal(e.Body, tc.body) || e.Sent != e.Received {
					t.Error("the request was changed")
				}
				return
			}
			if !strings.Contains(string(e.Body), "They spoke of the harbour.") || e.Sent >= e.Received {
				t.Errorf("%d tokens of %d are sent: %.200s", e.Sent, e.Received, e.Body)
			}
			if e.Messages[0].What != "sent" || e.Messages[1].What != "folded" || e.Messages[len(e.Messages)-1].What != "sent" {
				t.Errorf("fates: %v", e.Messages)
			}
		})
	}
	if _, err := plans.Explain([]byte(`{"messages":"my secret"}`), ""); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
