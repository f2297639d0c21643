package window

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestEachSourceOverridesTheNext takes the sources away one after the other.
func TestEachSourceOverridesTheNext(t *testing.T) {
	const model = "gpt-4o"
	r := resolver(t, Rule{Glob: model, Total: 10_000})
	withoutRule := resolver(t)
	file, err := ParseCatalogue([]byte(`{"gpt-4o": {"max_input_tokens": 40000, "max_output_tokens": 4000, "mode": "chat"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Resolver{r, withoutRule} {
		r.SetCatalogue(file)
		r.SetUpstream([]ModelInfo{{Name: model, Limits: Limits{Total: 30_000}}})
		r.Learn("t", model, Limits{Total: 20_000}, time.Hour)
	}
	expect := func(r *Resolver, tenant string, total int, source string) {
		t.Helper()
		if l := r.LookupFor(tenant, model); l.Total != total || l.Input != total || l.Source != source {
			t.Errorf("%+v, want %d from %s", l, total, source)
		}
	}
	if n := r.Names(); n[SourceConfig] != 1 || n[SourceUpstream] != 1 || n[SourceFile] != 1 || n[SourceCatalogue] < 500 {
		t.Errorf("Names: %v", n)
	}
	expect(r, "t", 10_000, SourceConfig)
	expect(withoutRule, "t", 20_000, SourceLearned)
	expect(withoutRule, "another", 30_000, SourceUpstream)
	withoutRule.SetUpstream(nil)
	expect(withoutRule, "another", 40_000, SourceFile)
	withoutRule.SetCatalogue(nil)
	expect(withoutRule, "another", 128_000, SourceCatalogue)

	var sources []string
	for _, l := range r.Sources("t", model) {
		sources = append(sources, l.Source)
	}
	want := []string{SourceConfig, SourceLearned, SourceUpstream, SourceFile, SourceCatalogue}
	if !slices.Equal(sources, want) {
		t.Errorf("Sources: %v, want %v", sources, want)
	}
}

// TestOutputComesFromWhoeverStatesIt: a source that knows the window alone
// leaves the output limit to the next.
func TestOutputComesFromWhoeverStatesIt(t *testing.T) {
	r := resolver(t)
	file, err := ParseCatalogue([]byte(`{"m": {"max_input_tokens": 40000, "max_output_tokens": 8000}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.SetCatalogue(file)
	r.SetUpstream([]ModelInfo{{Name: "m", Limits: Limits{Total: 32_000}}})
	if l, want := r.Lookup("m"), (Limits{Input: 32_000, Output: 8_000, Total: 32_000, Source: SourceUpstream}); l != want {
		t.Errorf("%+v, want %+v", l, want)
	}
	r.Learn("t", "m", Limits{Total: 4_000}, time.Hour)
	if l, want := r.LookupFor("t", "m"), (Limits{Input: 4_000, Output: 4_000, Total: 4_000, Source: SourceLearned}); l != want {
		t.Errorf("an output above the window: %+v, want %+v", l, want)
	}
}

func TestSameAs(t *testing.T) {
	r := resolver(t,
		Rule{Glob: "prod-small", SameAs: "gpt-4o-mini", Total: 16_000},
		Rule{Glob: "prod-*", SameAs: "azure/gpt-5"},
		Rule{Glob: "loop", SameAs: "loop"},
		Rule{Glob: "gpt-4.1", SameAs: "gpt-4o"},
		Rule{Glob: "mystery", SameAs: "nobody's"},
	)
	tests := map[string]Limits{
		"prod-eu":    {Input: 272_000, Output: 128_000, Total: 400_000, Source: SourceCatalogue},
		"PROD-us":    {Input: 272_000, Output: 128_000, Total: 400_000, Source: SourceCatalogue},
		"prod-small": {Input: 16_000, Output: 8_192, Total: 16_000, Source: SourceConfig},
		"gpt-4.1":    {Input: 128_000, Output: 8_192, Total: 128_000, Source: SourceCatalogue},
		"loop":       {},
		"mystery":    {},
	}
	for model, want := range tests {
		if got := r.Lookup(model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}

	// What the upstream says of the deployment itself is nearer than what it
	// says of the model, and that is nearer than a catalogue.
	r.SetUpstream([]ModelInfo{{Name: "azure/gpt-5", Limits: Limits{Total: 60_000}}, {Name: "prod-eu", Limits: Limits{Total: 50_000}}})
	for model, total := range map[string]int{"prod-eu": 50_000, "prod-us": 60_000} {
		if l := r.Lookup(model); l.Total != total || l.Source != SourceUpstream {
			t.Errorf("%s: %+v, want %d", model, l, total)
		}
	}
}

// The lessons of other systems that windows touch, by their symptoms.

// TestRealLimitReplacesStaleCatalogue: a catalogue said 1M, the route refused at
// 272,000, and the client waited for a threshold that never came.
func TestRealLimitReplacesStaleCatalogue(t *testing.T) {
	r := resolver(t)
	if before := r.LookupFor("t", "gpt-5.4"); before.Total != 1_050_000 {
		t.Fatalf("the catalogue says %+v", before)
	}
	r.Learn("t", "gpt-5.4", Limits{Input: 272_000}, time.Hour)
	if l := r.LookupFor("t", "gpt-5.4"); l.Input != 272_000 || l.Source != SourceLearned {
		t.Errorf("%+v", l)
	}
}

// TestStaleWindowIsData: a model moved from 128k to 1M; a new file is enough.
func TestStaleWindowIsData(t *testing.T) {
	r := resolver(t)
	for _, total := range []string{"131072", "1000000"} {
		file, err := ParseCatalogue([]byte(`{"alias": {"max_input_tokens": ` + total + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.SetCatalogue(file)
		if l := r.Lookup("alias"); strconv.Itoa(l.Total) != total {
			t.Errorf("%s: %+v", total, l)
		}
	}
}

// TestOneProxyManyWindows: a hard-coded 200k was used for every model.
func TestOneProxyManyWindows(t *testing.T) {
	r := resolver(t, Rule{Glob: "local/*", Total: 32_768})
	for model, total := range map[string]int{"local/any-7b": 32_768, "claude-sonnet-4-5": 200_000, "gpt-4.1": 1_047_576} {
		if l := r.Lookup(model); l.Total != total || l.Source == "" {
			t.Errorf("%s: %+v, want %d", model, l, total)
		}
	}
}

// TestOperatorSetsTheWindowOfAllModels: Ollama's endpoint runs everything at
// 4,096 unless told otherwise, whatever its models could do.
func TestOperatorSetsTheWindowOfAllModels(t *testing.T) {
	r := resolver(t, Rule{Glob: "*", Total: 4_096})
	for _, model := range []string{"llama3.1:8b", "gpt-oss:20b", "anything/at-all"} {
		if l := r.Lookup(model); l.Total != 4_096 || l.Source != SourceConfig {
			t.Errorf("%s: %+v", model, l)
		}
	}
}
