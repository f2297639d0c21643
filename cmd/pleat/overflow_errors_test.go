package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// providerError is a line of the collection of providers' errors.
type providerError struct {
	ID          string `json:"id"`
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Body        string `json:"body"`
	InStream    bool   `json:"in_stream"`
	Overflow    bool   `json:"is_context_overflow"`
	Kind        string `json:"kind"`
	Limit       int    `json:"limit_tokens"`
	LimitIs     string `json:"limit_is"`
}

// providerErrors returns the collection, or skips the test.
func providerErrors(t *testing.T) (all []providerError) {
	t.Helper()
	root := os.Getenv("PLEAT_CORPORA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	file, err := os.Open(filepath.Join(root, "..", "overflow_errors.jsonl"))
	if err != nil {
		t.Skip("no collection of errors beside the corpora: set PLEAT_CORPORA")
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e providerError
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// overflowReport is what Pleat's report holds of its own.
type overflowReport struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
		Param   string `json:"param"`
		Pleat   struct {
			Kind   string `json:"kind"`
			Window struct {
				reportedTokens

				Source string `json:"source"`
			} `json:"window"`
			Tokens   reportedTokens `json:"tokens"`
			Attempts []struct {
				Action string `json:"action"`
				Result string `json:"result"`
			} `json:"attempts"`
			Suggestions []string `json:"suggestions"`
			Upstream    struct {
				Status  int    `json:"status"`
				Message string `json:"message"`
			} `json:"upstream"`
		} `json:"pleat"`
	} `json:"error"`
}

type reportedTokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Total  int `json:"total"`
}

// Every provider's way of saying that the window is exceeded becomes one report,
// and every error that only resembles it arrives as it was sent: as a plain
// answer, and where the provider streams, in a stream.
func TestProvidersErrorsEndToEnd(t *testing.T) {
	upstream := &recorder{}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	pleat := startPleat(t, server.URL+"/v1")
	reports, passed := 0, 0
	for _, e := range providerErrors(t) {
		t.Run(e.ID, func(t *testing.T) {
			before := ""
			if e.InStream {
				before = ": waiting\n\ndata: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
			}
			upstream.answer, upstream.kind, upstream.status = []byte(before+e.Body), e.ContentType, e.Status
			upstream.free = true
			model := "unheard-of-" + e.ID
			body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"hello there"}]}`, model, e.InStream)
			_, answered := upstream.exchangeThrough(t, pleat, []byte(body))
			if !e.Overflow {
				passed++
				if string(answered) != before+e.Body {
					t.Errorf("arrived as %q", answered)
				}
				return
			}
			reports++
			if e.InStream {
				rest, ok := strings.CutPrefix(string(answered), before)
				_, last, found := strings.Cut(rest, "data: {\"error\"") // other comments may stand before it
				last, done := strings.CutSuffix(last, "\n\ndata: [DONE]\n\n")
				if !ok || !found || !done {
					t.Errorf("arrived as %q", answered)
				}
				answered = []byte(`{"error"` + last)
			} else if upstream.got != 400 {
				t.Errorf("status %d", upstream.got)
			}
			checkReport(t, e, answered)

			// What is known of the model from then on.
			upstream.answer, upstream.kind, upstream.status = []byte(`{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`), "application/json", 400
			_, answered = upstream.exchangeThrough(t, pleat, []byte(body))
			var then overflowReport
			if err := json.Unmarshal(answered, &then); err != nil {
				t.Fatalf("%s: %v", answered, err)
			}
			if w := then.Error.Pleat.Window; (w.Source == "learned") != (e.Limit > 0 && e.LimitIs != "bogus") {
				t.Errorf("afterwards the window is %+v", w)
			}
		})
	}
	t.Logf("%d reports, %d errors passed", reports, passed)
}

func checkReport(t *testing.T, e providerError, answer []byte) {
	t.Helper()
	var r overflowReport
	if err := json.Unmarshal(answer, &r); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	p := r.Error.Pleat
	if r.Error.Code != "context_length_exceeded" || r.Error.Type != "invalid_request_error" || r.Error.Param != "messages" || r.Error.Message == "" {
		t.Errorf("%+v", r.Error)
	}
	if p.Kind != e.Kind {
		t.Errorf("kind %s, want %s", p.Kind, e.Kind)
	}
	limit := p.Window.Total
	if e.Kind == "input" {
		limit = p.Window.Input
	}
	want := e.Limit
	if e.LimitIs == "bogus" {
		want = 0
	}
	if limit != want {
		t.Errorf("window %+v, want %d", p.Window, want)
	}
	if p.Upstream.Message == "" || p.Upstream.Status != e.Status {
		t.Errorf("upstream %+v", p.Upstream)
	}
	if len(p.Suggestions) == 0 || !bytes.Contains(answer, []byte(`"attempts":[`)) {
		t.Errorf("%s", answer)
	}
}
