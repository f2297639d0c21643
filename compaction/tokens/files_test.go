package tokens

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	published "github.com/pkoukk/tiktoken-go-loader"
)

var update = flag.Bool("update", false, "write the files in vocabularies anew")

// The files in the binary hold the published tokens, rank for rank. What is
// compared is their contents: how they are compressed is the library's affair.
func TestFilesHoldThePublishedTokens(t *testing.T) {
	written := map[string]bool{}
	for _, e := range encodings() {
		if written[e.file] {
			continue
		}
		written[e.file] = true
		want := pack(publishedRanks(t, e.file))
		path := filepath.Join("vocabularies", e.file+".bin")
		if *update {
			if err := os.WriteFile(path, deflate(t, want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the published tokens (error %v): run go generate", path, err)
		}
	}
}

// Every encoding's table finds all its tokens and no others' ranks.
func TestTableHoldsThePublishedRanks(t *testing.T) {
	for _, e := range encodings() {
		v, err := newLoaders()[e.name]()
		if err != nil {
			t.Fatal(err)
		}
		list := e.name
		if list == "o200k_harmony" {
			list = "o200k_base"
		}
		ranks := publishedRanks(t, list)
		for token, want := range ranks {
			if got := v.table.rank([]byte(token), 0, len(token)); got != uint32(want) {
				t.Fatalf("%s: rank of %q = %d, want %d", e.name, token, got, want)
			}
			longer := []byte(token + "\x00")
			want, ok := ranks[string(longer)]
			if got := v.table.rank(longer, 0, len(longer)); ok != (got != none) || ok && got != uint32(want) {
				t.Fatalf("%s: rank of %q = %d, want %d, %t", e.name, longer, got, want, ok)
			}
		}
	}
}

func TestUnpackRefusesDamage(t *testing.T) {
	whole := pack(map[string]int{"a": 0, "bc": 2})
	if _, err := unpack(whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := unpack(whole[:n]); err == nil {
			t.Errorf("no error with %d of %d bytes", n, len(whole))
		}
	}
	if _, err := unpack(append(whole, 'x')); err == nil {
		t.Error("no error with a byte too many")
	}
}

func publishedRanks(t testing.TB, file string) map[string]int {
	t.Helper()
	ranks, err := published.NewOfflineLoader().LoadTiktokenBpe(file + ".tiktoken")
	if err != nil {
		t.Fatal(err)
	}
	return ranks
}

// pack is the reverse of unpack.
func pack(ranks map[string]int) []byte {
	count := 0
	for _, rank := range ranks {
		count = max(count, rank+1)
	}
	tokens := make([]string, count)
	for token, rank := range ranks {
		tokens[rank] = token
	}
	raw := binary.LittleEndian.AppendUint32(nil, uint32(count))
	for _, token := range tokens {
		raw = append(raw, byte(len(token)))
	}
	for _, token := range tokens {
		raw = append(raw, token...)
	}
	return raw
}

func deflate(t *testing.T, raw []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
