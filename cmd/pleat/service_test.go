package main

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
	"github.com/pleat-proxy/pleat/compaction/tokens"
	"github.com/pleat-proxy/pleat/compaction/window"
)

// TestCompactionOptions: each option about folding arrives where folding reads it.
func TestCompactionOptions(t *testing.T) {
	trigger, err := compaction.ParseTrigger("50%")
	if err != nil {
		t.Fatal(err)
	}
	got := compactionOptions(mustLoad(t, "", nil,
		"--trigger=50%", "--scope=steps", "--keep-first=1", "--tool-results=shorten", "--tool-results-keep=3",
		"--tool-results-exempt=read_plan,list_files", "--tokens-cache=5000", "--summarizer-models=small,same", "--summarizer-api-key=sk-1",
		"--summarizer-share=10%", "--summarizer-timeout=15s", "--summarizer-workers=7", "--summarizer-queue=9",
		"--summarizer-memory=1GiB", "--store-fold-ttl=48h", "--store-session-ttl=2h",
		"--overflow-policy=report", "--overflow-wait=5s"))
	want := compaction.Options{
		Trigger: trigger, Scope: compaction.ScopeSteps, KeepFirst: 1, CountCache: 5000,
		ToolResults: compaction.ToolResults{Shorten: true, Keep: 3, Exempt: []string{"read_plan", "list_files"}}, Models: []string{"small", "same"}, OwnKey: true,
		Share: 0.1, Timeout: 15 * time.Second, Workers: 7, Queue: 9,
		JobBytes: 1 << 30, FoldLife: 48 * time.Hour, CounterLife: 2 * time.Hour,
		Overflow: compaction.OverflowReport, OverflowWait: 5 * time.Second,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	byDefault := compactionOptions(mustLoad(t, "", nil))
	if byDefault.OwnKey || byDefault.Scope != compaction.ScopeAuto ||
		byDefault.ToolResults.Shorten || byDefault.KeepFirst != 0 {
		t.Errorf("by default: %+v", byDefault)
	}
}

func TestSummarizerOptions(t *testing.T) {
	transport := &http.Transport{}
	o := summarizerOptions(mustLoad(t, "", nil, "--summarizer-upstream=http://gpu:8000/v1?api-version=1",
		"--summarizer-api-key=sk-1", "--summarizer-retries=0"), transport)
	if o.BaseURL.String() != "http://gpu:8000/v1?api-version=1" || o.APIKey != "sk-1" || o.Retries != -1 {
		t.Errorf("%+v", o)
	}
	if o.Client.Transport != transport {
		t.Error("the summarizer's requests go another way than the rest")
	}
	o = summarizerOptions(mustLoad(t, "", nil), nil)
	if o.BaseURL != nil || o.APIKey != "" || o.Retries != 2 {
		t.Errorf("by default: %+v", o)
	}
}

// TestModelsReachTheirReaders also holds the words for encodings to those that
// compaction/tokens knows.
func TestModelsReachTheirReaders(t *testing.T) {
	models := []modelRule{{Glob: "mine-*", Input: 1000, Output: 200, Encoding: "cl100k_base"}}
	windows, err := window.New(windowRules(models))
	if err != nil {
		t.Fatal(err)
	}
	if l := windows.Lookup("mine-7b"); l.Input != 1000 || l.Output != 200 || l.Source != window.SourceConfig {
		t.Errorf("window: %+v", l)
	}
	for _, name := range encodings() {
		models = append(models, modelRule{Glob: name, Encoding: name})
	}
	counter, err := newCounter(models)
	if err != nil {
		t.Fatal(err)
	}
	if name := counter.For("mine-7b").Name(); name != "cl100k_base" {
		t.Errorf("encoding: %s", name)
	}
	_, err = tokens.New([]tokens.Rule{{Glob: "*", Encoding: "none"}})
	if err == nil || !strings.Contains(err.Error(), "(known: "+strings.Join(encodings(), ", ")+")") {
		t.Errorf("not all of %v are known, or not all that are known: %v", encodings(), err)
	}
}

// TestSameAsReachesItsReaders: a deployment has the window and the encoding of the model behind it,
// unless something else stands beside it.
func TestSameAsReachesItsReaders(t *testing.T) {
	models := []modelRule{
		{Glob: "prod-legacy", SameAs: "gpt-4-32k"},
		{Glob: "prod-odd", SameAs: "gpt-4", Encoding: "p50k_base", Total: 5000},
		{Glob: "prod-claude", SameAs: "claude-sonnet-4-5"},
	}
	windows, err := window.New(windowRules(models))
	if err != nil {
		t.Fatal(err)
	}
	counter, err := newCounter(models)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		model    string
		total    int
		encoding string
		exact    bool
	}{
		{"prod-legacy", 32_768, "cl100k_base", true},
		{"prod-odd", 5_000, "p50k_base", true},
		{"prod-claude", 200_000, "o200k_base", false},
	} {
		l, e := windows.Lookup(want.model), counter.For(want.model)
		if l.Total != want.total || e.Name() != want.encoding || e.Exact() != want.exact {
			t.Errorf("%+v: %+v, %s, exact %t", want, l, e.Name(), e.Exact())
		}
	}
}

// TestTenants: a key of its own gives other names than the derived one, and
// both the same every time.
func TestTenants(t *testing.T) {
	request := newRequest(t, http.MethodPost, "http://pleat/v1/chat/completions", http.NoBody)
	request.Header.Set("Authorization", "Bearer sk-1")
	var names []string
	for _, args := range [][]string{nil, {"--tenant-key=" + strings.Repeat("k", 32)}, {"--upstream=http://gpu:8000/v1"}} {
		for range 2 {
			name, err := newTenants(mustLoad(t, "", nil, args...)).Tenant(request)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	if names[0] != names[1] || names[2] != names[3] {
		t.Errorf("names change: %v", names)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(names))); len(distinct) != 3 {
		t.Errorf("%d distinct names, want 3: %v", len(distinct), names)
	}
}
