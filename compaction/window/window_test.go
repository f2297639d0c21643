package window

import (
	"strings"
	"testing"
	"time"
)

func resolver(t *testing.T, rules ...Rule) *Resolver {
	t.Helper()
	r, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryEntryIsSane(t *testing.T) {
	for name, e := range builtIn() {
		l := e.limits
		if l.Input <= 0 || l.Input > l.Total || l.Output < 0 || l.Output > l.Total || l.Source != SourceCatalogue {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestMakerIsBelievedBeforeReseller(t *testing.T) {
	small, large := Limits{Input: 10, Total: 10}, Limits{Input: 20, Total: 20}
	tests := []struct {
		name string
		add  func(c catalogue)
		want Limits
	}{
		{"maker over smaller reseller", func(c catalogue) {
			c.add("some/m-1", small, byReseller)
			c.add("m-1", large, byMaker)
		}, large},
		{"maker's dated name over reseller's exact one", func(c catalogue) {
			c.add("m-1", small, byReseller)
			c.add("m-1-2024-08-06", large, byMaker)
		}, large},
		{"smaller of two resellers", func(c catalogue) {
			c.add("a/m-1", large, byReseller)
			c.add("b/m-1", small, byReseller)
		}, small},
		{"reseller's exact name over its dated one", func(c catalogue) {
			c.add("m-1-0613", small, byReseller)
			c.add("m-1", large, byReseller)
		}, large},
	}
	for _, tt := range tests {
		c := catalogue{}
		tt.add(c)
		for _, model := range []string{"m-1", "some/m-1"} {
			if got := c.find(model); got != tt.want {
				t.Errorf("%s: find(%q) = %+v, want %+v", tt.name, model, got, tt.want)
			}
		}
	}
}

func TestRules(t *testing.T) {
	r := resolver(t,
		Rule{Glob: "said-nothing*"},
		Rule{Glob: "gpt-4o", Total: 32_000},
		Rule{Glob: "gpt-4o*", Total: 64_000},
		Rule{Glob: "gpt-5", Output: 5_000},
		Rule{Glob: "local/*-8b", Input: 6_000, Output: 1_000, Total: 8_000},
		Rule{Glob: "said-*", Input: 7_000},
		Rule{Glob: "gpt-4.1", Total: 4_000},
		Rule{Glob: "Mixed-?ase", Total: 9},
	)
	tests := []struct {
		model string
		want  Limits
	}{
		{"gpt-4o", Limits{Input: 32_000, Output: 8_192, Total: 32_000, Source: SourceConfig}},
		{"gpt-4o-mini", Limits{Input: 64_000, Output: 8_192, Total: 64_000, Source: SourceConfig}},
		{"openai/gpt-4o", Limits{Input: 128_000, Output: 8_192, Total: 128_000, Source: SourceCatalogue}},
		{"gpt-5", Limits{Input: 272_000, Output: 5_000, Total: 400_000, Source: SourceCatalogue}},
		{"local/meta/llama-8b", Limits{Input: 6_000, Output: 1_000, Total: 8_000, Source: SourceConfig}},
		{"said-nothing-of-total", Limits{Input: 7_000, Source: SourceConfig}},
		{"gpt-4.1", Limits{Input: 4_000, Output: 4_000, Total: 4_000, Source: SourceConfig}},
		{"MIXED-case", Limits{Input: 9, Total: 9, Source: SourceConfig}},
	}
	for _, tt := range tests {
		if got := r.Lookup(tt.model); got != tt.want {
			t.Errorf("Lookup(%q) = %+v, want %+v", tt.model, got, tt.want)
		}
	}
}

func TestRulesThatMakeNoSense(t *testing.T) {
	for _, rule := range []Rule{
		{Glob: "m", Input: -1},
		{Glob: "m", Output: -1},
		{Glob: "m", Total: -1},
		{Glob: "m", Input: 11, Total: 10},
		{Glob: "m", Output: 11, Total: 10},
	} {
		if _, err := New([]Rule{rule}); err == nil || !strings.Contains(err.Error(), `"m"`) {
			t.Errorf("%+v: error %v does not name the rule", rule, err)
		}
	}
}

func TestManyNamesAreNotAllKept(t *testing.T) {
	r := resolver(t)
	for i := range 2 * cachedModels {
		r.Lookup(strings.Repeat("n", i%maxName) + string(rune('a'+i/maxName)))
		r.Lookup(strings.Repeat("n", maxName+i))
	}
	if n := r.known.Load().answers.Len(); n > cachedModels {
		t.Errorf("%d names cached, want at most %d", n, cachedModels)
	}
}

func FuzzLookup(f *testing.F) {
	for _, seed := range []string{"gpt-4o", "ft:a:b", "a/b/c:d", "us.anthropic.x-v1:0", "@", "-latest", "\xff/\x00"} {
		f.Add(seed)
	}
	r, err := New([]Rule{{Glob: "*a*b?", Total: 9}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, model string) {
		if l := r.Lookup(model); l.Input < 0 || l.Output < 0 || (l.Total > 0 && l.Input > l.Total) {
			t.Errorf("Lookup(%q) = %+v", model, l)
		}
	})
}

// BenchmarkNew is what a start waits for; BenchmarkLookup is on every request.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	r, err := New([]Rule{{Glob: "prod-*", SameAs: "gpt-4o"}})
	if err != nil {
		b.Fatal(err)
	}
	r.Learn("t", "gpt-4o", Limits{Total: 32_000}, time.Hour)
	for b.Loop() {
		r.LookupFor("t", "openai/gpt-4o")
	}
}
