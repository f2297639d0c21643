package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestReadiness(t *testing.T) {
	fine := func(context.Context) error { return nil }
	down := func(context.Context) error { return errors.New("no answer") }
	for name, c := range map[string]struct {
		checks []Check
		status int
		want   []string
	}{
		"no checks":     {nil, 200, []string{`"status":"ok"`}},
		"all fine":      {[]Check{{Name: "store", Run: fine}}, 200, []string{`"status":"ok"`, `"store":"ok"`}},
		"one down":      {[]Check{{Name: "store", Run: fine}, {Name: "upstream", Run: down}}, 503, []string{`"unavailable"`, `"store":"ok"`, `"upstream":"no answer"`}},
		"optional down": {[]Check{{Name: "store", Optional: true, Run: down}, {Name: "upstream", Run: fine}}, 200, []string{`"degraded"`, `"store":"no answer"`}},
		"both down":     {[]Check{{Name: "u", Run: down}, {Name: "store", Optional: true, Run: down}}, 503, []string{`"unavailable"`}},
		"a check panics": {[]Check{{Name: "u", Run: func(context.Context) error { panic("x") }}}, 503,
			[]string{"the check itself failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := get(t, NewAdmin(AdminOptions{Checks: c.checks}), "/readyz")
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("no %s in %s", want, w.Body)
				}
			}
		})
	}
}

func TestReadinessIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		hangs := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		w := get(t, NewAdmin(AdminOptions{Checks: []Check{{Name: "a", Run: hangs}, {Name: "b", Run: hangs}}}), "/readyz")
		if w.Code != 503 || time.Since(begun) != DefaultCheckTimeout {
			t.Errorf("status %d after %v", w.Code, time.Since(begun))
		}
	})
}

func TestAdminPages(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewMetrics(reg).QueueDepth(4)
	admin := NewAdmin(AdminOptions{Gatherer: reg})
	if w := get(t, admin, "/healthz"); w.Code != 200 {
		t.Errorf("healthz: %d", w.Code)
	}
	if w := get(t, admin, "/metrics"); !strings.Contains(w.Body.String(), "pleat_queue_depth 4") {
		t.Errorf("metrics: %s", w.Body)
	}
	for _, path := range []string{"/", "/v1/chat/completions", "/debug/pprof/"} {
		if w := get(t, admin, path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// Some probes ask with HEAD.
func TestHeadOfHealth(t *testing.T) {
	h := NewAdmin(AdminOptions{Gatherer: prometheus.NewRegistry()})
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, path, nil))
		if w.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
	}
}
