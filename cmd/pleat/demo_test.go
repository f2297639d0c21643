package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/pleat-proxy/pleat/proxy/scripted"
)

// runDemo runs `pleat demo` with the arguments.
func runDemo(t *testing.T, environ []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, complaints bytes.Buffer
	err = run(t.Context(), append([]string{"demo"}, args...), environ, &out, &complaints)
	return out.String(), complaints.String(), err
}

func TestDemoSaves(t *testing.T) {
	defer goleak.VerifyNone(t)
	stdout, stderr, err := runDemo(t, nil)
	if err != nil || stderr != "" {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	for line := range strings.Lines(stdout) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Contains(stdout, "\x1b") {
		t.Error("colours in what is no terminal")
	}
	if n := strings.Count(stdout, "◂ new"); n < 6 {
		t.Errorf("%d folds, want at least 6 in %d turns", n, demoTurns)
	}
	for _, want := range []string{"the text is canned, the token counts are real", "  net saved ", "verbatim", "pending", "folded"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in:\n%s", want, stdout)
		}
	}

	// Configured for earnest use or not, the demo is the same.
	again, _, err := runDemo(t, []string{"PLEAT_TRIGGER=8000", "PLEAT_UPSTREAM=http://nowhere.invalid", "PLEAT_SUMMARIZER_SHARE=1%"})
	if err != nil {
		t.Fatal(err)
	}
	clock := regexp.MustCompile(`[\d.]+ ms`)
	if clock.ReplaceAllString(again, "") != clock.ReplaceAllString(stdout, "") {
		t.Errorf("two demos differ:\n%s\n%s", stdout, again)
	}
}

// TestDemoNumbers asks the provider whether what the demo shows is what
// arrived.
func TestDemoNumbers(t *testing.T) {
	defer goleak.VerifyNone(t)
	provider := scripted.New(scripted.Options{Reply: demoReply})
	server := httptest.NewServer(provider)
	defer server.Close()
	c := mustLoad(t, "", nil, "--upstream", server.URL+"/v1", "--trigger", "1024", "--log-access", "off")
	d := demo{turns: 40, model: demoModel}
	view := newDemoView(new(bytes.Buffer), false, 1000)
	cost, err := d.play(t.Context(), c, "key", view, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	totals := provider.Totals()
	want := demoCost{summaries: totals.Summaries, prompt: totals.Summary.Prompt, completion: totals.Summary.Completion}
	if cost != want || cost.summaries < 6 {
		t.Errorf("the demo says summaries cost %+v, the provider %+v", cost, want)
	}
	if s := view.sums(cost); s.with != totals.Conversation.Prompt || s.cached != totals.Conversation.Cached {
		t.Errorf("the demo says %+v was sent, the provider %+v", s, totals.Conversation)
	}
	if broken := provider.Violations(); len(broken) > 0 {
		t.Errorf("the provider found %v", broken)
	}
	conversations := provider.Conversations()
	if len(conversations) != d.turns || len(view.results) != d.turns {
		t.Fatalf("%d requests and %d lines for %d turns", len(conversations), len(view.results), d.turns)
	}
	for i, r := range view.results {
		got := conversations[i].Messages
		if user, _ := demoTurn(i); got[0].Text != demoSystem || got[len(got)-1].Text != user {
			t.Errorf("turn %d arrived without its first or its last message", r.turn)
		}
		// The fold is a message, and so may be its acknowledgement.
		if extra := len(got) + r.folded - (2*i + 2); (r.folded == 0 && extra != 0) || extra < 0 || extra > 2 {
			t.Errorf("turn %d: %d of %d messages arrived, %d are said to be folded", r.turn, len(got), 2*i+2, r.folded)
		}
	}
}

func TestDemoBeforeAnotherProvider(t *testing.T) {
	defer goleak.VerifyNone(t)
	provider := scripted.New(scripted.Options{Reply: demoReply})
	server := httptest.NewServer(provider)
	defer server.Close()
	stdout, stderr, err := runDemo(t, []string{"MY_KEY=sk-mine"}, "--upstream", server.URL+"/api", "--model", "some-model",
		"--summarizer-models", "small-model", "--api-key-env", "MY_KEY", "--turns", "16", "--trigger", "1024")
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if strings.Contains(stdout, "canned") || !strings.Contains(stdout, "Model some-model; summaries by small-model.") || strings.Contains(stdout+stderr, "sk-mine") {
		t.Errorf("said:\n%s%s", stdout, stderr)
	}
	if len(provider.Summaries()) == 0 {
		t.Error("no summary was asked for")
	}
	for _, r := range provider.Requests() {
		want := "some-model"
		if r.Summary {
			want = "small-model"
		}
		if r.Header.Get("Authorization") != "Bearer sk-mine" || r.Path != "/api/chat/completions" || r.Model != want {
			t.Errorf("request %d: %s, model %s, authorization given: %t", r.Number, r.Path, r.Model, r.Header.Get("Authorization") != "")
		}
	}
}

func TestDemoFails(t *testing.T) {
	refusing := httptest.NewServer(scripted.New(scripted.Options{Reply: func(*scripted.Request) scripted.Reply {
		return scripted.Reply{Status: http.StatusUnauthorized, Text: "Incorrect key"}
	}}))
	defer refusing.Close()
	silent := httptest.NewServer(scripted.New(scripted.Options{Reply: func(*scripted.Request) scripted.Reply {
		return scripted.Reply{}
	}}))
	defer silent.Close()
	key := []string{"OPENAI_API_KEY=sk-mine"}
	tests := []struct {
		name    string
		environ []string
		args    []string
		status  int
		want    string
	}{
		{"no turns", nil, []string{"--turns", "0"}, 2, "allowed: 1 to 60"},
		{"too many turns", nil, []string{"--turns", "61"}, 2, "allowed: 1 to 60"},
		{"no number", nil, []string{"--turns", "x"}, 2, "turns"},
		{"a bad trigger", nil, []string{"--trigger", "soon"}, 2, "flag --trigger"},
		{"a model for the script", nil, []string{"--model", "m"}, 2, "needs --upstream"},
		{"no model", key, []string{"--upstream", refusing.URL}, 2, "needs --model"},
		{"no key", nil, []string{"--upstream", refusing.URL, "--model", "m"}, 2, "OPENAI_API_KEY"},
		{"a key with a line's end", []string{"OPENAI_API_KEY=sk-mine\n"}, []string{"--upstream", refusing.URL, "--model", "m"}, 2, "OPENAI_API_KEY: a space"},
		{"a key elsewhere", key, []string{"--upstream", refusing.URL, "--model", "m", "--api-key-env", "OTHER"}, 2, "OTHER"},
		{"an argument", nil, []string{"now"}, 2, "now"},
		{"refused", key, []string{"--upstream", refusing.URL, "--model", "m"}, 1, "turn 1: the answer is 401 Unauthorized"},
		{"no answer", key, []string{"--upstream", silent.URL, "--model", "m"}, 1, "turn 1: the model answered nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, stderr, err := runDemo(t, test.environ, test.args...)
			if err == nil || exitStatus(err) != test.status || !strings.Contains(err.Error(), test.want) {
				t.Errorf("status %d, error %v; want status %d and %q", exitStatus(err), err, test.status, test.want)
			}
			if err != nil && strings.Contains(err.Error()+stderr, "sk-mine") {
				t.Errorf("the key is shown: %v %s", err, stderr)
			}
		})
	}
}

