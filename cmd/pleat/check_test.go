package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/memstore"
)

// runChecker checks a configuration with a transport and a store of the test's.
func runChecker(t *testing.T, transport http.RoundTripper, s store.Store, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	c := mustLoad(t, "", nil, args...)
	err := checker{config: c, store: s, transport: transport, out: &out}.run(t.Context())
	return out.String(), err
}

// answering is an upstream that always answers with the status.
type answering int

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	for name := range r.Header {
		if name != "User-Agent" {
			return nil, errors.New("an unexpected header: " + name)
		}
	}
	w := httptest.NewRecorder()
	w.WriteHeader(int(a))
	return w.Result(), nil
}

// failing is an upstream, or a store, that cannot be reached.
type failing struct{ store.Store }

func (failing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}
func (failing) Ping(context.Context) error { return errors.New("gone") }

func TestCheckAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		path   string // of the base URL
		want   string
	}{
		{200, "/v1", "200 OK to GET /models without a credential, after "},
		{401, "/v1", "401 Unauthorized to GET /models"},
		{401, "/v1", " ms (as it should)"},
		{404, "/v2", "the path of the URL is wrong"},
		{404, "", "a path such as /v1"},
		{404, "/", "a path such as /v1"},
		{301, "/v1", "a redirect"},
		{503, "/v1", "it is there, but not well"},
	} {
		upstream := "--upstream=https://provider.example" + c.path
		out, err := runChecker(t, answering(c.status), memstore.New(memstore.Options{}), upstream)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%d: %v, want …%s… in\n%s", c.status, err, c.want, out)
		}
	}
}

func TestCheckReportsEverything(t *testing.T) {
	out, err := runChecker(t, failing{}, failing{},
		"--trigger=50%", "--summarizer-upstream=http://gpu:8000/v1?key=hunter2", "--summarizer-api-key=sk-very-secret")
	if err == nil || exitStatus(err) != 1 {
		t.Fatalf("%v, status %d", err, exitStatus(err))
	}
	if want := "not reached: upstream, summarizer.upstream, store"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	golden(t, "testdata/check.unreachable.txt", out)
	if strings.Contains(out, "hunter2") || strings.Contains(out, "sk-very-secret") {
		t.Error("a secret is shown")
	}
}

func TestCheckAdvice(t *testing.T) {
	const cost = "its own price"
	for _, c := range []struct {
		args []string
		want bool
	}{
		{nil, true},
		{[]string{"--summarizer-models=same,small"}, true},
		{[]string{"--summarizer-models=small,same"}, false},
	} {
		out, err := runChecker(t, answering(200), memstore.New(memstore.Options{}), c.args...)
		if err != nil || strings.Contains(out, cost) != c.want {
			t.Errorf("%v: %v, advice wanted: %t, in\n%s", c.args, err, c.want, out)
		}
	}
}

// TestCheckWrongScheme: https asked of a server that speaks http.
func TestCheckWrongScheme(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	upstream := "--upstream=" + strings.Replace(s.URL, "http:", "https:", 1)
	out, err := runChecker(t, transport, memstore.New(memstore.Options{}), upstream)
	if err == nil || !strings.Contains(out, "does it speak http, and not https?") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestCheckCommand runs the command itself, over the network of this machine.
func TestCheckCommand(t *testing.T) {
	var path string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { path = r.URL.Path }))
	defer s.Close()
	var out, complaints strings.Builder
	err := run(t.Context(), []string{"check", "--upstream", s.URL + "/base/v1/"}, []string{"PLEAT_LOGLEVEL=x"}, &out, &complaints)
	if err != nil || !strings.Contains(out.String(), "answers: 200 OK") || path != "/base/v1/models" {
		t.Errorf("%v, path %s:\n%s", err, path, out.String())
	}
	if want := "pleat: warning: variable PLEAT_LOGLEVEL is ignored: there is no such option (did you mean PLEAT_LOG_LEVEL?)\n"; complaints.String() != want {
		t.Errorf("stderr: %s", complaints.String())
	}
}
