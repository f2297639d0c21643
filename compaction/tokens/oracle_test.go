package tokens

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	published "github.com/pkoukk/tiktoken-go-loader"
)

// oracles returns tiktoken-go's own encoders by our encodings' names, patterns
// and all. tiktoken-go has no o200k_harmony, whose ordinary text is o200k_base's.
var oracles = sync.OnceValue(func() map[string]*tiktoken.Tiktoken {
	tiktoken.SetBpeLoader(published.NewOfflineLoader()) // its own one downloads
	byName := map[string]*tiktoken.Tiktoken{}
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"} {
		oracle, err := tiktoken.GetEncoding(name)
		if err != nil {
			panic(err)
		}
		byName[name] = oracle
	}
	byName["o200k_harmony"] = byName["o200k_base"]
	return byName
})

// counters returns an Encoder for each encoding.
var counters = sync.OnceValue(func() []Encoder {
	loaders := newLoaders()
	var all []Encoder
	for _, e := range encodings() {
		if e.name != "o200k_harmony" { // the same as o200k_base, as a test says
			all = append(all, Encoder{name: e.name, exact: true, load: loaders[e.name], fallback: loaders[e.name]})
		}
	}
	return all
})

func encoderOf(name string) Encoder {
	for _, e := range counters() {
		if e.name == name {
			return e
		}
	}
	panic(name)
}

// compare checks a text's count in all encodings against tiktoken-go's.
func compare(t *testing.T, text string) {
	t.Helper()
	for _, e := range counters() {
		want := len(oracles()[e.name].EncodeOrdinary(text))
		if got := e.Count(text); got != want {
			t.Errorf("%s: %d tokens, tiktoken-go says %d, of %s", e.name, got, want, quote(text))
		}
	}
}

// quote shows a made-up text, or the beginning of a long one.
func quote(text string) string {
	quoted := []rune(strings.ToValidUTF8(text, "?"))
	if len(quoted) > 200 {
		return string(quoted[:200]) + "…"
	}
	return string(quoted)
}

// document is one of the shared conversations and recordings.
type document struct {
	name string
	raw  string
	text string // its strings
}

// corpora returns the documents of the shared corpora, at most limit of each
// directory unless it is 0; none where the corpora are not at hand.
func corpora(t testing.TB, limit int) []document {
	t.Helper()
	root := os.Getenv("PLEAT_CORPORA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	dirs, err := filepath.Glob(filepath.Join(root, "conversations", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if wire, err := filepath.Glob(filepath.Join(root, "wire", "*")); err == nil {
		dirs = append(dirs, wire...)
	}
	var all []document
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if limit > 0 && len(files) > limit {
			files = files[:limit]
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				continue // a directory
			}
			name := filepath.Join(filepath.Base(dir), filepath.Base(file))
			all = append(all, document{name, string(data), strings.Join(stringsOf(data), "\n")})
		}
	}
	return all
}

// stringsOf returns all strings in a JSON document, keys included, or the
// whole of what is no JSON.
func stringsOf(data []byte) []string {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	var found []string
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		if text, ok := token.(string); ok {
			found = append(found, text)
		}
	}
	if len(found) == 0 {
		return []string{string(data)}
	}
	return found
}
