package compaction

import (
	"fmt"
	"strings"
	"testing"
)

func TestDeclarations(t *testing.T) {
	const nested = `{"type":"function","function":{"name":"order","description":"Place an order.\nOnce only.","parameters":{
		"$defs":{"Size":{"description":"How large","enum":["s","l"]},"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}},
		"type":"object","title":"Order","additionalProperties":false,
		"properties":{
			"size":{"$ref":"#/$defs/Size"},
			"count":{"type":"integer","minimum":1,"default":1},
			"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":"none"},
			"tags":{"type":["array","null"],"items":{"type":"string"}},
			"to":{"type":"object","description":"Where to","required":["zip"],"properties":{
				"zip":{"type":"string","pattern":"[0-9]+"},
				"geo":{"type":"object","properties":{"lat":{"type":"number"}}}}},
			"kind":{"const":"order"},
			"level":{"enum":[1,2,null]},
			"all":{"allOf":[{"$ref":"#/$defs/Node"},{"type":"object"}]},
			"any":{},
			"list":{"items":{"oneOf":[{"type":"boolean"},{"type":"number"}]}},
			"rest":{"type":"array"}
		},
		"required":["size","to"]}}}`
	const want = `// How large
type Size = "s" | "l";

type Node = {
  next?: Node,
};

// Place an order.
// Once only.
type order = (_: {
size: Size,
count?: number, // default: 1
note?: string | null, // default: none
tags?: string[] | null,
// Where to
to: {
  zip: string,
  geo?: {
    lat?: number,
  },
},
kind?: "order",
level?: 1 | 2 | null,
all?: Node & object,
any?: any,
list?: boolean | number[],
rest?: any[],
}) => any;

`
	d := declarer{scanner: scanner{text: []byte(nested)}}
	if !d.function(span{0, len(nested)}) {
		t.Fatal("not a function")
	}
	if got := string(d.out); got != want {
		t.Errorf("declared as\n%s", got)
	}
}

func TestDeclarationsOfOtherTools(t *testing.T) {
	tests := map[string]bool{
		`{"name":"f"}`: true,
		`{"type":"function","name":"f","parameters":{}}`:                            true,
		`{"type":"function","function":{"name":"f","parameters":null}}`:             true,
		`{"type":"function","function":{"name":"f","parameters":{"properties":3}}}`: true,
		`{"type":"function","function":{}}`:                                         false,
		`{"type":"function","function":3}`:                                          false,
		`{"type":"custom","custom":{"name":"f"}}`:                                   false,
		`{"type":"web_search"}`:                                                     false,
		`{}`:                                                                        false,
		`7`:                                                                         false,
	}
	for tool, want := range tests {
		d := declarer{scanner: scanner{text: []byte(tool)}}
		if got := d.function(span{0, len(tool)}); got != want || !got && len(d.out) > 0 {
			t.Errorf("%s: %t, %q", tool, got, d.out)
		}
		if want && string(d.out) != "type f = () => any;\n\n" {
			t.Errorf("%s: %q", tool, d.out)
		}
	}
}

// TestDeepSchemas: what nests too deeply is shown as it is, so that a schema
// costs time in proportion to its length.
func TestDeepSchemas(t *testing.T) {
	const levels = 400
	schema := strings.Repeat(`{"type":"array","items":`, levels) + `{"type":"string"}` + strings.Repeat("}", levels)
	tool := `{"name":"f","parameters":{"type":"object","properties":{"a":` + schema + `}}}`
	d := declarer{scanner: scanner{text: []byte(tool)}}
	if !d.function(span{0, len(tool)}) || !strings.Contains(string(d.out), `{"type":"string"}`) {
		t.Errorf("%.200s", d.out)
	}
}

// BenchmarkBeside counts the worst tools that are read as types: as deep as is
// shown, and a megabyte in the innermost. Real ones take a small part of that.
func BenchmarkBeside(b *testing.B) {
	counter, err := testCounter()
	if err != nil {
		b.Fatal(err)
	}
	const level = `{"type":"object","properties":{"a":`
	inner := `{"description":"` + strings.Repeat("many words ", maxDeclarations/11-200) + `"}`
	schema := strings.Repeat(level, maxDeclared) + inner + strings.Repeat("}}", maxDeclared)
	r := mustScan(b, `{"model":"gpt-4o","tools":[{"name":"f","parameters":`+schema+`}],"messages":`+oneMessage+`}`)
	e := counter.For("gpt-4o")
	b.SetBytes(int64(len(r.body)))
	for b.Loop() {
		r.beside(e)
	}
}

