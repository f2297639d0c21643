package tokens

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"
)

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
	for _, e := range encodings() {
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

func FuzzCount(f *testing.F) {
	for _, seed := range []string{
		"", "hello", "\xff\xfe", "a\u0301\u0301!/\n/\n", strings.Repeat("ab ", 400), strings.Repeat("z", 2000),
	} {
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
