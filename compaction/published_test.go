package compaction

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// The examples of the OpenAI cookbook, "How to count tokens with tiktoken", for
// which it states what the API counted.
const (
	cookbookMessages = `"messages": [
		{"role": "system", "content": "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."},
		{"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
		{"role": "system", "name": "example_assistant", "content": "Things working well together will increase revenue."},
		{"role": "system", "name": "example_user", "content": "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."},
		{"role": "system", "name": "example_assistant", "content": "Let's talk later when we're less busy about how to do better."},
		{"role": "user", "content": "This late pivot means we don't have time to boil the ocean for the client deliverable."}
	]`
	cookbookTools = `"messages": [
		{"role": "system", "content": "You are a helpful assistant that can answer to questions about the weather."},
		{"role": "user", "content": "What's the weather like in San Francisco?"}
	], "tools": [{"type": "function", "function": {
		"name": "get_current_weather",
		"description": "Get the current weather in a given location",
		"parameters": {"type": "object", "properties": {
			"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
			"unit": {"type": "string", "description": "The unit of temperature to return", "enum": ["celsius", "fahrenheit"]}
		}, "required": ["location"]}
	}}]`
)

func TestPublishedExamples(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		model, members string
		want           int
	}{
		{"gpt-3.5-turbo", cookbookMessages, 129},
		{"gpt-4-0613", cookbookMessages, 129},
		{"gpt-4", cookbookMessages, 129},
		{"gpt-4o", cookbookMessages, 124},
		{"gpt-4o-mini", cookbookMessages, 124},
		{"gpt-3.5-turbo", cookbookTools, 105},
		{"gpt-4", cookbookTools, 105},
		{"gpt-4o", cookbookTools, 101},
		{"gpt-4o-mini", cookbookTools, 101},
	}
	for _, test := range tests {
		m, err := Measure([]byte(`{"model":"`+test.model+`",`+test.members+`}`), "", counter.For)
		if err != nil {
			t.Fatal(err)
		}
		if m.Tokens != test.want || !m.Encoder.Exact() {
			t.Errorf("%s: %d tokens (exact: %t), the API counted %d", test.model, m.Tokens, m.Encoder.Exact(), test.want)
		}
	}
}

// TestOldFunctions: what the API counted for gpt-3.5-turbo, as the tests of
// hmarr/openai-chat-tokens record it.
func TestOldFunctions(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	const (
		hello  = `"messages":[{"role":"user","content":"hello"}]`
		stuff  = `,"functions":[{"name":"do_stuff","parameters":{"type":"object","properties":{}}}]`
		object = `"parameters":{"type":"object","properties":`
	)
	tests := map[string]struct {
		members string
		want    int
	}{
		"a message":            {hello, 8},
		"three":                {`"messages":[{"role":"system","content":"# Important: you're the best robot"},{"role":"user","content":"hello robot"},{"role":"assistant","content":"hello world"}]`, 27},
		"a function":           {hello + `,"functions":[{"name":"foo",` + object + `{}}}]`, 31},
		"described":            {hello + `,"functions":[{"name":"foo","description":"Do a foo",` + object + `{}}}]`, 36},
		"a property":           {hello + `,"functions":[{"name":"bing_bong","description":"Do a bing bong",` + object + `{"foo":{"type":"string"}}}}]`, 49},
		"two properties":       {hello + `,"functions":[{"name":"bing_bong","description":"Do a bing bong",` + object + `{"foo":{"type":"string"},"bar":{"type":"number","description":"A number"}}}}]`, 57},
		"an object within":     {hello + `,"functions":[{"name":"bing_bong","description":"Do a bing bong",` + object + `{"foo":{"type":"object","properties":{"bar":{"type":"string","enum":["a","b","c"]},"baz":{"type":"boolean"}}}}}}]`, 68},
		"a system message":     {`"messages":[{"role":"system","content":"Hello"},{"role":"user","content":"Hi there"}]` + stuff, 35},
		"its colon takes more": {`"messages":[{"role":"system","content":"Hello:"},{"role":"user","content":"Hi there"}]` + stuff, 35},
		"two system messages":  {`"messages":[{"role":"system","content":"Hello:"},{"role":"system","content":"Hello"},{"role":"user","content":"Hi there"}]` + stuff, 40},
		"a result":             {`"messages":[{"role":"user","content":"hello world"},{"role":"function","name":"do_stuff","content":"{}"}]`, 15},
		"a longer result":      {`"messages":[{"role":"function","name":"dance_the_tango","content":"{\"a\": { \"b\" : { \"c\": false}}}"}]`, 24},
		"a call":               {`"messages":[{"role":"assistant","content":"","function_call":{"name":"do_stuff","arguments":"{\"foo\": \"bar\", \"baz\": 1.5}"}}]`, 26},
		"arrays of objects": {hello + `,"functions":[{"name":"get_recipe","parameters":{"type":"object","required":["ingredients","instructions","time_to_cook"],"properties":{
			"ingredients":{"type":"array","items":{"type":"object","required":["name","unit","amount"],"properties":{"name":{"type":"string"},"unit":{"enum":["grams","ml","cups","pieces","teaspoons"],"type":"string"},"amount":{"type":"number"}}}},
			"instructions":{"type":"array","items":{"type":"string"},"description":"Steps to prepare the recipe (no numbering)"},
			"time_to_cook":{"type":"number","description":"Total time to prepare the recipe in minutes"}}}}]`, 106},
	}
	for name, test := range tests {
		m, err := Measure([]byte(`{"model":"gpt-3.5-turbo",`+test.members+`}`), "", counter.For)
		if err != nil {
			t.Fatal(err)
		}
		if m.Tokens != test.want {
			t.Errorf("%s: %d tokens, the API counted %d", name, m.Tokens, test.want)
		}
	}
}

