package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/pleat-proxy/pleat/proxy"
)

// localServer serves a handler on a free port of this machine alone.
type localServer struct {
	http     *http.Server
	listener net.Listener
	serving  sync.WaitGroup
}

func serveLocal(ctx context.Context, h http.Handler) (*localServer, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a port for the scripted provider: %w", err)
	}
	s := &localServer{http: proxy.NewServer(h, slog.New(slog.DiscardHandler)), listener: l}
	s.serving.Go(func() { _ = s.http.Serve(l) }) // ends with close
	return s, nil
}

// base is the base URL for clients.
func (s *localServer) base() *url.URL {
	return &url.URL{Scheme: "http", Host: s.listener.Addr().String(), Path: "/v1"}
}

func (s *localServer) close() {
	_ = s.http.Close()
	s.serving.Wait()
}

// demoPleat is what `pleat serve` runs, on free ports of this machine.
type demoPleat struct {
	running *lifecycle
	stop    context.CancelFunc
	ended   chan error // gets what serve returned
}

// startDemoPleat returns once requests are taken.
func startDemoPleat(ctx context.Context, c *Config, log *slog.Logger) (*demoPleat, error) {
	c.Listen, c.Admin = "127.0.0.1:0", "127.0.0.1:0"
	c.Limits.Drain = 0 // nobody spreads requests over demos
	ctx, stop := context.WithCancel(ctx)
	p := &demoPleat{stop: stop, ended: make(chan error, 1)}
	started := make(chan *lifecycle, 1)
	go func() { p.ended <- serve(ctx, c, log, func(l *lifecycle) { started <- l }) }()
	select {
	case p.running = <-started:
		return p, nil
	case err := <-p.ended:
		stop()
		return nil, err
	}
}

// close stops Pleat as a signal would and waits for its end.
func (p *demoPleat) close() error {
	p.stop()
	return <-p.ended
}

// base is the base URL for clients.
func (p *demoPleat) base() string {
	return "http://" + p.running.public.listener.Addr().String() + "/v1"
}

// settle returns when no summary waits or is being written.
func (p *demoPleat) settle(ctx context.Context) error {
	return p.running.compactor.Settle(ctx)
}

// demoCost is what summaries cost.
type demoCost struct {
	summaries          int // questions that were asked
	prompt, completion int // tokens, as the provider's usage says
}

// cost reads from the admin listener's metrics what summaries cost so far.
func (p *demoPleat) cost(ctx context.Context, client *http.Client) (demoCost, error) {
	where := "http://" + p.running.admin.listener.Addr().String() + "/metrics"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return demoCost{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		return demoCost{}, fmt.Errorf("reading the metrics: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	var cost demoCost
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		series, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil: // a comment
		case strings.HasPrefix(series, "pleat_summaries_total{"):
			cost.summaries += int(value)
		case series == `pleat_summarizer_tokens_total{direction="prompt"}`:
			cost.prompt = int(value)
		case series == `pleat_summarizer_tokens_total{direction="completion"}`:
			cost.completion = int(value)
		}
	}
	return cost, lines.Err()
}
