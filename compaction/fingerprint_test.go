package compaction

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// meanings of one list of messages, as scanned.
func fingerprints(t testing.TB, messages string) *request {
	t.Helper()
	r := mustScan(t, `{"messages":[`+messages+`]}`)
	r.fingerprint()
	return r
}

func userSays(content string) string { return `{"role":"user","content":` + content + `}` }

func assistantWith(members string) string {
	return `{"role":"assistant","content":null,` + members + `}`
}

func callWith(arguments string) string {
	return assistantWith(`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":` + arguments + `}}]`)
}

func TestSameMeaning(t *testing.T) {
	tests := map[string][]string{
		"string and one part": {
			userSays(`"hi"`), userSays(`[{"type":"text","text":"hi"}]`), userSays(`[ {"text":"hi" , "type":"text"} ]`),
			userSays(`[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]`),
			`{"content":"hi","role":"user","cache_control":{"type":"ephemeral"}}`,
			`{"role":"user","content":"hi","name":""}`, `{"role":"user","content":"hi","name":null}`,
			`{"role":"user","content":"hi","x_unknown":[1,2]}`, `{"r\u006fle":"us\u0065r","cont\u0065nt":"\u0068i"}`,
		},
		"no content": {
			`{"role":"assistant"}`, `{"role":"assistant","content":null}`, `{"role":"assistant","content":""}`,
			`{"role":"assistant","content":[]}`, `{"role":"assistant","content":[{"type":"text","text":""}]}`,
			`{"role":"assistant","tool_calls":null,"function_call":null,"refusal":null,"audio":null}`,
			`{"role":"assistant","tool_calls":[],"refusal":""}`,
			`{"role":"assistant","function_call":{"name":"","arguments":""},"audio":{"id":"","data":""}}`,
		},
		"escapes": {userSays(`"é\n\"/😀"`), userSays(`"\u00e9\u000a\u0022\/\ud83d\ude00"`), userSays(`"\u00E9\n\"\u002f\uD83D\uDE00"`)},
		"reasoning": {
			`{"role":"assistant","content":"x"}`,
			`{"role":"assistant","content":"x","reasoning":"r"}`, `{"role":"assistant","content":"x","reasoning_content":"r"}`,
			`{"role":"assistant","content":"x","reasoning_details":[{"type":"reasoning.text","text":"r"}]}`,
			`{"role":"assistant","thinking":"r","content":"x"}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"x"}]}`,
			`{"role":"assistant","content":"x","annotations":[],"provider_metadata":{"a":1}}`,
		},
		"image": {
			userSays(`[{"type":"image_url","image_url":{"url":"u","detail":"low"}}]`),
			userSays(`[{"image_url":{"detail":"low","url":"\u0075"},"cache_control":{"type":"ephemeral"},"type":"image_url"}]`),
		},
		"unknown part": {
			userSays(`[{"type":"zoo","a":{"b":1,"c":[1, 2]}}]`), userSays(`[{"a":{"c":[1,2],"b":1,"cache_control":1},"type":"zoo"}]`),
		},
		"arguments": {
			callWith(`"{\"a\":1,\"b\":{\"x\":\"é\",\"y\":[true,null]}}"`),
			callWith(`" { \"b\" : {\"y\":[ true , null ],\"x\":\"\\u00e9\"},\n\"a\":1 } "`),
			callWith(`"\u007b\"b\":{\"\\u0078\":\"é\",\"y\":[true,null]},\"a\":1}"`),
			callWith(`{"b":{"y":[true,null],"x":"é"},"a":1}`),
			assistantWith(`"tool_calls":[{"function":{"arguments":"{\"a\":1,\"b\":{\"x\":\"é\",\"y\":[true,null]}}","name":"f"},"index":0,"id":"other"}]`),
		},
		"no arguments": {
			callWith(`""`), callWith(`null`), assistantWith(`"tool_calls":[{"function":{"name":"f"}}]`),
		},
		"call of an unknown type": {
			assistantWith(`"tool_calls":[{"id":"a","type":"mcp","server":"s","args":{"id":7,"b":1}}]`),
			assistantWith(`"tool_calls":[{"type":"mcp","args":{"b":1,"id":7},"server":"s","id":"b"}]`),
		},
		"custom call": {
			assistantWith(`"tool_calls":[{"id":"a","type":"custom","custom":{"name":"f","input":"{\"a\": 1}"}}]`),
			assistantWith(`"tool_calls":[{"id":"b","type":"custom","custom":{"input":"{\"a\": 1}","name":"f"}}]`),
		},
	}
	for name, spellings := range tests {
		t.Run(name, func(t *testing.T) {
			want := fingerprints(t, spellings[0]).messages[0]
			for _, spelling := range spellings[1:] {
				if got := fingerprints(t, spelling).messages[0]; got.fp != want.fp || got.size != want.size {
					t.Errorf("%s\nis not the same as\n%s", spelling, spellings[0])
				}
			}
		})
	}
}

