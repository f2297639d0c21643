package tokens

import (
	"strings"
	"sync"
	"testing"
)

// counter returns one Counter for all tests: a vocabulary is slow to load
// under the race detector.
var counter = sync.OnceValue(func() *Counter {
	c, err := New([]Rule{
		{Glob: "nothing said*", Encoding: ""},
		{Glob: "Acme/*-chat", Encoding: "cl100k_base"},
		{Glob: "acme/*", Encoding: "p50k_base"},
		{Glob: "old?", Encoding: "r50k_base"},
		{Glob: "gpt-4-mine", Encoding: "o200k_base"},
	})
	if err != nil {
		panic(err)
	}
	return c
})

func TestNewNamesTheUnknownEncoding(t *testing.T) {
	_, err := New([]Rule{{Glob: "llama*", Encoding: "llama3"}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"llama*"`, `"llama3"`, "o200k_base, o200k_harmony, cl100k_base"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}

func TestFor(t *testing.T) {
	tests := []struct {
		model, encoding string
		exact           bool
	}{
		{"gpt-4o", "o200k_base", true},
		{"gpt-4o-2024-08-06", "o200k_base", true},
		{"gpt-4o-mini", "o200k_base", true},
		{"chatgpt-4o-latest", "o200k_base", true},
		{"GPT-4o", "o200k_base", true},
		{"openai/gpt-4o", "o200k_base", true},
		{"azure/gpt-4o", "o200k_base", true},
		{"openrouter/openai/gpt-4o:free", "o200k_base", true},
		{"ft:gpt-4o-mini-2024-07-18:acme::abc123", "o200k_base", true},
		{"openai/ft:gpt-3.5-turbo-0125:acme::abc123", "cl100k_base", true},
		{"gpt-4.1", "o200k_base", true},
		{"gpt-4.1-nano-2025-04-14", "o200k_base", true},
		{"gpt-4.5-preview", "o200k_base", true},
		{"gpt-5", "o200k_base", true},
		{"gpt-5.2-codex", "o200k_base", true},
		{"o1", "o200k_base", true},
		{"o1-mini", "o200k_base", true},
		{"o3", "o200k_base", true},
		{"o3-mini-2025-01-31", "o200k_base", true},
		{"o4-mini", "o200k_base", true},
		{"gpt-oss-120b", "o200k_harmony", true},
		{"openai/gpt-oss-20b:free", "o200k_harmony", true},
		{"gpt-4", "cl100k_base", true},
		{"gpt-4-0613", "cl100k_base", true},
		{"gpt-4-turbo-2024-04-09", "cl100k_base", true},
		{"gpt-4-32k", "cl100k_base", true},
		{"gpt-3.5-turbo", "cl100k_base", true},
		{"gpt-3.5-turbo-16k-0613", "cl100k_base", true},
		{"gpt-35-turbo", "cl100k_base", true},
		{"text-davinci-003", "p50k_base", true},

		{"claude-sonnet-4-5", "o200k_base", false},
		{"anthropic/claude-opus-4", "o200k_base", false},
		{"gemini-2.5-pro", "o200k_base", false},
		{"o1js", "o200k_base", false},
		{"gpt4all-j", "o200k_base", false},
		{"", "o200k_base", false},
		{"/", "o200k_base", false},
		{strings.Repeat("x", 10_000), "o200k_base", false},

		{"acme/eu/big-chat", "cl100k_base", true}, // the first rule wins, * takes "/"
		{"ACME/big", "p50k_base", true},
		{"old1", "r50k_base", true},
		{"older1", "o200k_base", false},
		{"gpt-4-mine", "o200k_base", true}, // rules go before families
		{"nothing said here", "o200k_base", false},
	}
	before := counter().models.Len()
	for _, tt := range tests {
		for range 2 { // found, then cached
			e := counter().For(tt.model)
			if e.Name() != tt.encoding || e.Exact() != tt.exact {
				t.Errorf("For(%.60q) = %s, exact %t; want %s, %t", tt.model, e.Name(), e.Exact(), tt.encoding, tt.exact)
			}
		}
	}
	if n := counter().models.Len() - before; n > len(tests) {
		t.Errorf("%d further models cached", n)
	}
}

func TestManyModelsAreNotAllKept(t *testing.T) {
	c := counter()
	for i := range 3 * cachedModels {
		c.For("invented-" + string(rune('a'+i%26)) + strings.Repeat("x", i%200) + string(rune('A'+i/200)))
	}
	if n := c.models.Len(); n > cachedModels {
		t.Errorf("%d models cached, want at most %d", n, cachedModels)
	}
}

// The counts are those that the OpenAI cookbook prints, where it has the text.
func TestCount(t *testing.T) {
	tests := []struct {
		model, text string
		want        int
	}{
		{"gpt-4o", "", 0},
		{"gpt-4o", "hello world", 2},
		{"gpt-4o", "tiktoken is great!", 6},
		{"gpt-4", "tiktoken is great!", 6},
		{"gpt-4o", "antidisestablishmentarianism", 6},
		{"gpt-4", "antidisestablishmentarianism", 6},
		{"old1", "antidisestablishmentarianism", 5},
		{"gpt-4", "お誕生日おめでとう", 9},
		{"gpt-4o", "お誕生日おめでとう", 8},
		{"old1", "お誕生日おめでとう", 14},
		{"gpt-4", "2 + 2 = 4", 7},
		{"old1", "2 + 2 = 4", 5},
	}
	for _, tt := range tests {
		e := counter().For(tt.model)
		if got := e.Count(tt.text); got != tt.want {
			t.Errorf("%s: Count(%q) = %d, want %d", e.Name(), tt.text, got, tt.want)
		}
		if got := e.CountBytes([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: CountBytes(%q) = %d, want %d", e.Name(), tt.text, got, tt.want)
		}
	}
}

func TestSpecialTokensAreText(t *testing.T) {
	for _, model := range []string{"gpt-4o", "gpt-4", "gpt-oss-20b", "old1"} {
		if n := counter().For(model).Count("<|endoftext|>"); n < 2 {
			t.Errorf("%s: <|endoftext|> counts as %d tokens", model, n)
		}
	}
}

func TestZeroEncoderCountsNothing(t *testing.T) {
	if n := (Encoder{}).Count("text"); n != 0 {
		t.Errorf("Count = %d", n)
	}
}

// Those who count at once share tables, and no working memory.
func TestConcurrentUse(t *testing.T) {
	c, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := "Hello, unquestionably! x1234567 don'tPanic " + strings.Repeat("xyzzy", 1000) + strings.Repeat(" ", 5000)
	want := map[string]int{}
	for _, model := range []string{"gpt-4o", "gpt-4", "claude", "gpt-oss-20b"} {
		want[model] = counter().For(model).Count(text)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				for model, want := range want {
					if n := c.For(model).Count(text); n != want {
						t.Errorf("%s: %d tokens, want %d", model, n, want)
					}
				}
			}
		})
	}
	wg.Wait()
}
