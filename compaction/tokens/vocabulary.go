package tokens

import (
	"bytes"
	"compress/flate"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"sync"
	"unicode/utf8"
)

// files holds the encodings' tokens, 1.6 MB in all (see unpack). They are made
// from the lists that OpenAI publishes with tiktoken, as tiktoken-go-loader
// carries them.
//
//go:generate go test -run ^TestFilesHoldThePublishedTokens$ . -update
//go:embed vocabularies/*.bin
var files embed.FS

// encoding is what tells one encoding from another, for counting.
type encoding struct {
	name    string
	file    string // in vocabularies, without its extension
	ranks   int    // how many of the file's ranks belong to it
	pattern pattern
}

// encodings lists what there is, in the order in which messages name it.
// o200k_harmony (gpt-oss) has o200k_base's tokens and more special ones, which
// do not matter here; p50k_base has r50k_base's and, after them, runs of spaces.
func encodings() []encoding {
	return []encoding{
		{"o200k_base", "o200k_base", math.MaxInt, patternO200K},
		{"o200k_harmony", "o200k_base", math.MaxInt, patternO200K},
		{"cl100k_base", "cl100k_base", math.MaxInt, patternCL100K},
		{"p50k_base", "p50k_base", math.MaxInt, patternGPT2},
		{"r50k_base", "p50k_base", 50256, patternGPT2},
	}
}

func encodingNames() string {
	var names []string
	for _, e := range encodings() {
		names = append(names, e.name)
	}
	return strings.Join(names, ", ")
}

// vocabulary counts text in one encoding.
type vocabulary struct {
	classes    *classes
	pattern    pattern
	table      *table
	workspaces sync.Pool // of *workspace
}

// loader returns a vocabulary, which it loads when it is first called.
type loader func() (*vocabulary, error)

// newLoaders returns a loader for each encoding, by name.
func newLoaders() map[string]loader {
	classes := sync.OnceValue(newClasses)
	shared := map[encoding]loader{}
	byName := map[string]loader{}
	for _, e := range encodings() {
		name := e.name
		e.name = "" // two encodings may differ in nothing else
		if shared[e] == nil {
			shared[e] = sync.OnceValues(func() (*vocabulary, error) {
				table, err := loadTable(e.file, e.ranks)
				if err != nil {
					return nil, fmt.Errorf("load vocabulary %s: %w", name, err)
				}
				return &vocabulary{classes: classes(), pattern: e.pattern, table: table}, nil
			})
		}
		byName[name] = shared[e]
	}
	return byName
}

// count returns the number of tokens of text. It neither changes nor keeps it.
func (v *vocabulary) count(text []byte) int {
	if !utf8.Valid(text) {
		text = replaceInvalid(text)
	}
	w, ok := v.workspaces.Get().(*workspace)
	if !ok {
		w = new(workspace)
	}
	defer v.workspaces.Put(w)
	n := 0
	for i := 0; i < len(text); {
		end := v.pattern.piece(v.classes, text, i)
		switch {
		case v.table.rank(text, i, end) != none:
			n++
		case end-i <= maxMemo:
			n += w.memo.merge(&w.scan, v.table, text, i, end)
		case end-i <= maxScan:
			n += w.scan.merge(v.table, text[i:end])
		default:
			n += w.windows.mergeLong(v.table, text[i:end])
		}
		i = end
	}
	return n
}

// workspace is the memory that merging takes.
type workspace struct {
	memo    memo
	scan    scan
	windows windows
}

// replaceInvalid returns text with U+FFFD for each byte that is not UTF-8, as
// a Go string's runes, which are what tiktoken-go sees, have it.
func replaceInvalid(text []byte) []byte {
	valid := make([]byte, 0, len(text)+len(text)/2)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		valid = utf8.AppendRune(valid, r)
		text = text[size:]
	}
	return valid
}

// loadTable reads the tokens of a file whose rank is below limit.
func loadTable(file string, limit int) (*table, error) {
	packed, err := files.ReadFile("vocabularies/" + file + ".bin")
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	tokens, err := unpack(raw)
	if err != nil {
		return nil, err
	}
	return newTable(func(yield func(uint32, []byte) bool) {
		for rank, token := range tokens {
			if int(rank) >= limit || !yield(rank, token) {
				return
			}
		}
	}), nil
}

// unpack returns the tokens of an inflated file by rank. It holds the number of
// ranks (4 bytes, little-endian), each token's length (1 byte; 0 is a rank that
// is not used), and the tokens' bytes, end to end.
func unpack(raw []byte) (iter.Seq2[uint32, []byte], error) {
	if len(raw) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	count := int(binary.LittleEndian.Uint32(raw))
	if len(raw)-4 < count {
		return nil, io.ErrUnexpectedEOF
	}
	lengths, text := raw[4:4+count], raw[4+count:]
	total := 0
	for _, n := range lengths {
		total += int(n)
	}
	if total != len(text) {
		return nil, fmt.Errorf("%d bytes of tokens, %d expected", len(text), total)
	}
	return func(yield func(uint32, []byte) bool) {
		rest := text
		for rank, n := range lengths {
			if !yield(uint32(rank), rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}, nil
}
