package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const countedRequest = `{"model":"gpt-4o","messages":[
	{"role":"system","content":"Be brief."},
	{"role":"user","content":"hello world"},
	{"role":"assistant","content":"Hello!"},
	{"role":"user","content":"tiktoken is great!"}],
	"tools":[{"type":"function","function":{"name":"weather","parameters":{}}}],
	"response_format":{"type":"json_object"}}`

// runCount runs `pleat count` with something coming in.
func runCount(t *testing.T, in string, environ []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, complaints strings.Builder
	root := newRoot(environ)
	root.SetArgs(append([]string{"count"}, args...))
	root.SetIn(strings.NewReader(in))
	root.SetOut(&out)
	root.SetErr(&complaints)
	err = root.ExecuteContext(t.Context())
	return out.String(), complaints.String(), err
}

func TestCountGolden(t *testing.T) {
	stdout, stderr, err := runCount(t, countedRequest, nil, "-")
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	asJSON, _, err := runCount(t, countedRequest, nil, "--json", "-")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/count.request.txt", "$ pleat count -\n"+stdout+"\n$ pleat count --json -\n"+asJSON)
}

// TestCountText: the counts of the words are those that tiktoken's own
// documentation has for them.
func TestCountText(t *testing.T) {
	for _, c := range []struct {
		in   string
		args []string
		want string
	}{
		{"tiktoken is great!", nil, "6 tokens (o200k_base) in 18 bytes of plain text\n"},
		{"tiktoken is great!", []string{"--encoding=cl100k_base"}, "6 tokens (cl100k_base) in 18 bytes of plain text\n"},
		{"hello world", []string{"--model=gpt-4"}, "2 tokens (cl100k_base, gpt-4's own) in 11 bytes of plain text\n"},
		{"hello world", []string{"--model=claude-sonnet-4-5"}, "about 2 tokens (estimated with o200k_base: the tokenizer of claude-sonnet-4-5 is not at hand) in 11 bytes of plain text\n"},
		{"hello world", []string{"--model=gpt-4", "--encoding=o200k_base"}, "2 tokens (o200k_base) in 11 bytes of plain text\n"},
		{"a", nil, "1 token (o200k_base) in 1 byte of plain text\n"},
		{"", nil, "0 tokens (o200k_base) in 0 bytes of plain text\n"},
		{"<|endoftext|>", []string{"--model=gpt-4o"}, "7 tokens (o200k_base, gpt-4o's own) in 13 bytes of plain text\n"},
	} {
		stdout, stderr, err := runCount(t, c.in, nil, append(c.args, "-")...)
		if err != nil || stdout != c.want || stderr != "" {
			t.Errorf("%q %v: %q, %q, %v, want %q", c.in, c.args, stdout, stderr, err, c.want)
		}
	}
}

// counted is what programs read.
type counted struct {
	Kind     string         `json:"kind"`
	Tokens   int            `json:"tokens"`
	Encoding string         `json:"encoding"`
	Exact    bool           `json:"exact"`
	Model    string         `json:"model"`
	Chunks   map[string]int `json:"chunks"`
	Format   int            `json:"response_format"`
	Reply    int            `json:"reply"`
	Tools    []toolJSON     `json:"tools"`
	Messages []messageJSON  `json:"messages"`
}

func countJSONOf(t *testing.T, in string, args ...string) counted {
	t.Helper()
	stdout, _, err := runCount(t, in, nil, append(args, "--json", "-")...)
	if err != nil {
		t.Fatal(err)
	}
	var got counted
	d := json.NewDecoder(strings.NewReader(stdout))
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Errorf("more than one object: %s", stdout)
	}
	return got
}

