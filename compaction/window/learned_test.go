package window

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLearnedLimits(t *testing.T) {
	r := resolver(t, Rule{Glob: "fixed", Total: 50_000}, Rule{Glob: "fixed-output", Output: 1_000})
	for _, model := range []string{"gpt-4.1", "fixed", "fixed-output"} {
		if !r.Learn("ann", model, Limits{Total: 32_000}, time.Hour) {
			t.Errorf("%s: nothing was learned", model)
		}
	}
	r.Learn("ann", "gpt-5", Limits{Output: 4_096}, time.Hour)
	tests := map[string]struct {
		tenant, model string
		want          Limits
	}{
		"over the catalogue":    {"ann", "gpt-4.1", Limits{Input: 32_000, Output: 16_384, Total: 32_000, Source: SourceLearned}},
		"case does not count":   {"ann", " GPT-4.1 ", Limits{Input: 32_000, Output: 16_384, Total: 32_000, Source: SourceLearned}},
		"another tenant":        {"bob", "gpt-4.1", Limits{Input: 1_047_576, Output: 16_384, Total: 1_047_576, Source: SourceCatalogue}},
		"another route":         {"ann", "openai/gpt-4.1", Limits{Input: 1_047_576, Output: 16_384, Total: 1_047_576, Source: SourceCatalogue}},
		"a rule stands":         {"ann", "fixed", Limits{Input: 50_000, Total: 50_000, Source: SourceConfig}},
		"a rule on the output":  {"ann", "fixed-output", Limits{Input: 32_000, Output: 1_000, Total: 32_000, Source: SourceLearned}},
		"an output limit alone": {"ann", "gpt-5", Limits{Input: 272_000, Output: 4_096, Total: 400_000, Source: SourceCatalogue}},
	}
	for name, tt := range tests {
		if got := r.LookupFor(tt.tenant, tt.model); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if l := r.Lookup("gpt-4.1"); l.Source != SourceCatalogue {
		t.Errorf("without a tenant: %+v", l)
	}
}

func TestLearnedLimitsAddUp(t *testing.T) {
	r := resolver(t)
	r.Learn("t", "m", Limits{Input: 8_000, Total: 10_000}, time.Hour)
	r.Learn("t", "m", Limits{Output: 2_000}, time.Hour)
	if got, want := r.LookupFor("t", "m"), (Limits{Input: 8_000, Output: 2_000, Total: 10_000, Source: SourceLearned}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.Learn("t", "m", Limits{Total: 4_000}, time.Hour)
	if got, want := r.LookupFor("t", "m"), (Limits{Input: 4_000, Output: 2_000, Total: 4_000, Source: SourceLearned}); got != want {
		t.Errorf("a newer window: %+v, want %+v", got, want)
	}
}

func TestAbsurdLimitsAreNotLearned(t *testing.T) {
	r := resolver(t)
	long := strings.Repeat("x", 300)
	tests := map[string]struct {
		tenant, model string
		l             Limits
		ttl           time.Duration
	}{
		"nothing":                {"t", "m", Limits{}, time.Hour},
		"a status":               {"t", "m", Limits{Total: 255}, time.Hour},
		"a tiny input":           {"t", "m", Limits{Input: 1, Total: 8_000}, time.Hour},
		"a tiny output":          {"t", "m", Limits{Output: 16, Total: 8_000}, time.Hour},
		"more than any":          {"t", "m", Limits{Total: 100_000_001}, time.Hour},
		"negative":               {"t", "m", Limits{Total: -8_000}, time.Hour},
		"input above total":      {"t", "m", Limits{Input: 9_000, Total: 8_000}, time.Hour},
		"output above total":     {"t", "m", Limits{Output: 9_000, Total: 8_000}, time.Hour},
		"no time to live":        {"t", "m", Limits{Total: 8_000}, 0},
		"a tenant of 300 bytes":  {long, "m", Limits{Total: 8_000}, time.Hour},
		"a model of 300 letters": {"t", long, Limits{Total: 8_000}, time.Hour},
	}
	for name, tt := range tests {
		if r.Learn(tt.tenant, tt.model, tt.l, tt.ttl) {
			t.Errorf("%s: learned", name)
		}
		if l := r.LookupFor(tt.tenant, tt.model); l != (Limits{}) {
			t.Errorf("%s: %+v", name, l)
		}
	}
	for _, l := range []Limits{{Total: 256}, {Total: 100_000_000}, {Input: 256, Total: 256}} {
		if !r.Learn("t", "m", l, time.Hour) {
			t.Errorf("%+v: not learned", l)
		}
	}
}

func TestLearnedLimitsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := resolver(t)
		r.Learn("t", "gpt-4o", Limits{Total: 8_000}, time.Hour)
		time.Sleep(time.Hour - 1) //nolint:forbidigo // the clock of a bubble
		if l := r.LookupFor("t", "gpt-4o"); l.Total != 8_000 {
			t.Errorf("before its time: %+v", l)
		}
		time.Sleep(time.Nanosecond) //nolint:forbidigo // as above
		if l := r.LookupFor("t", "gpt-4o"); l.Source != SourceCatalogue {
			t.Errorf("after its time: %+v", l)
		}
		r.Learn("t", "gpt-4o", Limits{Output: 1_000}, time.Hour)
		if l := r.LookupFor("t", "gpt-4o"); l.Total != 128_000 {
			t.Errorf("what had expired was learned again: %+v", l)
		}
	})
}

func TestLearnedLimitsAreBounded(t *testing.T) {
	r := resolver(t)
	for i := range 2 * cachedLearned {
		r.Learn("tenant "+strconv.Itoa(i), "m", Limits{Total: 8_000}, time.Hour)
	}
	if n := r.learned.limits.Len(); n > cachedLearned {
		t.Errorf("%d are kept, want at most %d", n, cachedLearned)
	}
}

// TestConcurrentUse runs all that changes a Resolver beside all that asks it;
// the race detector is the judge.
func TestConcurrentUse(t *testing.T) {
	r := resolver(t, Rule{Glob: "prod-*", SameAs: "gpt-4o"})
	file, err := ParseCatalogue([]byte(`{"mine":{"max_input_tokens":9000}}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				switch i {
				case 0:
					r.SetUpstream([]ModelInfo{{Name: "gpt-4o", Limits: Limits{Total: 1000 + n}}})
				case 1:
					r.SetCatalogue(file)
				case 2:
					r.Learn("t", "gpt-4o", Limits{Total: 5_000}, time.Hour)
				}
				for _, model := range []string{"gpt-4o", "gpt-5", "prod-1", "mine", "nobody's"} {
					r.LookupFor("t", model)
					r.Lookup(model)
					r.Sources("t", model)
				}
			}
		})
	}
	wg.Wait()
	if l := r.Lookup("gpt-4o"); l.Source != SourceUpstream || l.Total != 1049 {
		t.Errorf("the last word was %+v", l)
	}
	if l := r.Lookup("mine"); l.Source != SourceFile {
		t.Errorf("the file's word was %+v", l)
	}
}