var promptTokens = regexp.MustCompile(`"prompt_tokens":\s*(\d+)`)

// TestRecordedUsage compares with what OpenAI's own servers, and others that run
// gpt-oss without more, stated for recorded requests of text and tools: within
// 3 %, or 2 tokens.
func TestRecordedUsage(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(filepath.Dir(corpora(t)[0]), "..", "..")
	exact, all := 0, 0
	for _, provider := range []string{"openai", "azure-openai", "llama.cpp"} {
		dirs, err := filepath.Glob(filepath.Join(root, "wire", provider, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			body, want := recordedUsage(dir)
			m, err := Measure(body, "", counter.For)
			if err != nil || want == 0 || !m.Encoder.Exact() || unlike(m, body) {
				continue
			}
			all++
			if m.Tokens == want {
				exact++
			}
			if off := max(m.Tokens-want, want-m.Tokens); off > 2 && off*100 > want*3 {
				t.Errorf("%s (%s): %d tokens, the server counted %d", dir, m.Model, m.Tokens, want)
			}
		}
	}
	if all < 10 || exact*10 < all*8 {
		t.Errorf("%d of %d recordings are counted exactly", exact, all)
	}
	t.Logf("%d of %d recordings are counted exactly", exact, all)
}

// unlike names what is known to be counted otherwise: images whose size is not
// in the request, a model that looks things up itself, gpt-4.1 with tools, which
// one unpublished figure says nothing about, and the one schema with two
// descriptions, of which the server shows one.
func unlike(m Measurement, body []byte) bool {
	r, err := scan(body)
	if err != nil {
		return true
	}
	for i := range r.messages {
		for _, p := range r.outline(i).parts {
			if p.kind != "text" {
				return true
			}
		}
	}
	return m.Model == "gpt-4o-mini-search-preview" || m.Model == "gpt-4.1-mini" && m.Tools > 0 || m.Format > 50
}

// recordedUsage is a recorded request and the usage that its response stated.
func recordedUsage(dir string) (body []byte, prompt int) {
	body, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil || !json.Valid(body) {
		return nil, 0
	}
	for _, name := range []string{"response.sse", "response.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if found := promptTokens.FindAllSubmatch(text, -1); found != nil {
			prompt, _ = strconv.Atoi(string(found[len(found)-1][1]))
		}
	}
	return body, prompt
}
