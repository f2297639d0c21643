package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// windowKeeper keeps what is known of models' windows up to date behind the
// requests, none of which waits for it.
type windowKeeper struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// keepWindows begins what the configuration asks for. What is on this machine
// already is read before it returns; Close ends the rest.
func keepWindows(c *Config, r *window.Resolver, transport http.RoundTripper, log *slog.Logger) *windowKeeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &windowKeeper{cancel: cancel}
	if catalogue := newCatalogueKeeper(c.Windows, r, transport, log); catalogue != nil {
		catalogue.restore()
		k.running.Go(func() { catalogue.run(ctx) })
	}
	if c.Windows.Metadata {
		a := newAsker(c, transport)
		k.running.Go(func() { a.run(ctx, r, log) })
	}
	return k
}

// learnedWindows counts what overflow errors taught. Its series: 1.
func learnedWindows(r *window.Resolver) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "pleat", Name: "learned_windows",
		Help: "Windows of models that upstreams stated in overflow errors and that are remembered, of all tenants.",
	}, func() float64 { return float64(r.Learned()) })
}

// Close ends it and waits until it has ended. It never fails.
func (k *windowKeeper) Close() error {
	k.cancel()
	k.running.Wait()
	return nil
}

// noRedirects makes a client take an answer as it is: a redirect would carry a
// request, and perhaps a credential, to a place that nobody configured.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
