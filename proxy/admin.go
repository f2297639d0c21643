package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// DefaultCheckTimeout bounds one run of all checks.
const DefaultCheckTimeout = 2 * time.Second

// Check is one thing that readiness depends on.
type Check struct {
	Name string

	// Optional: without it Pleat still serves, if worse. A failure is shown
	// and does not take the process out of rotation.
	Optional bool

	// Run returns what is wrong, or nil. It must end when ctx does, and its
	// error must hold no credential.
	Run func(ctx context.Context) error
}

// AdminOptions are what the admin listener shows.
type AdminOptions struct {
	Gatherer prometheus.Gatherer // nil: no /metrics
	Checks   []Check
	Timeout  time.Duration // of all checks together; 0: DefaultCheckTimeout
}

// NewAdmin returns the admin listener's handler:
//
//	/healthz  200 while the process runs
//	/readyz   200 if no required check fails, else 503, with each check's result
//	/metrics  Prometheus metrics
//
// Probes may ask with HEAD as well.
func NewAdmin(opts AdminOptions) http.Handler {
	if opts.Timeout == 0 {
		opts.Timeout = DefaultCheckTimeout
	}
	r := chi.NewRouter()
	r.Use(middleware.GetHead)
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	r.Get("/readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), opts.Timeout)
		defer cancel()
		status, report := ready(ctx, opts.Checks)
		writeJSON(w, status, report)
	})
	if opts.Gatherer != nil {
		r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(opts.Gatherer, promhttp.HandlerOpts{}))
	}
	return r
}

// readiness is the body of /readyz.
type readiness struct {
	Status string            `json:"status"` // "ok", "degraded" or "unavailable"
	Checks map[string]string `json:"checks"` // name → "ok" or what is wrong
}

// ready runs all checks at once.
func ready(ctx context.Context, checks []Check) (int, readiness) {
	errs := make([]error, len(checks))
	var running sync.WaitGroup
	for i, check := range checks {
		running.Go(func() { errs[i] = runCheck(ctx, check) })
	}
	running.Wait()

	report := readiness{Status: "ok", Checks: make(map[string]string, len(checks))}
	code := http.StatusOK
	for i, check := range checks {
		switch {
		case errs[i] == nil:
			report.Checks[check.Name] = "ok"
			continue
		case check.Optional && code == http.StatusOK:
			report.Status = "degraded"
		case !check.Optional:
			report.Status, code = "unavailable", http.StatusServiceUnavailable
		}
		report.Checks[check.Name] = errs[i].Error()
	}
	return code, report
}

// runCheck turns a panic into a failure: a probe must not end the process.
func runCheck(ctx context.Context, check Check) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the check itself failed")
		}
	}()
	return check.Run(ctx)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // strings alone; what fails is a client that left
}
