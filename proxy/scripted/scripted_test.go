package scripted

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRecords(t *testing.T) {
	u := New(Options{})
	body := chatBody(`{"role":"user","name":"Ada","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`)
	const target = "/base/deployments/a%2Fb/chat/completions?api-version=1;x"
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer k")
	u.ServeHTTP(httptest.NewRecorder(), r)

	got := u.Conversations()
	if len(got) != 1 || len(u.Requests()) != 1 || len(u.Summaries()) != 0 {
		t.Fatalf("kept %d conversations of %d requests", len(got), len(u.Requests()))
	}
	req := got[0]
	if req.Path != "/base/deployments/a%2Fb/chat/completions" || req.Query != "api-version=1;x" || req.Header.Get("Authorization") != "Bearer k" {
		t.Errorf("kept %s ? %s, %v", req.Path, req.Query, req.Header)
	}
	if string(req.Body) != body || req.Model != "m" || req.Number != 1 {
		t.Errorf("kept body %s, model %s, number %d", req.Body, req.Model, req.Number)
	}
	if m := req.Messages[0]; m.Text != "a\nb" || m.Name != "Ada" || m.Parts != 2 {
		t.Errorf("kept message %+v", m)
	}
	if req.Usage.Prompt == 0 || req.Usage.Prompt != req.Tokens {
		t.Errorf("usage %+v of a prompt of %d", req.Usage, req.Tokens)
	}
}

func TestTellsSummaries(t *testing.T) {
	question := `{"model":"m","max_completion_tokens":40,"messages":[{"role":"user","content":"Write.\n===== f\n[1] user:\nThe host is db-7.\n===== f\n"}]}`
	u := New(Options{})
	if _, body := post(t, u, question); !strings.Contains(body, `"content":"The host is db-7."`) {
		t.Errorf("answered %s", body)
	}
	if _, body := post(t, u, strings.Replace(question, "40", "1", 1)); !strings.Contains(body, `"completion_tokens":1,`) {
		t.Errorf("asked for one token, answered %s", body)
	}
	post(t, u, strings.Replace(question, `"max_completion_tokens":40,`, "", 1)) // a user who writes fences
	if n, m := len(u.Summaries()), len(u.Conversations()); n != 2 || m != 1 {
		t.Errorf("%d summaries and %d conversations, want 2 and 1", n, m)
	}

	u = New(Options{IsSummary: ByModel("small"), Summary: func(*Request) Reply { return Reply{Text: "noted"} }})
	post(t, u, question)
	if _, body := post(t, u, strings.Replace(question, `"m"`, `"small"`, 1)); !strings.Contains(body, "noted") {
		t.Errorf("answered %s", body)
	}
	if totals := u.Totals(); totals.Summaries != 1 || totals.Conversations != 1 || totals.Summary.Completion == 0 {
		t.Errorf("totals %+v", totals)
	}
}

func TestHoldsAnswers(t *testing.T) {
	gate := make(chan struct{})
	u := New(Options{Reply: func(*Request) Reply { return Reply{Text: "late", Wait: gate} }})
	server := httptest.NewServer(u)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	ask := func(ctx context.Context) error {
		body := strings.NewReader(chatBody(user))
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/chat/completions", body)
		if err != nil {
			return err
		}
		res, err := server.Client().Do(r)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}
	leaving, leave := context.WithCancel(ctx)
	done := make(chan error, 2)
	go func() { done <- ask(leaving) }()
	if err := u.WaitFor(ctx, 1); err != nil {
		t.Fatal(err)
	}
	leave()
	if err := <-done; err == nil {
		t.Error("the request that was given up was answered")
	}
	if err := u.Wait(ctx, func(n Totals) bool { return n.Left == 1 }); err != nil {
		t.Fatalf("the client's leaving was not noticed: %v", err)
	}

	go func() { done <- ask(ctx) }()
	if err := u.WaitFor(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if n := u.Totals().Answered; n != 0 {
		t.Errorf("%d answers before the gate opened", n)
	}
	close(gate)
	if err := <-done; err != nil {
		t.Errorf("the held request: %v", err)
	}
	if err := u.Wait(ctx, func(n Totals) bool { return n.Answered == 1 }); err != nil {
		t.Fatal(err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(Options{}).WaitFor(ctx, 1); err == nil {
		t.Error("WaitFor returned without a request")
	}
}

func TestOtherPaths(t *testing.T) {
	u := New(Options{})
	for path, want := range map[string]int{"/v1/models": http.StatusOK, "/v1/files": http.StatusNotFound} {
		w := httptest.NewRecorder()
		u.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
	}
	if got := u.Totals(); !reflect.DeepEqual(got, Totals{Arrived: 2}) {
		t.Errorf("totals %+v", got)
	}
}