func TestDemoVerdict(t *testing.T) {
	good := demoSums{without: 100, with: 50, cost: 49}
	if err := demoVerdict(nil, good); err != nil {
		t.Errorf("a saving of one token: %v", err)
	}
	if err := demoVerdict(nil, demoSums{without: 100, with: 50, cost: 50}); err == nil {
		t.Error("no saving was taken for one")
	}
	err := demoVerdict([]scripted.Violation{{Request: 7, Problem: "messages is empty"}}, good)
	if err == nil || !strings.Contains(err.Error(), "request 7: messages is empty") {
		t.Errorf("an invalid request: %v", err)
	}
}

func TestDemoStopsWithItsContext(t *testing.T) {
	defer goleak.VerifyNone(t)
	_, _, err := runCommand(t, nil, "demo") // whose context has ended
	if err == nil {
		t.Error("the demo went on")
	}
}

func TestDemoScript(t *testing.T) {
	seen := make(map[string]int)
	for n := range demoMaxTurns() {
		user, assistant := demoTurn(n)
		for _, text := range []string{user, assistant} {
			if before, ok := seen[text]; ok {
				t.Errorf("turn %d repeats turn %d: %s", n, before, text)
			}
			seen[text] = n
			if len(text) < 250 || len(text) > 900 || strings.ContainsAny(text, "{}") {
				t.Errorf("turn %d, %d bytes: %s", n, len(text), text)
			}
		}
	}
}

func TestDemoPleatThatCannotStart(t *testing.T) {
	c := mustLoad(t, "", nil)
	c.Upstream = &url.URL{Scheme: "gopher", Host: "h"}
	if _, err := startDemoPleat(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("started without a usable upstream")
	}
}

func TestReadDemoHeaders(t *testing.T) {
	h := http.Header{}
	if _, err := readDemoHeaders(h); err == nil {
		t.Error("a response that Pleat has not seen passed")
	}
	for name, value := range map[string]string{
		"X-Pleat-Status": "folded", "X-Pleat-Tokens-Received": "10", "X-Pleat-Tokens-Sent": "7", "X-Pleat-Folded-Messages": "2",
		"Server-Timing": "cdn;dur=3, pleat;dur=1.5",
	} {
		h.Set(name, value)
	}
	r, err := readDemoHeaders(h)
	want := demoResult{received: 10, sent: 7, folded: 2, status: "folded", added: 1_500_000}
	if err != nil || r != want {
		t.Errorf("read %+v, %v; want %+v", r, err, want)
	}
	h.Set("X-Pleat-Tokens-Sent", "many")
	if _, err := readDemoHeaders(h); err == nil || !strings.Contains(err.Error(), "Tokens-Sent") {
		t.Errorf("got %v", err)
	}
}
