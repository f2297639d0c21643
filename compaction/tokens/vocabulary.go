package tokens

import (
	"fmt"
	"strings"
	"sync"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// vocabulary is one encoding's byte-pair merges, loaded at most once, when
// first asked for.
type vocabulary struct {
	load func() (*tiktoken.Tiktoken, error)
}

// The patterns by which text is cut into pieces before its bytes are merged:
// part of each encoding's definition (openai/tiktoken, openai_public.py).
const (
	patternO200K = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternCL100K = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}` +
		`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// encodings lists what there is, in the order in which messages name it.
// o200k_harmony (gpt-oss) has o200k_base's merges and more special tokens,
// which do not matter here, so the two share one vocabulary.
func encodings() []encoding {
	return []encoding{
		{"o200k_base", "o200k_base", patternO200K},
		{"o200k_harmony", "o200k_base", patternO200K},
		{"cl100k_base", "cl100k_base", patternCL100K},
		{"p50k_base", "p50k_base", patternGPT2},
		{"r50k_base", "r50k_base", patternGPT2},
	}
}

type encoding struct{ name, merges, pattern string }

func encodingNames() string {
	var names []string
	for _, e := range encodings() {
		names = append(names, e.name)
	}
	return strings.Join(names, ", ")
}

// newVocabularies returns all encodings by name, none of them loaded yet.
func newVocabularies() map[string]*vocabulary {
	byName := map[string]*vocabulary{}
	for _, e := range encodings() {
		if shared, ok := byName[e.merges]; ok {
			byName[e.name] = shared
			continue
		}
		byName[e.name] = &vocabulary{load: sync.OnceValues(func() (*tiktoken.Tiktoken, error) {
			return loadVocabulary(e.merges, e.pattern)
		})}
	}
	return byName
}

// loadVocabulary puts an encoding together from its parts. tiktoken.GetEncoding
// would do it too, but it reads through a loader that is set for the whole
// process and by default downloads.
func loadVocabulary(merges, pattern string) (*tiktoken.Tiktoken, error) {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(merges + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("load vocabulary %s: %w", merges, err)
	}
	bpe, err := tiktoken.NewCoreBPE(ranks, nil, pattern)
	if err != nil {
		return nil, fmt.Errorf("load vocabulary %s: %w", merges, err)
	}
	return tiktoken.NewTiktoken(bpe, &tiktoken.Encoding{Name: merges}, nil), nil
}