// Every message of the list means something else than all others.
func TestDifferentMeaning(t *testing.T) {
	list := []string{
		userSays(`"hi"`), userSays(`"hi "`), userSays(`"Hi"`), userSays(`"hi\u0000"`), userSays(`"h"`), userSays(`"\\u0068i"`), userSays(`""`),
		`{"role":"assistant","content":"hi"}`, `{"role":"User","content":"hi"}`, `{"role":"tool","content":"hi"}`, `{"role":"function","content":"hi"}`,
		`{"role":"user","content":"hi","name":"n"}`, `{"role":"user","content":"hi","name":"m"}`, `{"role":"user","content":"n","name":"hi"}`,
		userSays(`[{"type":"text","text":"h"},{"type":"text","text":"i"}]`), userSays(`[{"type":"text","text":"i"},{"type":"text","text":"h"}]`),
		userSays(`[{"type":"refusal","refusal":"hi"}]`), userSays(`{"type":"text","text":"hi"}`), userSays(`7`), userSays(`"7"`),
		userSays(`[{"type":"image_url","image_url":{"url":"u"}}]`), userSays(`[{"type":"image_url","image_url":{"url":"v"}}]`),
		userSays(`[{"type":"image_url","image_url":{"url":"u","detail":"low"}}]`), userSays(`[{"type":"image_url","image_url":{"url":"u","detail":"high"}}]`),
		userSays(`[{"type":"image_url","image_url":"u"}]`), userSays(`"u"`),
		userSays(`[{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"hi"}]`), userSays(`[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"u"}}]`),
		userSays(`[{"type":"zoo","a":1}]`), userSays(`[{"type":"zoo","a":1.0}]`), userSays(`[{"type":"zoo","a":"1"}]`), userSays(`[{"type":"zoo","a":[1]}]`), userSays(`[{"type":"zoo"}]`),
		userSays(`[{"type":"zoo","a":{"k":1,"k":2}}]`), userSays(`[{"type":"zoo","a":{"k":2,"k":1}}]`),
		callWith(`"{\"a\":1}"`), callWith(`"{\"a\":2}"`), callWith(`"{\"a\":1,\"b\":2}"`), callWith(`"{\"a\":[1,2]}"`), callWith(`"{\"a\":[2,1]}"`), callWith(`"{}"`), callWith(`""`), callWith(`"[]"`),
		callWith(`"{\"a\":1"`), callWith(`"{\"a\": 1"`), callWith(`"{\"a\":1}x"`), callWith(`"{\"a\":1,\"a\":1}"`), callWith(`"{\"a\":1, \"a\":1}"`),
		callWith(`"{\"a\":\"\\ud83d\"}"`), callWith(`"{\"a\":\"\\ude00\"}"`), callWith(`"{\"a\":\"\ufffd\"}"`),
		assistantWith(`"tool_calls":[{"type":"function","function":{"name":"g","arguments":"{\"a\":1}"}}]`),
		assistantWith(`"tool_calls":[{"type":"custom","custom":{"name":"f","input":"{\"a\":1}"}}]`), assistantWith(`"tool_calls":[{"type":"custom","custom":{"name":"f","input":"{\"a\": 1}"}}]`),
		assistantWith(`"function_call":{"name":"f","arguments":"{\"a\":1}"}`), assistantWith(`"function_call":{"name":"f","arguments":"{\"a\":2}"}`),
		assistantWith(`"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"f","arguments":"{\"a\":1}"}}]`),
		userSays(`[{"type":"text"}]`), userSays(`[{"type":"text","text":null}]`), userSays(`[{"type":"text","value":"hi"}]`),
		assistantWith(`"tool_calls":[{"type":"mcp","args":{"id":1}}]`), assistantWith(`"tool_calls":[{"type":"mcp","args":{"id":2}}]`),
		assistantWith(`"tool_calls":[{"type":"mcp","a":1}]`), assistantWith(`"tool_calls":[{"type":"mcp","a":2}]`),
		assistantWith(`"refusal":"no"`), assistantWith(`"refusal":"nope"`), assistantWith(`"audio":{"id":"1"}`), assistantWith(`"audio":{"id":"2"}`),
		`{"role":"assistant","content":"no"}`,
	}
	seen := map[fingerprint]string{}
	for _, message := range list {
		fp := fingerprints(t, message).messages[0].fp
		if other, ok := seen[fp]; ok {
			t.Errorf("%s\nmeans the same as\n%s", message, other)
		}
		seen[fp] = message
	}
}

func TestResultsCountByOrdinal(t *testing.T) {
	history := func(first, second, a, b string) string {
		return `{"role":"assistant","tool_calls":[{"id":"` + first + `"},{"id":"` + second + `"}]},` +
			`{"role":"tool","tool_call_id":"` + a + `","content":"r"},{"role":"tool","tool_call_id":"` + b + `","content":"s"}`
	}
	base := fingerprints(t, history("1", "2", "1", "2"))
	renamed := fingerprints(t, history("x", "y", "x", "y"))
	crossed := fingerprints(t, history("1", "2", "2", "1"))
	strays := fingerprints(t, history("1", "2", "8", "9"))
	for i := range base.messages {
		if base.messages[i].fp != renamed.messages[i].fp {
			t.Errorf("message %d: ids matter", i)
		}
		if i == 0 {
			continue
		}
		for _, other := range []*request{crossed, strays} {
			if base.messages[i].fp == other.messages[i].fp {
				t.Errorf("message %d: which call is answered does not matter", i)
			}
		}
	}
}

