package overflow

import (
	"strings"
	"testing"
)

// message reads the text of the first message member, however deep.
func message(n node) string {
	for i, name := range n.names {
		if name == "message" && n.items[i].shape == textShape {
			return n.items[i].text
		}
	}
	for _, item := range n.items {
		if m := message(item); m != "" {
			return m
		}
	}
	return ""
}

func TestRead(t *testing.T) {
	for in, want := range map[string]string{
		`{"error":{"message":"a \"b\" \u00e9\ud83d\ude00\/"}}`:           `a "b" é😀/`,
		`{'error': {'message': "it's", 'code': None}}`:                   "it's",
		`{'message': 'it\'s'}`:                                           "it's",
		`{'message': 'the model's limit', 'code': 1}`:                    "the model's limit",
		`{'message': b'caf\xc3\xa9'}`:                                    "café",
		`{'message': 'caf\xe9'}`:                                         "café",
		`{'loc': ('body', 0), 'message': 'x'}`:                           "x",
		`{"message":"cut off in the mid`:                                 "cut off in the mid",
		`{"message":"cut \u00`:                                           "cut u00",
		`{"other":[1,2,{"message":"hidden"}],"message":"seen"}`:          "seen",
		"{\n \"message\" :\t\"spaced\" }":                                "spaced",
		`[{"message":"first"},{"message":"second"}]`:                     "first",
		`{"error":` + strings.Repeat("[", 100) + `],"message":"x"}`:      "",
		`{"}":1,"message":"brace"}`:                                      "brace",
		`{"message":"one\\","code":2}`:                                   `one\`,
		`{"message":"bytes in prose: a \\"quoted\\" word","code":"400"}`: `bytes in prose: a \"quoted\" word`,
	} {
		n, length := read(in)
		if got := message(n); got != want {
			t.Errorf("%s: message %q, want %q", in, got, want)
		}
		if length > len(in) {
			t.Errorf("%s: read %d of %d bytes", in, length, len(in))
		}
	}
}

func TestReadStopsAtTheEnd(t *testing.T) {
	in := `{"a":{"b":[1,{"c":"}"}]}} and prose`
	if _, length := read(in); in[length:] != " and prose" {
		t.Errorf("rest %q", in[length:])
	}
}

func TestTokens(t *testing.T) {
	for in, want := range map[string]int{
		"8192": 8192, "8192.": 8192, "128,000": 128000, "1,048,576": 1048576, "1.048.576": 1048576,
		"128.000": 128000, "524300.0": 524300, "1'000'000": 1000000, "128_000": 128000, "128k": 128000,
		"1m": 1000000, "99999999999999999999": 0, "2147483647": 2147483647, "2147483648": 0, "": 0, ".": 0,
	} {
		if got := tokens(in); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func TestFinish(t *testing.T) {
	for reason, want := range map[string]bool{
		"model_context_window_exceeded": true, "MODEL_CONTEXT_WINDOW_EXCEEDED": true, "context_length_exceeded": true,
		"length": false, "stop": false, "tool_calls": false, "content_filter": false, "": false, "max_tokens": false,
	} {
		if Finish(reason) != want {
			t.Errorf("%q: %v", reason, !want)
		}
	}
}

// What lies between the ends of a very long text is not read, and many long
// texts stay within the bound.
func TestLongProse(t *testing.T) {
	const words = "prompt is too long: 9000 tokens > 8192 maximum"
	long := strings.Repeat("trace line, ", maxText)
	for name, text := range map[string]string{"start": words + " " + long, "end": long + " " + words} {
		if got, ok := Recognise(400, "text/plain", []byte(text[:min(len(text), maxBody)])); !ok || got.Input.Tokens != 9000 {
			t.Errorf("%s: %v %+v", name, ok, got.Kind)
		}
	}
	body := `{"errors":[` + strings.Repeat(quote(long[:2*maxText])+",", 12) + quote(words) + `]}`
	if _, ok := Recognise(400, "application/json", []byte(body)); ok {
		t.Error("the bound on all texts together does not hold")
	}
}

// A limit that the refused counts would have fitted into is not the limit.
func TestBogusLimits(t *testing.T) {
	for text, want := range map[string]LimitKind{
		"This model's maximum context length is 3 tokens. However, your request has 900 input tokens.":      Bogus,
		"This model's maximum context length is 0 tokens. However, your request has 900 input tokens.":      "",
		"This model's maximum context length is 8192 tokens. However, your request has 900 input tokens.":   Bogus,
		"This model's maximum context length is 999999999 tokens. However, it was exceeded.":                Bogus,
		"This model's maximum context length is 8k tokens. However, your messages resulted in 9000 tokens.": Bogus,
		"This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens.":  Window,
	} {
		got, ok := Recognise(400, "text/plain", []byte(text))
		if !ok || got.LimitIs != want || got.Learnable() != (want == Window) {
			t.Errorf("%s: %v %q learnable %v, want %q", text, ok, got.LimitIs, got.Learnable(), want)
		}
	}
}
