package window

import (
	"strings"
	"sync"
	"testing"
)

func resolver(t *testing.T, rules ...Rule) *Resolver {
	t.Helper()
	r, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLookupInTheCatalogue(t *testing.T) {
	tests := []struct {
		model        string
		input, total int
	}{
		{"gpt-4o", 128_000, 128_000},
		{"GPT-4o", 128_000, 128_000},
		{" gpt-4o ", 128_000, 128_000},
		{"gpt-4o-2024-08-06", 128_000, 128_000},
		{"gpt-4o-20240806", 128_000, 128_000},
		{"gpt-4o-latest", 128_000, 128_000},
		{"chatgpt-4o-latest", 128_000, 128_000},
		{"openai/gpt-4o", 128_000, 128_000},
		{"azure/gpt-4o", 128_000, 128_000},
		{"openrouter/openai/gpt-4o", 128_000, 128_000},
		{"gpt-4o-mini-2024-07-18", 128_000, 128_000},
		{"ft:gpt-4o-mini-2024-07-18:acme::abc123", 128_000, 128_000},
		{"openai/ft:gpt-4o:acme:suffix:abc123", 128_000, 128_000},
		{"gpt-4.1", 1_047_576, 1_047_576},
		{"gpt-4.1-mini-2025-04-14", 1_047_576, 1_047_576},
		{"gpt-4", 8_192, 8_192},
		{"gpt-4-0613", 8_192, 8_192},
		{"gpt-4-32k-0613", 32_768, 32_768},
		{"gpt-4-turbo-2024-04-09", 128_000, 128_000},
		{"gpt-4-1106-preview", 128_000, 128_000},
		{"gpt-3.5-turbo", 16_385, 16_385},
		{"gpt-3.5-turbo-0125", 16_385, 16_385},
		{"gpt-3.5-turbo-0613", 4_096, 4_096},
		{"gpt-35-turbo", 16_385, 16_385},
		{"gpt-5", 272_000, 400_000},
		{"gpt-5-2025-08-07", 272_000, 400_000},
		{"openai/gpt-5-mini", 272_000, 400_000},
		{"gpt-5.1-codex", 272_000, 400_000},
		{"gpt-5.2", 272_000, 400_000},
		{"gpt-5-chat-latest", 128_000, 128_000},
		{"openai/gpt-5-chat", 128_000, 128_000},
		{"gpt-5.4", 1_050_000, 1_050_000},
		{"o1", 200_000, 200_000},
		{"o1-mini-2024-09-12", 128_000, 128_000},
		{"o3", 200_000, 200_000},
		{"o3-mini-2025-01-31", 200_000, 200_000},
		{"o4-mini", 200_000, 200_000},
		{"gpt-oss-20b", 64_000, 64_000},               // its maker is no provider: the smallest of many
		{"openai/gpt-oss-20b:free", 131_072, 131_072}, // a route with a window of its own
		{"claude-sonnet-4-5", 200_000, 200_000},
		{"claude-sonnet-4-5-20250929", 200_000, 200_000},
		{"claude-sonnet-4.5", 200_000, 200_000},
		{"anthropic/claude-sonnet-4.5", 200_000, 200_000},
		{"openrouter/anthropic/claude-opus-4.1", 200_000, 200_000},
		{"claude-opus-4-20250514", 200_000, 200_000},
		{"claude-3-5-sonnet-20241022", 200_000, 200_000},
		{"claude-3-5-sonnet-latest", 200_000, 200_000},
		{"claude-3-5-sonnet@20240620", 200_000, 200_000},
		{"anthropic.claude-3-haiku-20240307-v1:0", 200_000, 200_000},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 200_000},
		{"bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000, 200_000},
		{"gemini-2.5-pro", 1_048_576, 1_048_576},
		{"google/gemini-2.5-flash", 1_048_576, 1_048_576},
		{"gemini-2.0-flash-001", 1_048_576, 1_048_576},
		{"models/gemini-1.5-pro-latest", 2_097_152, 2_097_152},
		{"deepseek/deepseek-v4-pro", 1_000_000, 1_000_000},
		{"moonshot-v1-8k", 8_192, 8_192},
		{"zai-org/GLM-4.6", 204_800, 204_800},
		{"grok-4.3", 200_000, 200_000},
		{"MiniMax-M2", 196_608, 196_608},
		{"mistral-large-2402", 32_000, 32_000},
		{"mistralai/mistral-nemo", 128_000, 128_000},
		{"codestral-2508", 256_000, 256_000},
		{"command-r-08-2024", 128_000, 128_000},
	}
	r := resolver(t)
	for _, tt := range tests {
		for range 2 { // found, then cached
			l := r.Lookup(tt.model)
			if l.Input != tt.input || l.Total != tt.total || l.Source != SourceCatalogue || !l.Known() {
				t.Errorf("Lookup(%q) = %+v, want input %d, total %d", tt.model, l, tt.input, tt.total)
			}
			if l.Output < 0 || l.Output > l.Total {
				t.Errorf("Lookup(%q): output %d of %d", tt.model, l.Output, l.Total)
			}
		}
	}
}

func TestUnknownModels(t *testing.T) {
	r := resolver(t)
	for _, model := range []string{
		"", "/", "ft:", ":", "gpt", "gpt-4o-imaginary", "my-gpt-4o", "gpt-40", "llama", "default",
		strings.Repeat("gpt-4o/", 100) + "gpt-4o",
	} {
		if l := r.Lookup(model); l != (Limits{}) || l.Known() {
			t.Errorf("Lookup(%.40q) = %+v, want nothing", model, l)
		}
	}
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
	if n := r.models.Len(); n > cachedModels {
		t.Errorf("%d names cached, want at most %d", n, cachedModels)
	}
}

func TestConcurrentLookup(t *testing.T) {
	r := resolver(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, model := range []string{"gpt-4o", "gpt-5", "o3", "nobody's"} {
				r.Lookup(model)
			}
		})
	}
	wg.Wait()
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
