package tokens

import (
	"encoding/base64"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// samples are half a MB each of corpora text of a kind; made text of the same
// kind where the corpora are not at hand.
func samples(b *testing.B) []struct{ name, text string } {
	b.Helper()
	const size = 1 << 19
	documents := corpora(b, 0)
	pick := func(instead string, globs ...string) string {
		var text strings.Builder
		for _, glob := range globs {
			for _, d := range documents {
				if ok, _ := filepath.Match(glob, d.name); ok && text.Len() < size {
					text.WriteString(d.text)
				}
			}
		}
		if text.Len() == 0 {
			return strings.Repeat(instead, size/len(instead))
		}
		cut := min(text.Len(), size)
		for !utf8.ValidString(text.String()[:cut]) {
			cut--
		}
		return text.String()[:cut]
	}
	return []struct{ name, text string }{
		{"english", pick("The quick brown fox can't sleep, and jumps over the lazy dog. ", "memorybank-en/*", "mt-bench/*", "who-and-when-captain/*", "taskmaster4/*")},
		{"code", pick("\tif err := f(x[i]); err != nil {\n\t\treturn fmt.Errorf(\"f: %w\", err)\n\t}\n", "pi-coding-session/*", "swe-agent/*", "openhands/*")},
		{"chinese", pick("我昨天去图书馆借了三本书,今天看完一本。", "memorybank-cn/*", "kdconv-zh/*", "xpersona-zh/*")},
		{"mixed", pick("Hello, 世界! Καλημέρα, как дела? العربية 123 🙂\n", "wire-derived/*", "dhakira-ar/*", "xpersona-it/*", "intercode-ctf/*", "tau-bench-airline/*")},
	}
}

// BenchmarkCount measures Count against tiktoken-go on the same text in the
// same run: x/tiktoken-go is how many times faster it is. They take turns of
// about the same length, so that a busy machine slows both.
func BenchmarkCount(b *testing.B) {
	const turns, perTurn = 5, 40
	for _, name := range []string{"o200k_base", "cl100k_base", "r50k_base"} {
		e, oracle := encoderOf(name), oracles()[name]
		for _, sample := range samples(b) {
			b.Run(name+"/"+sample.name, func(b *testing.B) {
				var got, want int
				var theirs, ours time.Duration
				for range turns {
					start := time.Now()
					want = len(oracle.EncodeOrdinary(sample.text))
					theirs += time.Since(start)
					start = time.Now()
					for range perTurn {
						got = e.Count(sample.text)
					}
					ours += time.Since(start)
				}
				if got != want {
					b.Fatalf("%d tokens, tiktoken-go says %d", got, want)
				}
				b.SetBytes(int64(len(sample.text)))
				b.ReportAllocs()
				for b.Loop() {
					e.Count(sample.text)
				}
				b.ReportMetric(float64(theirs)*perTurn/float64(ours), "x/tiktoken-go")
			})
		}
	}
}

// BenchmarkLongPiece measures text without the breaks at which it would be cut
// into pieces; ns/B stays as it is from one size to the next.
func BenchmarkLongPiece(b *testing.B) {
	for _, size := range []int{1 << 16, 1 << 18, 1 << 20, 1 << 22} {
		for _, run := range longRuns(size) {
			b.Run(run.name+"/"+sizeName(size), func(b *testing.B) {
				e := encoderOf(DefaultEncoding)
				e.Count("loads the vocabulary")
				b.SetBytes(int64(len(run.text)))
				b.ReportAllocs()
				for b.Loop() {
					e.Count(run.text)
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(run.text)), "ns/B")
			})
		}
	}
}

func sizeName(size int) string { return strconv.Itoa(size>>10) + "KB" }

// longRuns are texts of the given size, in bytes, that are hard to merge.
func longRuns(size int) []struct{ name, text string } {
	random := rand.NewChaCha8([32]byte{7})
	noise := make([]byte, size)
	_, _ = random.Read(noise)
	letters := make([]byte, size)
	for i, b := range noise {
		letters[i] = 'a' + b%26
	}
	return []struct{ name, text string }{
		{"letter", strings.Repeat("a", size)},
		{"spaces", strings.Repeat(" ", size)},
		{"base64", base64.StdEncoding.EncodeToString(noise)[:size]},
		{"letters", string(letters)},
		{"han", strings.Repeat("漢", size/3)},
		{"invalid", string(noise)},
	}
}

// BenchmarkLoad measures loading each vocabulary, and what stays in memory.
func BenchmarkLoad(b *testing.B) {
	for _, e := range encodings() {
		b.Run(e.name, func(b *testing.B) {
			var kept *vocabulary
			before := heap()
			for b.Loop() {
				v, err := newLoaders()[e.name]()
				if err != nil {
					b.Fatal(err)
				}
				kept = v
			}
			b.ReportMetric((heap()-before)/(1<<20), "MB-kept")
			runtime.KeepAlive(kept)
		})
	}
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
