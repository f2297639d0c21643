package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction"
	"github.com/pleat-proxy/pleat/compaction/overflow"
)

// mender is a compactor that makes requests fit, if it can, by sending short.
type mender struct {
	*fakeCompactor

	short string // what is sent instead; "" if nothing can be done
}

const refusedText = `{"error":{"message":"This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`

func (mender) Overflowed(status int, contentType string, body []byte) (compaction.Overflow, bool) {
	return overflow.Recognise(status, contentType, body)
}

func (mender) OverflowedEvent(event []byte) (compaction.Overflow, bool) {
	return overflow.RecogniseEvent(event)
}

func (m mender) Recover(_ context.Context, p *compaction.Plan, _ compaction.Overflow) bool {
	if m.short == "" {
		return false
	}
	p.Body, p.Status, p.TokensSent = []byte(m.short), compaction.Recovered, 5
	return true
}

func (mender) Diagnose(p *compaction.Plan, o compaction.Overflow, status int) *compaction.Diagnosis {
	return &compaction.Diagnosis{
		Kind: string(o.Kind), Model: p.Model, Window: compaction.DiagnosedWindow{Total: o.Limit.Tokens},
		Upstream: compaction.Refusal{Status: status, Format: o.Format, Message: o.Message},
	}
}

// newMendingRig is a rig whose compactor sends short after a refusal.
func newMendingRig(t *testing.T, base, short string) *rig {
	t.Helper()
	fake := &fakeCompactor{ended: make(chan compaction.Usage, 100)}
	r := newRig(t, base, func(o *Options) { o.Compactor = mender{fake, short} })
	r.fake = fake
	return r
}

// envelope is a report as a client reads it.
type envelope struct {
	Error struct {
		Message string               `json:"message"`
		Type    string               `json:"type"`
		Param   string               `json:"param"`
		Code    string               `json:"code"`
		Pleat   compaction.Diagnosis `json:"pleat"`
	} `json:"error"`
}

func parseEnvelope(t *testing.T, body string) (e envelope) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return e
}

// refusing is an upstream that plays refuse to long bodies and answer to others.
func refusing(t *testing.T, refuse, answer http.HandlerFunc) (base string, requests *[]*http.Request) {
	t.Helper()
	requests = new([]*http.Request)
	up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		*requests = append(*requests, req)
		if len(body) > 20 {
			refuse(w, req)
			return
		}
		answer(w, req)
	})
	return up.URL, requests
}

const longChat = `{"messages":[{"role":"user","content":"long"}]}`

// A refusal is answered with a shorter request, sent once: as a plain answer in
// every encoding, and as an error in a 200.
func TestRecoverPlainAnswers(t *testing.T) {
	for _, encoding := range []string{"", "gzip", "zstd"} {
		for _, status := range []int{400, 500, 413, 200} {
			t.Run(fmt.Sprint(status, encoding), func(t *testing.T) {
				base, requests := refusing(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					if encoding != "" {
						w.Header().Set("Content-Encoding", encoding)
					}
					w.WriteHeader(status)
					_, _ = w.Write(encode(refusedText, encoding))
				}, func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 7, 2) })
				r := newMendingRig(t, base, `{"short":1}`)
				res, body := r.post(t, string(encode(longChat, encoding)), "Content-Encoding", encoding,
					"Idempotency-Key", "once", "Authorization", "Bearer k", "Accept-Encoding", "gzip, zstd")
				if res.StatusCode != http.StatusOK || !strings.Contains(body, `"hi"`) ||
					res.Header.Get("X-Pleat-Status") != "recovered" {
					t.Fatalf("status %d %v, body %s", res.StatusCode, res.Header, body)
				}
				if len(*requests) != 2 {
					t.Fatalf("%d requests", len(*requests))
				}
				first, again := (*requests)[0], (*requests)[1]
				if first.Header.Get("Idempotency-Key") != "once" || again.Header.Get("Idempotency-Key") != "" {
					t.Error("the idempotency key is the first request's alone")
				}
				if again.ContentLength != 11 || again.Header.Get("Content-Encoding") != "" || again.Header.Get("Authorization") != "Bearer k" {
					t.Errorf("sent again with length %d and %v", again.ContentLength, again.Header)
				}
				if u := r.fake.waitEnd(t); u.Prompt != 7 {
					t.Errorf("usage %+v", u)
				}
				if got := fmt.Sprint(r.fake.statuses); got != "[200]" {
					t.Errorf("the compactor was told %s", got)
				}
				r.Close()
				if got := r.metric(t, "pleat_overflows_total", "kind=input", "outcome=recovered"); got != 1 {
					t.Errorf("counted %v", got)
				}
				if !strings.Contains(r.log.String(), `"overflow":"recovered"`) {
					t.Errorf("log %s", r.log)
				}
			})
		}
	}
}

