package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runExplain runs `pleat explain` with something coming in.
func runExplain(t *testing.T, in string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, complaints strings.Builder
	root := newRoot(nil)
	root.SetArgs(append([]string{"explain"}, args...))
	root.SetIn(strings.NewReader(in))
	root.SetOut(&out)
	root.SetErr(&complaints)
	err = root.ExecuteContext(t.Context())
	return out.String(), complaints.String(), err
}

// explained is an agent's request: two turns, a long one that goes on, and odd
// text in it.
func explained() string {
	words := strings.Repeat("the harbour keeps its lists in order ", 24)
	list := []string{
		`{"role":"system","content":"Be brief."}`,
		`{"role":"user","content":"Hello"}`,
		`{"role":"assistant","content":"` + words + `"}`,
		`{"role":"user","content":"Repair the build.\u001b[2J\nDo not touch main.go."}`,
	}
	for i := range 4 {
		list = append(list,
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"look","arguments":"{}"}}]}`, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"result %d %s"}`, i, i, words))
	}
	return `{"model":"gpt-4o","messages":[` + strings.Join(list, ",") + `],` +
		`"tools":[{"type":"function","function":{"name":"look","parameters":{}}}]}`
}

func TestExplainGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"steps":   {"--trigger=512", "--scope=steps", "--summary=They greeted; three results were read."},
		"nothing": nil,
		"shorten": {"--scope=turns", "--trigger=64", "--tool-results=shorten", "--tool-results-keep=2", "--model=my-llama"},
	} {
		t.Run(name, func(t *testing.T) {
			in := explained()
			if name == "shorten" {
				in = strings.ReplaceAll(in, "result 0 ", "result 0 "+strings.Repeat("one more line\\n", 60))
			}
			stdout, stderr, err := runExplain(t, in, append(args, "-")...)
			if err != nil || stderr != "" {
				t.Fatal(err, stderr)
			}
			golden(t, "testdata/explain."+name+".txt", stdout)
		})
	}
}

func TestExplainJSON(t *testing.T) {
	stdout, _, err := runExplain(t, explained(), "--trigger=512", "--scope=steps", "--json", "--summary=Short.", "-")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Trigger  int  `json:"trigger"`
		Turns    int  `json:"turns"`
		Steps    int  `json:"steps"`
		Received int  `json:"tokens_received"`
		Sent     int  `json:"tokens_sent"`
		Fixed    int  `json:"tokens_beside_messages"`
		Due      bool `json:"fold_due"`
		Replaces int  `json:"fold_replaces"`
		Fold     int  `json:"fold_tokens"`
		Window   struct {
			Source string `json:"source"`
		} `json:"window"`
		Messages []struct {
			What     string `json:"what"`
			Received int    `json:"tokens_received"`
			Sent     int    `json:"tokens_sent"`
		} `json:"messages"`
		Request struct {
			Messages []struct {
				Content string `json:"content"`
			} `json:"messages"`
		} `json:"request"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	received, sent, folded := got.Fixed, got.Fixed+got.Fold, 0
	for _, m := range got.Messages {
		received, sent = received+m.Received, sent+m.Sent
		if m.What == "folded" {
			folded += m.Received
		}
	}
	if received != got.Received || sent != got.Sent || folded != got.Replaces {
		t.Errorf("the parts sum to %d received, %d sent, %d folded: %+v", received, sent, folded, got)
	}
	if !got.Due || got.Trigger != 512 || got.Turns != 2 || got.Steps != 5 || got.Window.Source == "" {
		t.Errorf("%+v", got)
	}
	if text := got.Request.Messages[1].Content; !strings.HasSuffix(text, "Short.") {
		t.Errorf("the outgoing request has %q", text)
	}
}

// What is sent can be had byte for byte, on paper and in a file.
func TestExplainRequest(t *testing.T) {
	in := explained()
	path := filepath.Join(t.TempDir(), "out.json")
	stdout, _, err := runExplain(t, in, "--request", "--out", path, "-")
	if err != nil || stdout != in {
		t.Fatalf("%v: %d bytes of %d", err, len(stdout), len(in))
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != in {
		t.Errorf("%v: %d bytes of %d", err, len(data), len(in))
	}
}

func TestExplainRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"no chat request": {`{"messages":"my secret"}`, []string{"-"}, "no chat request"},
		"no file":         {"", nil, "takes the name of a file"},
		"both forms":      {explained(), []string{"--json", "--request", "-"}, "one of the two"},
		"a wrong option":  {explained(), []string{"--scope=all", "-"}, "flag --scope"},
		"nowhere to go":   {explained(), []string{"--out=/nowhere/at/all", "-"}, "flag --out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := runExplain(t, tc.in, tc.args...)
			if err == nil || exitStatus(err) != 2 ||
				!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, status %d", err, exitStatus(err))
			}
		})
	}
}
