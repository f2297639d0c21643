package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Pieces of streams.
const (
	processing = ": OPENROUTER PROCESSING\n\n"
	roleA      = `data: {"id":"A","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	roleB      = `data: {"id":"B","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[]}}],"usage":null}` + "\n\n"
	helloB     = `data: {"id":"B","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"He said \"B\""}}]}` + "\n\n"
	endB       = `data: {"id":"B","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"id":"B","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}` + "\n\ndata: [DONE]\n\n"
	refusedEvent = "data: " + refusedText + "\n\n"
	refusedNamed = "event: error\r\ndata: " + refusedText + "\r\n\r\n"
)

// events plays a stream in pieces of size bytes, each flushed.
func events(stream string, size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := stream; rest != ""; {
			n := min(size, len(rest))
			_, _ = io.WriteString(w, rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}
}

// asA is a stream of B's events as the client of completion A is to see them.
func asA(stream string) string { return strings.ReplaceAll(stream, `"id":"B"`, `"id":"A"`) }

// A refusal in a stream, before content, is answered with another stream, of
// which nothing is repeated that the client has, however the bytes are cut.
func TestRecoverStreams(t *testing.T) {
	for name, tc := range map[string]struct{ first, second, want string }{
		"at once":              {refusedEvent, roleB + helloB + endB, roleB + helloB + endB},
		"named, CRLF":          {refusedNamed, roleB + helloB + endB, roleB + helloB + endB},
		"then done":            {refusedEvent + "data: [DONE]\n\n", helloB + endB, helloB + endB},
		"without blank line":   {"data: " + refusedText, helloB + endB, helloB + endB},
		"no event at all":      {refusedText, helloB + endB, helloB + endB},
		"after a comment":      {processing + refusedEvent, processing + processing + helloB + endB, processing + processing + helloB + endB},
		"after a role":         {roleA + refusedEvent, roleB + helloB + endB, roleA + asA(helloB+endB)},
		"after both":           {processing + roleA + refusedNamed, processing + roleB + helloB + endB, processing + roleA + asA(helloB+endB)},
		"role and content":     {roleA + refusedEvent, helloB + endB, roleA + asA(helloB+endB)},
		"longer than an error": {roleA + refusedEvent, roleB + strings.Repeat(helloB, 3000) + endB, roleA + asA(strings.Repeat(helloB, 3000)+endB)},
	} {
		for _, size := range []int{1, 7, 100, 1 << 20} {
			if size == 1 && len(tc.second) > 10_000 {
				continue
			}
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				base, requests := refusing(t, events(tc.first, size), events(tc.second, size))
				r := newMendingRig(t, base, `{"short":1}`)
				res, body := r.post(t, longChat, "Idempotency-Key", "once")
				if res.StatusCode != http.StatusOK || body != tc.want {
					t.Errorf("status %d\n got %q\nwant %q", res.StatusCode, body, tc.want)
				}
				if len(*requests) != 2 || (*requests)[1].Header.Get("Idempotency-Key") != "" {
					t.Errorf("%d requests", len(*requests))
				}
				if u := r.fake.waitEnd(t); u.Prompt != 5 || fmt.Sprint(r.fake.statuses) != "[200]" {
					t.Errorf("usage %+v, the compactor was told %v", u, r.fake.statuses)
				}
			})
		}
	}
}

// What is refused in a stream for good ends it with the report.
func TestReportInStreams(t *testing.T) {
	for name, tc := range map[string]struct {
		short  string
		second http.HandlerFunc
	}{
		"nothing to do": {"", nil},
		"refused again": {`{"short":1}`, events(roleB+refusedEvent, 50)},
		"refused plainly now": {`{"short":1}`, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, refusedText)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			base, _ := refusing(t, events(roleA+refusedEvent+helloB, 30), tc.second)
			r := newMendingRig(t, base, tc.short)
			res, body := r.post(t, longChat)
			last, ok := strings.CutPrefix(body, roleA+"data: ")
			last, done := strings.CutSuffix(last, "\n\ndata: [DONE]\n\n")
			if res.StatusCode != http.StatusOK || !ok || !done {
				t.Fatalf("status %d, %q", res.StatusCode, body)
			}
			if e := parseEnvelope(t, last).Error; e.Code != "context_length_exceeded" || e.Pleat.Window.Total != 4096 {
				t.Errorf("%+v", e)
			}
			r.fake.waitEnd(t)
			if got := fmt.Sprint(r.fake.statuses); got != "[400]" {
				t.Errorf("the compactor was told %s", got)
			}
		})
	}
}