// TestHugeDeclarations: what is longer than any window counts as JSON.
func TestHugeDeclarations(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	e := counter.For("gpt-4o")
	tool := `{"name":"f","description":"` + strings.Repeat("many words ", maxDeclarations/10) + `"}`
	r := mustScan(t, `{"model":"gpt-4o","tools":[`+tool+`],"messages":`+oneMessage+`}`)
	if got, want := r.beside(e).tools, e.Count(tool); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

func TestBeside(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	const schema = `{"type":"object","properties":{"a":{"type":"string"}}}`
	const format = `"response_format":{"type":"json_schema","json_schema":{"name":"s","description":"A thing","strict":true,"schema":` + schema + `}}`
	tests := map[string]struct {
		model, members string
		want           func(count func(string) int) beside
	}{
		"nothing": {"gpt-4o", `"tools":[],"functions":null,"response_format":null`, func(func(string) int) beside {
			return beside{reply: 3}
		}},
		"a tool that is no function": {"gpt-4o", `"tools":[ {"type": "web_search"} ]`, func(count func(string) int) beside {
			return beside{tools: count(`{"type":"web_search"}`), reply: 3}
		}},
		"a tool of another maker's": {"claude-sonnet-4-5", `"tools":[ {"type": "function", "function": {"name": "f"}} ]`, func(count func(string) int) beside {
			return beside{tools: count(`{"type":"function","function":{"name":"f"}}`), reply: 3}
		}},
		"a schema": {"gpt-4o", format, func(count func(string) int) beside {
			return beside{format: count("# Response Formats\n\n## s\n\n// A thing\n" + schema), reply: 3}
		}},
		"a schema of another maker's": {"claude-sonnet-4-5", format, func(count func(string) int) beside {
			return beside{format: count(strings.TrimPrefix(format, `"response_format":`)), reply: 3}
		}},
		"no schema": {"gpt-4o", `"response_format":{"type":"json_object"}`, func(func(string) int) beside { return beside{reply: 3} }},
		"gpt-oss":   {"gpt-oss-20b", `"x":1`, func(func(string) int) beside { return beside{reply: 67} }},
	}
	for name, test := range tests {
		e := counter.For(test.model)
		r := mustScan(t, `{"model":"`+test.model+`",`+test.members+`,"messages":`+oneMessage+`}`)
		if got, want := r.beside(e), test.want(e.Count); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestToolsAreMostOfARequest: Show 3, and lesson 133. Five servers' tools are 88 %
// of a request; what they come to is checked by the rule of the OpenAI cookbook,
// another way to count the same, which is off by a few tokens a function.
func TestToolsAreMostOfARequest(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	enc := cl.c.opt.Tokens.For(cl.model)
	var list []string
	rule := 12
	for i := range 150 {
		name := fmt.Sprintf("server%d_tool%d", i/30, i%30)
		about := prose(name+" does what its users ask for: ", 500)
		list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object","properties":{`+
			`"path":{"type":"string","description":"The path to look at"},"mode":{"type":"string","description":"What to do","enum":["read","write"]}},"required":["path"]}}}`, name, about))
		rule += 7 + enc.Count(name+":"+about) + 3 + 3 + enc.Count("path:string:The path to look at") +
			3 + enc.Count("mode:string:What to do") - 3 + 3 + enc.Count("read") + 3 + enc.Count("write")
	}
	cl.extra = `,"tools":[` + strings.Join(list, ",") + `]`
	conversation := talk("a", 17)
	p, _ := cl.plan(append(conversation, msg{"user", "And now?"}))

	m, err := Measure(cl.body, "", cl.c.opt.Tokens.For)
	if err != nil {
		t.Fatal(err)
	}
	share := float64(m.Tools) / float64(m.Tokens)
	if p.TokensReceived != m.Tokens || share < 0.87 || share > 0.89 {
		t.Errorf("tools are %d of %d tokens (%.3f), planned as %d", m.Tools, m.Tokens, share, p.TokensReceived)
	}
	if off := max(m.Tools-rule, rule-m.Tools); off > 5*len(list) {
		t.Errorf("tools are %d tokens, by the cookbook's rule %d", m.Tools, rule)
	}
	t.Logf("tools %d of %d tokens: %.1f %%; by the cookbook's rule %d", m.Tools, m.Tokens, 100*share, rule)
}

// TestCallsAreCounted: lesson 134. A call's arguments count though the message
// has no content.
func TestCallsAreCounted(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	e := counter.For("gpt-4o")
	file := prose("package main ", 40_000)
	message := `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"write","arguments":` + fmt.Sprintf("%q", file) + `}}]}`
	if got, want := countedFor(t, "gpt-4o", message).tokens(0, e), e.Count(file); got < want || got > want+20 {
		t.Errorf("%d tokens, the arguments alone have %d", got, want)
	}
}

// FuzzBeside: no tools and no schema make counting panic or cost less than
// nothing.
func FuzzBeside(f *testing.F) {
	counter, err := testCounter()
	if err != nil {
		f.Fatal(err)
	}
	e := counter.For("gpt-4o")
	f.Add(`[{"type":"function","function":{"name":"f","parameters":{"$defs":{"A":{"enum":[1,"b"]}},"properties":{"a":{"$ref":5},"b":{"anyOf":[{},true]}}}}}]`)
	f.Add(`[{"name":"f","description":"x\ny","parameters":{"properties":{"a":{"type":["array","null"],"items":{"const":{}}}},"required":[3]}}]`)
	f.Add(`{"json_schema":{"name":7,"schema":[]}}`)
	f.Fuzz(func(t *testing.T, extra string) {
		for _, key := range []string{"tools", "response_format"} {
			r, err := scan([]byte(`{"model":"gpt-4o","` + key + `":` + extra + `,"messages":` + oneMessage + `}`))
			if err != nil {
				return
			}
			if b := r.beside(e); b.tools < 0 || b.format < 0 || b.reply != 3 {
				t.Errorf("%+v", b)
			}
		}
	})
}
