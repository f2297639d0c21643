package proxy

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction"
)

// A fault in the compactor costs nobody a request, is counted, and leaves no
// text in the log.
func TestPanicsAreContained(t *testing.T) {
	bug := func() { panic("secret text") }
	for part, plant := range map[string]func(*fakeCompactor){
		"plan": func(f *fakeCompactor) {
			f.plan = func(compaction.Request) (*compaction.Plan, error) {
				bug()
				return verbatim(compaction.Request{}), nil
			}
		},
		"responded": func(f *fakeCompactor) { f.responded = func(int) { bug() } },
		"finished":  func(f *fakeCompactor) { f.finished = bug },
	} {
		t.Run(part, func(t *testing.T) {
			base, requests := recordingUpstream(t)
			r := newRig(t, base, nil)
			plant(r.fake)
			res, body := r.post(t, "{ }")
			if up := <-requests; up.body != "{ }" || res.StatusCode != http.StatusOK || !strings.Contains(body, "hi") {
				t.Errorf("sent %q, got %d %q", up.body, res.StatusCode, body)
			}
			if degraded := res.Header.Get("X-Pleat-Status") == "degraded"; degraded != (part == "plan") {
				t.Errorf("X-Pleat-Status: %s", res.Header.Get("X-Pleat-Status"))
			}
			r.Close() // waits for the handler
			if got := r.metric(t, "pleat_failures_total", "part="+part); got != 1 {
				t.Errorf("%v failures counted, want 1", got)
			}
			if log := r.log.String(); strings.Contains(log, "secret") || !strings.Contains(log, `"part":"`+part+`"`) {
				t.Errorf("log: %s", log)
			}
		})
	}
}

func TestPanicElsewhereIsA500(t *testing.T) {
	base, _ := recordingUpstream(t)
	r := newRig(t, base, func(o *Options) {
		o.Tenants = tenantsFunc(func(*http.Request) (string, error) { panic("bug") })
	})
	res, body := r.post(t, "{}")
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `"type":"server_error"`) {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}

type tenantsFunc func(*http.Request) (string, error)

func (f tenantsFunc) Tenant(r *http.Request) (string, error) { return f(r) }

func TestTenantRefusal(t *testing.T) {
	base, requests := recordingUpstream(t)
	r := newRig(t, base, func(o *Options) {
		o.Tenants = tenantsFunc(func(*http.Request) (string, error) {
			return "", &Error{Status: 401, Type: typeInvalid, Code: "invalid_api_key", Message: "no", Cause: errors.New("private")}
		})
	})
	res, body := r.post(t, "{}")
	if res.StatusCode != http.StatusUnauthorized || strings.Contains(body, "private") || len(requests) != 0 {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}

// Neither text nor credentials stand in the log, whatever happens.
func TestLogIsDiscreet(t *testing.T) {
	base, _ := recordingUpstream(t)
	r := newRig(t, base, nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath+"?key=SECRET1", strings.NewReader(`{"messages":[{"content":"SECRET2"}]}`))
	r.do(t, req, "Authorization", "Bearer SECRET3", "X-Api-Key", "SECRET4", "Cookie", "SECRET5")
	r.fake.waitEnd(t)
	r.Close()
	log := r.log.String()
	if strings.Contains(log, "SECRET") || strings.Count(log, `"msg":"request"`) != 1 {
		t.Errorf("log: %s", log)
	}
	for _, want := range []string{`"route":"chat"`, `"status":200`, `"plan":"verbatim"`, `"session":"s1"`, `"prompt_tokens":7`, `"finish":"stop"`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
}

// A client that leaves while its request is planned is no failure of Pleat's.
func TestClientGoneWhilePlanning(t *testing.T) {
	base, requests := recordingUpstream(t)
	r := newRig(t, base, nil)
	ctx, leave := context.WithCancel(t.Context())
	r.fake.planCtx = func(ctx context.Context, request compaction.Request) (*compaction.Plan, error) {
		leave()
		<-ctx.Done() // the server has seen it
		return &compaction.Plan{Body: request.Body, Status: compaction.Degraded}, ctx.Err()
	}
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+chatPath, strings.NewReader("{}"))
	if res, err := r.client.Do(req); err == nil {
		t.Errorf("status %d", res.StatusCode)
	}
	r.fake.waitEnd(t)
	line := r.waitForLog(t, `"msg":"request"`)
	if !strings.Contains(line, `"ended":"client_gone"`) || strings.Contains(line, "degraded") || len(requests) != 0 {
		t.Errorf("%d requests went upstream: %s", len(requests), line)
	}
	r.Close()
	if degraded, failed := r.metric(t, "pleat_requests_total", "plan=degraded"), r.metric(t, "pleat_failures_total"); degraded+failed != 0 {
		t.Errorf("%v counted as degraded, %v as failed", degraded, failed)
	}
}