// A second attempt that is no stream ends the first as an error event.
func TestStreamThatCannotGoOn(t *testing.T) {
	for name, tc := range map[string]struct {
		second http.HandlerFunc
		want   string
	}{
		"an envelope": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "{\n \"error\": {\"message\": \"slow down\"}}\n")
		}, `data: {"error":{"message":"slow down"}}` + "\n\ndata: [DONE]\n\n"},
		"prose": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>")
		}, `"code":"upstream_error"`},
	} {
		t.Run(name, func(t *testing.T) {
			base, _ := refusing(t, events(roleA+refusedEvent, 1000), tc.second)
			r := newMendingRig(t, base, `{"short":1}`)
			_, body := r.post(t, longChat)
			if !strings.HasPrefix(body, roleA) || !strings.Contains(body, tc.want) {
				t.Errorf("%q", body)
			}
			r.Close()
			if got := r.metric(t, "pleat_overflows_total", "outcome=failed"); got != 1 {
				t.Errorf("counted %v", got)
			}
		})
	}
}

// After content nothing is held back or done again; and what only resembles a
// refusal passes.
func TestStreamsThatPass(t *testing.T) {
	quoting := `data: {"id":"B","choices":[{"delta":{"content":"` + strings.ReplaceAll(refusedText, `"`, `\"`) + `"}}]}` + "\n\n"
	for name, stream := range map[string]string{
		"after content":   roleB + helloB + refusedEvent + "data: [DONE]\n\n",
		"after reasoning": `data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}` + "\n\n" + refusedEvent,
		"after a call":    `data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}` + "\n\n" + refusedEvent,
		"after a refusal": `data: {"choices":[{"delta":{"refusal":"no"}}]}` + "\n\n" + refusedEvent,
		"quoted":          quoting + endB,
		"another error":   roleA + `data: {"error":{"message":"overloaded","code":503}}` + "\n\n",
		"a stranger":      "data: hello\r\rdata: 1\n\n\n\n: x\n\r\n",
		"cut off":         roleA + `data: {"id":"A","cho`,
		"comments":        ": a\r\n: b\r\n\r\n\r\n" + roleA + endB,
		"empty":           "",
		"one huge event":  `data: {"choices":[{"delta":{"content":"` + strings.Repeat("é", 200_000) + `"}}]}` + "\n\n" + endB,
		"done":            "data: [DONE]\n\n",
	} {
		for _, size := range []int{1, 13, 1 << 20} {
			if size == 1 && len(stream) > 10_000 {
				continue
			}
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				base, requests := refusing(t, events(stream, size), nil)
				r := newMendingRig(t, base, `{"short":1}`)
				if _, body := r.post(t, longChat); body != stream {
					t.Errorf("got %q", body)
				}
				if len(*requests) != 1 {
					t.Errorf("%d requests", len(*requests))
				}
				r.fake.waitEnd(t)
				if got := fmt.Sprint(r.fake.statuses); got != "[200]" {
					t.Errorf("the compactor was told %s", got)
				}
			})
		}
	}
}

// Comments and deltas without content reach the client before anything else is
// there, in both streams; and so does the header. What the client has of the
// first stream does not come again with the second.
func TestGateDelaysNothing(t *testing.T) {
	stepwise := func(next <-chan struct{}, pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, piece := range pieces {
				_, _ = io.WriteString(w, piece)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-next:
				case <-req.Context().Done():
					return
				}
			}
		}
	}
	first, second := make(chan struct{}), make(chan struct{})
	base, _ := refusing(t, stepwise(first, "", ": a\n", "\n", roleA, refusedEvent), stepwise(second, roleB+": b\n\n", ": c\n\n", helloB, ""))
	r := newMendingRig(t, base, `{"short":1}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath, strings.NewReader(longChat))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for _, step := range []struct {
		want string
		next chan<- struct{}
	}{
		{"", first}, {": a\n", first}, {"\n", first}, {roleA, first},
		{"", second}, {": c\n\n", second}, {asA(helloB), second},
	} {
		got := make([]byte, len(step.want))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != step.want {
			t.Fatalf("read %q, %v; want %q", got, err, step.want)
		}
		step.next <- struct{}{} // only now may the upstream go on
	}
}
