package compaction

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// valid says whether the scanner takes text for one JSON value.
func isValue(text string) bool {
	s := scanner{text: []byte(text), limit: maxDepth}
	if _, err := s.value(); err != nil {
		return false
	}
	return s.end() == nil
}

func TestScannerAgreesWithStdlib(t *testing.T) {
	texts := []string{
		``, ` `, `null`, `true`, `false`, `nul`, `nulll`, `True`, `tru`, `f`,
		`0`, `-0`, `-`, `+1`, `01`, `1.`, `.5`, `1.5`, `1e`, `1e+`, `1e5`, `1E-05`, `1.e5`, `1e5.5`, `--1`, `0x1`, `1 2`, `Infinity`, `NaN`,
		`""`, `"`, `"a`, `"\"`, `"\\"`, `"\\\"`, `"\/\b\f\n\r\t"`, `"\a"`, `"\u00e9"`, `"\u00E9"`, `"\u00g0"`, `"\u00e"`, `"\U0041"`, `"\ud83d\ude00"`,
		`"\ud83d"`, `"\ud83d\n"`, `"\ud83d\u00e9"`, `"\ud83d\ud83d"`, "\"\x7f\"", "\"\x00\"", "\"a\tb\"", "\"\u2028\"", "'a'",
		`[]`, `[ ]`, `[`, `]`, `[,]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2]`, `[[[]]]`, `[1}`, `[1]]`,
		`{}`, `{ }`, `{`, `}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":1,"b":2}`, `{"a":1,"a":2}`, `{a:1}`, `{1:1}`, `{"a" : {"b":[{}]} }`, `{"a":1]`,
		"\v1", "\f1", "1\u00a0", "\ufeff1", "// x\n1", "[1]\x00",
	}
	long := strings.Repeat("0123456789", 5)
	for i := range 20 { // stops at every place of a word
		texts = append(texts,
			`"`+long[:i]+`"`, `"`+long[:i]+"\x1f"+long[:i]+`"`, `"`+long[:i]+`\"`+long[:i]+`"`, `"`+long[:i]+"é"+long[:20-i]+`"`,
			`"`+long[:i]+`\`, `"`+long[:i]+`\u00`, `"`+long[:i], `"`+long[:i]+`\u12`+long[:i]+`"`)
	}
	for _, text := range texts {
		if got, want := isValue(text), json.Valid([]byte(text)); got != want {
			t.Errorf("%q: valid %v, want %v", text, got, want)
		}
	}
}

func TestScannerStringSpans(t *testing.T) {
	for i := range 40 {
		for _, stop := range []string{``, `\"`, `\\`, `\n`, `é`, `\u00e9`, `\ud83d\ude00`, `😀`} {
			text := strings.Repeat("x", i) + stop + strings.Repeat("y", 40-i)
			var want string
			if err := json.Unmarshal([]byte(`"`+text+`"`), &want); err != nil {
				t.Fatal(err)
			}
			s := scanner{text: []byte(`"` + text + `","\`), limit: maxDepth}
			at, err := s.str()
			if err != nil || at != (span{0, len(text) + 2}) {
				t.Fatalf("%q: %v %v", text, at, err)
			}
			if got := string(decoded(at.in(s.text))); got != want {
				t.Fatalf("%q: decoded %q, want %q", text, got, want)
			}
		}
	}
}

func TestEveryByteInAString(t *testing.T) {
	for c := range 256 {
		for place := range 9 {
			text := `"` + strings.Repeat("x", place) + string([]byte{byte(c)}) + strings.Repeat("x", 9-place) + `"`
			want := json.Valid([]byte(text)) && utf8.ValidString(text)
			if got := isValue(text); got != want {
				t.Errorf("byte %#x at %d: valid %v, want %v", c, place, got, want)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","messages":` + oneMessage + `,"pleat":{"session":"s"}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"h\u00e9"}]},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"b\":1,\"a\":2}"}}]},{"role":"tool","tool_call_id":"a","content":""}],"n":1e999}`,
		`{"messages":[{"role":"assistant","function_call":{"name":"f","arguments":""},"audio":{"id":"x"},"refusal":"\ud83d\ude00"}],"tools":[{}],"max_tokens":5}`,
		"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", `{"messages":[{"role":"user","role":"user"}]}`, `{} {}`, `[`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := string(body)
		r, err := scan(body)
		isJSON := json.Valid(body)
		switch {
		case err == nil && (!isJSON || !utf8.Valid(body)):
			t.Fatalf("accepted, but is no JSON: %q", body)
		case isJSON && (errors.Is(err, errSyntax) || errors.Is(err, errTrailing)):
			t.Fatalf("%v, but is JSON: %q", err, body)
		case utf8.Valid(body) && errors.Is(err, errUTF8):
			t.Fatalf("%v, but is UTF-8: %q", err, body)
		case err != nil:
			return
		}
		checkAgainstStdlib(t, r)
		if len(r.pleat.in(body)) > 0 {
			if rest := r.withoutPleat(); !json.Valid(rest) {
				t.Fatalf("without pleat: %q", rest)
			}
		}
		r.fingerprint()
		for i := range r.messages {
			r.outline(i)
		}
		if string(body) != before {
			t.Fatal("the body was changed")
		}
	})
}