// What is stored is found under fingerprints: a change of the encoding orphans
// it all, and must come with a new meaningVersion.
func TestFingerprintsAreStable(t *testing.T) {
	r := fingerprints(t, userSays(`"héllo"`)+`,`+
		`{"role":"assistant","content":[{"type":"text","text":"x"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":[2]}"}}]},`+
		`{"role":"tool","tool_call_id":"a","content":"r","name":"f"},`+
		userSays(`[{"type":"image_url","image_url":{"url":"u"}}]`)+`,`+callWith(`"not JSON"`))
	want := []string{
		"29 a87f9429da2c71a7d4592c604050bf75",
		"63 f1bb558e17c8184ff726dc9e418e63a3",
		"43 166741cbbf0db17ebeaa3ee42c446572",
		"66 66fbfe0e9614ffabdb6292293213f9d7",
		"46 efae322180cb0ae8b5e101f459abde08",
	}
	for i, m := range r.messages {
		if got := strconv.Itoa(m.size) + " " + hex.EncodeToString(m.fp[:]); got != want[i] {
			t.Errorf("message %d: %s, want %s", i, got, want[i])
		}
	}
}

func TestFingerprintIsBoundedWork(t *testing.T) {
	var keys, deep strings.Builder
	for i := range 200_000 {
		keys.WriteString(`,\"` + strconv.Itoa(i*7919%200_000) + `\":0`)
	}
	for range 200_000 {
		deep.WriteString(`{\"b\":1,\"a\":`)
	}
	long := strings.Repeat(`\"\\u00e9\\n`, 200_000)
	tests := map[string]string{
		"many keys":   callWith(`"{` + keys.String()[1:] + `}"`),
		"deep":        callWith(`"` + deep.String() + `"`),
		"many quotes": callWith(`"` + long + `"`),
		"as deep as allowed, out of order": callWith(`"` + strings.Repeat(`{\"b\":1,\"a\":`, maxCanonicalDepth) +
			`\"` + strings.Repeat("x", 1<<20) + `\"` + strings.Repeat(`}`, maxCanonicalDepth) + `"`),
		"many parts":   userSays(`[` + strings.Repeat(`{"type":"text","text":"x"},`, 100_000) + `1]`),
		"many results": callWith(`""`) + strings.Repeat(`,{"role":"tool","tool_call_id":"b","content":""}`, maxMessages-1),
	}
	for name, messages := range tests {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			r := fingerprints(t, messages)
			// Linear work takes some 20 ms here, quadratic work minutes.
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%d bytes took %v", len(r.body), took)
			}
		})
	}
}

// FuzzFingerprint: what encoding/json makes of a text is the same text, so its
// own spelling of a message's content has the same fingerprint, and a longer
// content another.
func FuzzFingerprint(f *testing.F) {
	f.Add("hi", `{"b":1,"a":[2,{"d":"\u00e9","c":null}]}`)
	f.Add("\u2028\"\\\n", ` { } `)
	f.Add("", `{"a":1,"a":2}`)
	f.Fuzz(func(t *testing.T, text, arguments string) {
		if !utf8.ValidString(text) || !utf8.ValidString(arguments) {
			t.Skip()
		}
		quote := func(s string) string {
			out, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		// encoding/json escapes <, >, & and U+2028; strconv.AppendQuote's
		// spelling would not be JSON, so the other one is written by hand.
		bare := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028").Replace
		if strings.Contains(text+arguments, `\u00`) || strings.Contains(text+arguments, `\u2028`) {
			bare = func(s string) string { return s }
		}
		message := func(text, arguments string) message {
			return fingerprints(t, `{"role":"assistant","content":`+text+`,"tool_calls":[{"function":{"name":"f","arguments":`+arguments+`}}]}`).messages[0]
		}
		want := message(quote(text), quote(arguments))
		if got := message(`[{"type":"text","text":`+bare(quote(text))+`}]`, bare(quote(arguments))); got.fp != want.fp || got.size != want.size {
			t.Errorf("another spelling of %q, %q means something else", text, arguments)
		}
		if got := message(quote(text+"x"), quote(arguments)); got.fp == want.fp {
			t.Errorf("a longer text than %q means the same", text)
		}
		var terse bytes.Buffer
		if json.Compact(&terse, []byte(arguments)) != nil {
			return
		}
		if got := message(quote(text), quote(terse.String())); got.fp != want.fp && canonicalizable(arguments) {
			t.Errorf("%q without white space means something else", arguments)
		}
	})
}

// canonicalizable says whether white space does not count in the text.
func canonicalizable(text string) bool {
	_, ok := new(canonicalizer).canonical(nil, []byte(text), 0)
	return ok
}