// What cannot be made to fit, or does not fit the second time either, is
// reported in OpenAI's form.
func TestReportPlainAnswers(t *testing.T) {
	for name, short := range map[string]string{"nothing to do": "", "refused twice": longChat + " "} {
		t.Run(name, func(t *testing.T) {
			base, requests := refusing(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-ID", "req_1")
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = w.Write(encode(refusedText, "gzip"))
			}, nil)
			r := newMendingRig(t, base, short)
			res, body := r.post(t, longChat, "Accept-Encoding", "gzip")
			e := parseEnvelope(t, body).Error
			if res.StatusCode != http.StatusBadRequest || e.Code != "context_length_exceeded" ||
				e.Type != "invalid_request_error" || e.Param != "messages" {
				t.Errorf("status %d, %+v", res.StatusCode, e)
			}
			if e.Pleat.Kind != "input" || e.Pleat.Window.Total != 4096 || e.Pleat.Upstream.Status != 500 || e.Message == "" {
				t.Errorf("diagnosis %+v", e.Pleat)
			}
			if h := res.Header; h.Get("Content-Encoding") != "" || h.Get("X-Request-ID") != "req_1" || h.Get("X-Pleat-Status") == "" {
				t.Errorf("header %v", h)
			}
			if want := min(len(short), 1) + 1; len(*requests) != want {
				t.Errorf("%d requests, want %d", len(*requests), want)
			}
			r.fake.waitEnd(t)
			if got := fmt.Sprint(r.fake.statuses); got != "[400]" {
				t.Errorf("the compactor was told %s", got)
			}
			r.Close()
			if got := r.metric(t, "pleat_overflows_total", "outcome=reported"); got != 1 {
				t.Errorf("counted %v", got)
			}
		})
	}
}

// With the policy forward, and for requests that pass as they came, a refusal
// does so too.
func TestRefusalsThatPass(t *testing.T) {
	base, requests := refusing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, refusedText)
	}, nil)
	fake := &fakeCompactor{ended: make(chan compaction.Usage, 9)}
	forward := newRig(t, base, func(o *Options) {
		o.Compactor, o.Overflow = mender{fake, `{"short":1}`}, compaction.OverflowForward
	})
	signed := newMendingRig(t, base, `{"short":1}`)
	bypassed := newMendingRig(t, base, `{"short":1}`)
	bypassed.fake.plan = func(r compaction.Request) (*compaction.Plan, error) {
		return &compaction.Plan{Body: r.Body, Status: compaction.Bypassed}, nil
	}
	for name, r := range map[string]*rig{"forward": forward, "signed": signed, "bypassed": bypassed} {
		res, body := r.post(t, longChat, "Content-Digest", map[bool]string{true: "sha-256=:x:"}[r == signed])
		if res.StatusCode != http.StatusBadRequest || body != refusedText {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
	}
	if len(*requests) != 3 {
		t.Errorf("%d requests", len(*requests))
	}
}

// An answer that is no refusal keeps its bytes, longer than what is read of it
// or not, and its end.
func TestOtherErrorsPass(t *testing.T) {
	long := `{"error":{"message":"` + strings.Repeat("é overloaded ", 300_000) + `"}}`
	for name, text := range map[string]string{"long": long, "short": `{"error":{"message":"no such model"}}`, "none": ""} {
		for _, status := range []int{400, 404, 429, 503, 200} {
			for _, encoding := range []string{"", "gzip"} {
				base, _ := refusing(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					if encoding != "" {
						w.Header().Set("Content-Encoding", encoding)
					}
					w.WriteHeader(status)
					_, _ = w.Write(encode(text, encoding))
				}, nil)
				r := newMendingRig(t, base, `{"short":1}`)
				res, body := r.post(t, longChat, "Accept-Encoding", "gzip")
				if res.StatusCode != status || body != string(encode(text, encoding)) ||
					res.Header.Get("Content-Encoding") != encoding {
					t.Errorf("%s %d %q: status %d, %d bytes of %d", name, status, encoding, res.StatusCode, len(body), len(text))
				}
			}
		}
	}
}

// A second attempt that fails for another reason is what the client sees.
func TestSecondAttemptFailsOtherwise(t *testing.T) {
	base, _ := refusing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, refusedText)
	}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, "slow down")
	})
	r := newMendingRig(t, base, `{"short":1}`)
	res, body := r.post(t, longChat)
	if res.StatusCode != http.StatusTooManyRequests || body != "slow down" || res.Header.Get("Retry-After") != "9" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	r.Close()
	if got := r.metric(t, "pleat_overflows_total", "outcome=failed"); got != 1 {
		t.Errorf("counted %v", got)
	}
}