func TestCountJSON(t *testing.T) {
	got := countJSONOf(t, countedRequest)
	if got.Kind != "request" || got.Encoding != "o200k_base" || !got.Exact || got.Model != "gpt-4o" {
		t.Errorf("%+v", got)
	}
	sum := got.Format + got.Reply
	for _, n := range got.Chunks {
		sum += n
	}
	if sum != got.Tokens || got.Chunks["system"] == 0 || got.Chunks["done"] == 0 || got.Chunks["cur"] == 0 || got.Chunks["tools"] == 0 {
		t.Errorf("chunks sum to %d, the whole is %d: %+v", sum, got.Tokens, got.Chunks)
	}
	if len(got.Messages) != 4 || got.Messages[3].Index != 3 || got.Messages[3].Role != "user" || got.Messages[3].Chunk != "cur" || got.Messages[3].Tokens < 6 {
		t.Errorf("messages: %+v", got.Messages)
	}
	if len(got.Tools) != 1 || got.Tools[0].Name != "weather" || got.Tools[0].Tokens == 0 {
		t.Errorf("tools: %+v", got.Tools)
	}

	for _, c := range []struct {
		args     []string
		encoding string
		exact    bool
	}{
		{[]string{"--model=gpt-4"}, "cl100k_base", true},
		{[]string{"--model=llama3.1:8b"}, "o200k_base", false},
		{[]string{"--encoding=p50k_base"}, "p50k_base", true},
	} {
		got := countJSONOf(t, countedRequest, c.args...)
		if got.Encoding != c.encoding || got.Exact != c.exact || got.Tokens == 0 {
			t.Errorf("%v: %s, exact %t, %d tokens", c.args, got.Encoding, got.Exact, got.Tokens)
		}
	}

	plain := countJSONOf(t, "hello world", "--model=gpt-4o")
	if plain.Kind != "text" || plain.Tokens != 2 || !plain.Exact || plain.Chunks != nil || plain.Messages != nil {
		t.Errorf("%+v", plain)
	}
	if asText := countJSONOf(t, countedRequest, "--text"); asText.Kind != "text" || asText.Messages != nil {
		t.Errorf("--text: %+v", asText)
	}
}

// TestCountToolsThatOutweighTheRest: tools that hold most of a request's tokens
// are counted so.
func TestCountToolsThatOutweighTheRest(t *testing.T) {
	tool := `{"type":"function","function":{"name":"f","description":"` + strings.Repeat("It looks things up. ", 60) + `","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}`
	got := countJSONOf(t, `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"tools":[`+strings.Repeat(tool+",", 9)+tool+`]}`)
	if part := float64(got.Chunks["tools"]) / float64(got.Tokens); part < 0.95 || len(got.Tools) != 10 {
		t.Errorf("tools are %.0f%% of %d tokens", 100*part, got.Tokens)
	}
}

func TestCountFileAndConfiguration(t *testing.T) {
	dir := t.TempDir()
	request, config := filepath.Join(dir, "request.json"), filepath.Join(dir, "pleat.yml")
	for path, data := range map[string]string{
		request: strings.Replace(countedRequest, "gpt-4o", "prod-eu", 1),
		config:  "models:\n  prod-*: {same_as: gpt-4}\n",
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, _, err := runCount(t, "", nil, request)
	if err != nil || !strings.Contains(stdout, "estimated with o200k_base: the tokenizer of prod-eu is not at hand") {
		t.Errorf("%v\n%s", err, stdout)
	}
	for _, c := range []struct{ environ, args []string }{
		{nil, []string{"--config", config, request}},
		{[]string{"PLEAT_CONFIG=" + config}, []string{request}},
	} {
		stdout, _, err := runCount(t, "", c.environ, c.args...)
		if err != nil || !strings.Contains(stdout, "(cl100k_base, prod-eu's own)") {
			t.Errorf("%v: %v\n%s", c, err, stdout)
		}
	}
}

// TestCountSaysWhatItTookForText: a request with a slip in it is counted as
// text, and that is said without a word of it.
func TestCountSaysWhatItTookForText(t *testing.T) {
	stdout, stderr, err := runCount(t, `{"model":"gpt-4o","messages":[{"content":"secret words"}]}`, nil, "-")
	if err != nil || !strings.Contains(stdout, "of plain text") {
		t.Errorf("%v: %s", err, stdout)
	}
	if !strings.Contains(stderr, "counted as plain text, since it is no chat request: byte ") || strings.Contains(stderr, "secret") {
		t.Errorf("stderr: %s", stderr)
	}
}

// TestCountShowsNamesSafely: what a request calls its tools cannot move the
// terminal's cursor.
func TestCountShowsNamesSafely(t *testing.T) {
	stdout, _, err := runCount(t, `{"model":"m\u001b[2J","messages":[{"role":"user\u0007","content":"x"}],"tools":[{"function":{"name":"\u001b]0;x"}}]}`, nil, "-")
	if err != nil || strings.ContainsAny(stdout, "\x1b\x07") || !strings.Contains(stdout, `"m\x1b[2J"`) {
		t.Errorf("%v: %q", err, stdout)
	}
}
