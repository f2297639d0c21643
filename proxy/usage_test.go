package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/pleat-proxy/pleat/compaction"
)

// readInPieces lets a response by in pieces of at most size bytes.
func readInPieces(body []byte, encoding string, size func() int) (string, *tap) {
	res := &http.Response{Header: http.Header{}, Body: io.NopCloser(&pieces{body, size})}
	if encoding != "" {
		res.Header.Set("Content-Encoding", encoding)
	}
	t := newTap(res, new(codecs))
	got, _ := io.ReadAll(t)
	return string(got), t
}

type pieces struct {
	rest []byte
	size func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size(), len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

func TestUsage(t *testing.T) {
	type usage = compaction.Usage
	used := func(prompt, completion, cached int) usage {
		return usage{Prompt: prompt, Completion: completion, Cached: cached}
	}
	for name, c := range map[string]struct {
		body     string
		want     usage
		finish   string
		hasError bool
	}{
		"JSON":                 {`{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, used(1, 2, 0), "stop", false},
		"spaces, order":        {" \r\n\n {\n \"usage\" : { \"completion_tokens\" : 2 , \"prompt_tokens\":1 } , \"choices\" : [ { \"finish_reason\" : \"length\" } ] } \n", used(1, 2, 0), "length", false},
		"cached, OpenAI":       {`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":8}}}`, used(9, 0, 8), "", false},
		"cached, DeepSeek":     {`{"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":7}}`, used(9, 0, 7), "", false},
		"cached, Moonshot":     {`{"usage":{"prompt_tokens":9,"cached_tokens":6}}`, used(9, 0, 6), "", false},
		"null details":         {`{"usage":{"prompt_tokens":9,"prompt_tokens_details":null}}`, used(9, 0, 0), "", false},
		"odd types":            {`{"usage":{"prompt_tokens":9.0,"completion_tokens":"x","prompt_tokens_details":[1]}}`, used(9, 0, 0), "", false},
		"negative, huge":       {`{"usage":{"prompt_tokens":-9,"completion_tokens":1e300}}`, usage{}, "", false},
		"no usage":             {`{"choices":[]}`, usage{}, "", false},
		"null usage":           {`{"usage":null}`, usage{}, "", false},
		"in a string":          {`{"x":"\"usage\":{\"prompt_tokens\":5}","y\\":"}{"}`, usage{}, "", false},
		"as a value":           {`{"x":"usage","y":{"prompt_tokens":5}}`, usage{}, "", false},
		"deeper":               {`{"x_groq":{"usage":{"prompt_tokens":5}},"usage":{"prompt_tokens":6},"z":[{"usage":{"prompt_tokens":7}}]}`, used(6, 0, 0), "", false},
		"finish_reason deeper": {`{"choices":[{"message":{"finish_reason":"no"},"finish_reason":"stop"}],"finish_reason":"no"}`, usage{}, "stop", false},
		"finish_reason null":   {`{"choices":[{"finish_reason":null,"x":"y"}]}`, usage{}, "", false},
		"error":                {`{"error":{"message":"usage"}}`, usage{}, "", true},
		"error null":           {`{"error":null}`, usage{}, "", false},
		"a list":               {`[{"usage":{"prompt_tokens":1}}]`, usage{}, "", false},
		"HTML":                 {`<html>"usage":{"prompt_tokens":1}`, usage{}, "", false},
		"too long a usage":     {`{"usage":{"x":"` + strings.Repeat("y", maxUsage) + `","prompt_tokens":1},"error":1}`, usage{}, "", true},
		"cut off":              {`{"usage":{"prompt_tokens":1}`, usage{}, "", false},
		"stream, usage with empty choices": {"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n" +
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", used(1, 2, 0), "stop", false},
		"stream, usage in several": {"data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":9}}\n\n" +
			"data: {\"usage\":null}\n\ndata: {\"usage\":{\"prompt_tokens\":0}}\n\n", used(1, 9, 0), "", false},
		"stream, CRLF and comments": {": OPENROUTER PROCESSING\r\n\r\n: ping - {\"usage\":{\"prompt_tokens\":3}}\r\nid: 1\r\ndata:{\"usage\":{\"prompt_tokens\":1}}\r\n\r\n", used(1, 0, 0), "", false},
		"stream, CR alone":          {"event: x\rdata: {\"usage\":{\"prompt_tokens\":1}}\r\rdata: {\"usage\":{\"prompt_tokens\":2}}\r\r", used(2, 0, 0), "", false},
		"stream, data in two lines": {"data: {\"usage\":\ndata: {\"prompt_tokens\":1}}\n\n", used(1, 0, 0), "", false},
		"stream, broken event":      {"data: {\"a\":\"\n\ndata: {\"usage\":{\"prompt_tokens\":1}}\n\n", used(1, 0, 0), "", false},
		"stream, no blank lines":    {"data: {\"a\":1}\ndata: {\"usage\":{\"prompt_tokens\":1}}\n", used(1, 0, 0), "", false},
		"stream, byte order mark":   {"\xef\xbb\xbfdata: {\"usage\":{\"prompt_tokens\":1}}\n\n", used(1, 0, 0), "", false},
		"stream, error inside":      {"event: error\ndata: {\"error\":{\"message\":\"x\"}}\n\n", usage{}, "", true},
		"stream, other fields":      {"dat\ndatax: {\"usage\":{\"prompt_tokens\":1}}\nxdata: {\"usage\":{\"prompt_tokens\":1}}\n\n", usage{}, "", false},
		"empty":                     {"", usage{}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size < 70; size += 1 + size/4 {
				for _, encoding := range []string{"", "gzip", "zstd"} {
					body := encode(c.body, encoding)
					got, tap := readInPieces(body, encoding, func() int { return size })
					if got != string(body) {
						t.Fatal("the bytes were changed")
					}
					if u := tap.finish(); u != c.want {
						t.Errorf("%s in pieces of %d: usage %+v, want %+v", encoding, size, u, c.want)
					}
					if doc := tap.scan.doc; doc.finish != c.finish || doc.hasError != c.hasError {
						t.Errorf("%s in pieces of %d: finish %q, error %v", encoding, size, doc.finish, doc.hasError)
					}
				}
			}
		})
	}
}

