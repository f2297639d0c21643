package tokens

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dlclark/regexp2"
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
	for _, tt := range tests {
		for range 2 { // found, then cached
			e := counter().For(tt.model)
			if e.Name() != tt.encoding || e.Exact() != tt.exact {
				t.Errorf("For(%.60q) = %s, exact %t; want %s, %t", tt.model, e.Name(), e.Exact(), tt.encoding, tt.exact)
			}
		}
	}
	if n := counter().models.Len(); n > len(tests) {
		t.Errorf("%d models cached", n)
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

// hostile are texts that byte-pair merging by itself takes minutes over, or
// that are no text, with what they cost a real tokenizer at the least and the
// most. They are about size bytes long.
func hostile(size int) map[string]struct {
	text     string
	min, max int
} {
	random := make([]byte, size/4) // shorter: these are counted whole
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(random)
	return map[string]struct {
		text     string
		min, max int
	}{
		"one letter":      {strings.Repeat("a", size), size / 16, size / 2},
		"one capital":     {strings.Repeat("A", size), size / 32, size / 2},
		"spaces":          {strings.Repeat(" ", size), size / 512, size / 16},
		"line breaks":     {strings.Repeat("\n", size), size / 512, size / 2},
		"base64":          {base64.StdEncoding.EncodeToString(random), size / 8, size / 3},
		"digits":          {strings.Repeat("1234567890", size/10), size / 3, size/2 + 1},
		"slash and break": {strings.Repeat("/\n", size/2), size / 64, size},
		"dashes":          {strings.Repeat("-", size), size / 256, size / 16},
		"marks":           {strings.Repeat("\u0301", size/2), size / 8, size},
		"marked signs":    {strings.Repeat("!\u0301", size/3), size / 8, size},
		"han":             {strings.Repeat("漢", size/3), size / 8, size},
		"not UTF-8":       {strings.Repeat("\xff", size), size / 16, 3 * size},
		"random":          {string(random), size / 16, size},
	}
}

// Whatever the text, no piece that is merged is long, and no more bytes are
// encoded than there are: that is what bounds the time.
func TestWorkIsBounded(t *testing.T) {
	for name, tt := range hostile(1 << 16) {
		t.Run(name, func(t *testing.T) {
			encoded, whole := 0, 0
			for p := range parts(tt.text) {
				encoded += len(p.text) + len(p.sample)
				whole += len(p.text) + p.rest
				if piece := longestPiece(t, p.text); piece > 2*maxRun+8 {
					t.Fatalf("a piece of %d bytes", piece)
				}
			}
			valid := string([]rune(tt.text))
			if whole != len(valid) {
				t.Errorf("parts account for %d bytes of %d", whole, len(valid))
			}
			if encoded > len(valid) {
				t.Errorf("%d bytes encoded of %d", encoded, len(valid))
			}
		})
	}
}

func TestHostileTextGetsASaneCount(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds under the race detector")
	}
	for name, tt := range hostile(1 << 20) {
		n := counter().For("gpt-4o").Count(tt.text)
		if n < tt.min || n > tt.max {
			t.Errorf("%s: %d tokens, want %d to %d", name, n, tt.min, tt.max)
		}
	}
}

// longestPiece is the length, in bytes, of the longest piece that any
// encoding's pattern finds in text.
func longestPiece(t *testing.T, text string) int {
	longest := 0
	for _, e := range encodings {
		pattern := regexp2.MustCompile(e.pattern, regexp2.None)
		m, err := pattern.FindStringMatch(text)
		for ; m != nil && err == nil; m, err = pattern.FindNextMatch(m) {
			longest = max(longest, len(m.String()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return longest
}

func TestLongRunIsExtrapolated(t *testing.T) {
	e := counter().For("gpt-4o")
	head := e.Count(strings.Repeat("ab", maxRun/2))
	text := "Before: " + strings.Repeat("ab", 50*maxRun/2) + " and after."
	want := e.Count("Before:") + 50*head + e.Count(" and after.")
	if got := e.Count(text); got < want-2 || got > want+2 {
		t.Errorf("Count = %d, want about %d", got, want)
	}
}

// Cutting at natural breaks changes nothing: ordinary text counts as it does
// in one call of tiktoken-go.
func TestOrdinaryTextIsExact(t *testing.T) {
	texts := corpusTexts(t)
	for _, model := range []string{"gpt-4o", "gpt-4", "old1"} {
		e := counter().For(model)
		bpe, err := e.vocabulary.load()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if got, want := e.Count(text), len(bpe.EncodeOrdinary(text)); got != want {
				t.Fatalf("%s: %d tokens, tiktoken-go says %d, of %d bytes", e.Name(), got, want, len(text))
			}
		}
	}
}

// corpusTexts returns about a MB of message texts without long runs, several of
// them longer than a part; words of many scripts where the corpora are absent.
func corpusTexts(t *testing.T) []string {
	words := strings.Fields("the  quick brown\n\nfox — 漢字 かな हिन्दी العربية can't 12345 {}\n/ x\ty 🙂🙂 naïve I'LL")
	rng := rand.New(rand.NewPCG(1, 2))
	var made strings.Builder
	for made.Len() < 5*maxPart {
		made.WriteString(words[rng.IntN(len(words))])
		made.WriteString([]string{" ", " ", "  ", "\n", "", "\u00a0", "\r\n", "/\n"}[rng.IntN(8)])
	}
	texts := []string{made.String()}

	dir := os.Getenv("PLEAT_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "conversations", "*", "*1.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var conversation struct {
			Messages []struct{ Content any }
		}
		if err := json.Unmarshal(data, &conversation); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		total := 0
		for _, m := range conversation.Messages {
			text, _ := m.Content.(string)
			if text == "" || total+len(text) > 2*maxPart || hasLongRun(text) {
				continue
			}
			total += len(text)
			texts = append(texts, text)
		}
	}
	return texts
}

func hasLongRun(text string) bool {
	for p := range parts(text) {
		if p.rest > 0 {
			return true
		}
	}
	return false
}

func TestConcurrentUse(t *testing.T) {
	c, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, model := range []string{"gpt-4o", "gpt-4", "claude", "gpt-oss-20b"} {
				if n := c.For(model).Count("hello world"); n != 2 {
					t.Errorf("%s: %d tokens", model, n)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCount(f *testing.F) {
	for _, seed := range []string{"", "hello", "\xff\xfe", "a\u0301\u0301!/\n/\n", strings.Repeat("ab ", 400), strings.Repeat("z", 2000)} {
		f.Add(seed)
	}
	e := counter().For("gpt-4o")
	f.Fuzz(func(t *testing.T, text string) {
		n := e.Count(text)
		valid := string([]rune(text))
		if n < 0 || n > len(valid) || (text != "" && n == 0) {
			t.Errorf("%d tokens of %d bytes", n, len(valid))
		}
		whole := 0
		for p := range parts(text) {
			whole += len(p.text) + p.rest
		}
		if whole != len(valid) {
			t.Errorf("parts account for %d bytes of %d", whole, len(valid))
		}
	})
}

func BenchmarkCount(b *testing.B) {
	e := counter().For("gpt-4o")
	texts := map[string]string{
		"prose":  strings.Repeat("The quick brown fox jumps over the lazy dog, and then it can't sleep. ", 1<<20/71),
		"letter": strings.Repeat("a", 1<<20),
		"runs":   strings.Repeat(strings.Repeat("q", maxRun+1)+" ", 1<<20/(maxRun+2)),
		"base64": hostile(1 << 20)["base64"].text,
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				e.Count(text)
			}
		})
	}
}
