package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pleat-proxy/pleat/compaction"
	"github.com/pleat-proxy/pleat/compaction/openai"
	"github.com/pleat-proxy/pleat/compaction/window"
	"github.com/pleat-proxy/pleat/proxy"
	"github.com/pleat-proxy/pleat/store"
)

// serve runs Pleat as the configuration says until ctx ends. started is called
// once requests are taken, with the parts that run.
func serve(ctx context.Context, c *Config, log *slog.Logger, started func(*lifecycle)) error {
	l, err := assemble(ctx, c, log)
	if err != nil {
		return err
	}
	if err := l.listen(ctx, c); err != nil {
		l.closeParts(ctx)
		return err
	}
	log.Info("listening",
		"listen", l.public.listener.Addr().String(), "admin", l.admin.listener.Addr().String(),
		"upstream", c.Upstream.Scheme+"://"+c.Upstream.Host, "store", c.Store.Kind, "version", version)
	started(l)
	return l.run(ctx)
}

// assemble makes all parts and joins them: store, compactor, proxy. Nothing
// listens yet. The tokenizer's vocabulary is read here, which takes a moment
// that no request should wait for.
func assemble(ctx context.Context, c *Config, log *slog.Logger) (*lifecycle, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := proxy.NewMetrics(registry)
	folds, err := openStore(ctx, c, metrics, log)
	if err != nil {
		return nil, err
	}
	l, err := join(c, folds, registry, metrics, log) //nolint:contextcheck // jobs outlive a request; Close ends them
	if err != nil {
		return nil, errors.Join(err, folds.Close())
	}
	return l, nil
}

// join makes all parts behind and before the store.
func join(
	c *Config, folds closingStore, registry *prometheus.Registry, metrics *proxy.Metrics, log *slog.Logger,
) (*lifecycle, error) {
	l := &lifecycle{drain: c.Limits.Drain, grace: c.Limits.Shutdown, log: log}
	transport := newTransport()
	windows, err := window.New(windowRules(c.Models))
	if err != nil {
		return nil, err
	}
	registry.MustRegister(learnedWindows(windows))
	compactor, err := newCompactor(c, folds, windows, transport, metrics, log)
	if err != nil {
		return nil, err
	}
	registry.MustRegister(proxy.NewCalibrations(compactor.Calibrations))
	front, err := proxy.New(proxy.Options{
		Upstream: c.Upstream, Compactor: compactor, Tenants: newTenants(c), Metrics: metrics, Log: proxyLogger(c.Log, log),
		MaxBody: c.Limits.Body, MaxMemory: c.Limits.Memory, BodyTimeout: c.Limits.BodyTimeout, Transport: transport,
		Overflow: compaction.OverflowPolicy(c.Overflow.Policy),
	})
	if err != nil {
		return nil, errors.Join(err, compactor.Close(context.Background()))
	}
	admin := proxy.NewAdmin(proxy.AdminOptions{Gatherer: registry, Checks: []proxy.Check{
		{Name: "serving", Run: l.serving},
		{Name: "store", Optional: true, Run: wellness(folds)}, // without it requests pass as they came
	}})

	l.public, l.admin = newServer(front, c.Limits, log), newServer(admin, c.Limits, log)
	l.compactor, l.store, l.transport = compactor, folds, transport
	l.windows = keepWindows(c, windows, transport, log)
	return l, nil
}

// newCompactor makes the part that folds, with the summarizer that it asks.
func newCompactor(
	c *Config, folds store.Store, windows *window.Resolver, transport http.RoundTripper,
	observer compaction.Observer, log *slog.Logger,
) (*compaction.Compactor, error) {
	o := compactionOptions(c)
	o.Store, o.Windows, o.Observer, o.Log = folds, windows, observer, log
	var err error
	if o.Tokens, err = newCounter(c.Models); err != nil {
		return nil, err
	}
	if o.Summarizer, err = openai.New(summarizerOptions(c, transport)); err != nil {
		return nil, err
	}
	return compaction.New(o)
}

// compactionOptions is what the configuration says of folding, without the
// parts that it works with.
func compactionOptions(c *Config) compaction.Options {
	return compaction.Options{
		Trigger: c.Trigger, Scope: compaction.Scope(c.Scope), KeepFirst: c.KeepFirst, ToolResults: toolResults(c),
		CountCache: c.TokensCache,
		Overflow:   compaction.OverflowPolicy(c.Overflow.Policy), OverflowWait: c.Overflow.Wait,
		Models: c.Summarizer.Models, OwnKey: c.Summarizer.APIKey != "", Share: c.Summarizer.Share, Timeout: c.Summarizer.Timeout,
		Workers: c.Summarizer.Workers, Queue: c.Summarizer.Queue, JobBytes: c.Summarizer.Memory,
		FoldLife: c.Store.FoldTTL, CounterLife: c.Store.SessionTTL,
	}
}

// toolResults is what the configuration says of old tool results.
func toolResults(c *Config) compaction.ToolResults {
	r := c.ToolResults
	return compaction.ToolResults{Shorten: r.What == "shorten", Keep: r.Keep, Exempt: r.Exempt}
}

// summarizerOptions is what the configuration says of who writes summaries.
func summarizerOptions(c *Config, transport http.RoundTripper) openai.Options {
	o := openai.Options{
		BaseURL: c.Summarizer.Upstream, APIKey: c.Summarizer.APIKey, Retries: c.Summarizer.Retries,
		Client: &http.Client{Transport: transport}, UserAgent: userAgent(),
	}
	if o.Retries == 0 {
		o.Retries = -1 // openai takes 0 for its default
	}
	return o
}

// newTenants tells owners of requests apart by their credentials.
func newTenants(c *Config) proxy.Tenants {
	if c.Tenant.Key != "" {
		return proxy.NewCredentialTenants([]byte(c.Tenant.Key))
	}
	return proxy.NewCredentialTenants(proxy.DeriveKey(c.Upstream))
}