func encode(s, encoding string) []byte {
	switch encoding {
	case "gzip":
		return []byte(gzipped(s))
	case "zstd":
		return []byte(zstded(s))
	}
	return []byte(s)
}

// A stream that is compressed and flushed event by event is read as it goes
// by, not at its end.
func TestUsageOfCompressedStream(t *testing.T) {
	for name, open := range map[string]func(io.Writer) interface {
		io.WriteCloser
		Flush() error
	}{
		"gzip": func(w io.Writer) interface {
			io.WriteCloser
			Flush() error
		} {
			return gzip.NewWriter(w)
		},
		"zstd": func(w io.Writer) interface {
			io.WriteCloser
			Flush() error
		} {
			z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			return z
		},
	} {
		var scan responseScanner
		var wire bytes.Buffer
		d := newPushDecoder(new(codecs), name, scan.write)
		w := open(&wire)
		for i := 1; i < 5; i++ {
			_, _ = io.WriteString(w, `data: {"usage":{"prompt_tokens":`+string(rune('0'+i))+"}}\n\n")
			_ = w.Flush()
			d.write(wire.Bytes())
			wire.Reset()
			if got := scan.doc.usage.Prompt; got != i {
				t.Errorf("%s: after event %d the usage is %d", name, i, got)
			}
		}
		_ = w.Close()
		d.close()
	}
}

func TestUsageOfBadCompression(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd", "br", "gzip, gzip"} {
		body := `{"usage":{"prompt_tokens":1}}`
		got, tap := readInPieces([]byte(body), encoding, func() int { return 3 })
		if got != body || tap.finish() != (compaction.Usage{}) {
			t.Errorf("%s: %q %+v", encoding, got, tap.finish())
		}
	}
}

func TestScannerKeepsLittle(t *testing.T) {
	var scan responseScanner
	piece := []byte(`data: {"error":"` + strings.Repeat("x", 1<<20) + `","` + strings.Repeat("k", 1<<20) + `":{"usage":"` + strings.Repeat(`\"`, 1<<19) + "\n")
	for range 20 {
		scan.write(piece)
	}
	if held := cap(scan.doc.captured) + cap(scan.doc.text); held > 2*maxUsage {
		t.Errorf("%d bytes are held", held)
	}
}

func FuzzUsage(f *testing.F) {
	f.Add([]byte(`{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`), uint64(1))
	f.Add([]byte("data: {\"usage\":{\"prompt_tokens\":1}}\r\n\r\n: x\ndata: [DONE]\n\n"), uint64(2))
	f.Add([]byte(` {"a":[[{}]],"usage":{"prompt_tokens":1},"error":null}`), uint64(3))
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		_, whole := readInPieces(body, "", func() int { return len(body) })
		random := rand.New(rand.NewPCG(seed, 0))
		got, cut := readInPieces(body, "", func() int { return 1 + random.IntN(7) })
		if got != string(body) {
			t.Fatal("the bytes were changed")
		}
		a, b := whole.scan.doc, cut.scan.doc
		if whole.finish() != cut.finish() || a.finish != b.finish || a.hasError != b.hasError {
			t.Fatalf("whole: %+v %q %v, in pieces: %+v %q %v", a.usage, a.finish, a.hasError, b.usage, b.finish, b.hasError)
		}
		if want, ok := usageByLibrary(body); ok && a.usage != want {
			t.Fatalf("usage %+v, want %+v", a.usage, want)
		}
	})
}

// usageByLibrary reads the usage with encoding/json, where the two may be
// compared: one object, keys spelled plainly and once.
func usageByLibrary(body []byte) (compaction.Usage, bool) {
	var top map[string]json.RawMessage
	if bytes.IndexByte(body, '\\') >= 0 || bytes.Count(body, []byte(`"usage"`)) > 1 || len(body) > maxUsage ||
		json.Unmarshal(body, &top) != nil || top == nil {
		return compaction.Usage{}, false
	}
	if top["usage"] == nil {
		return compaction.Usage{}, true
	}
	return parseUsage(top["usage"]), true
}
