package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// How the upstream is asked for its models: with patience, since a local server
// may be loading one for minutes.
const (
	askTimeout   = 10 * time.Second // of one question
	askFirstWait = 2 * time.Second  // after a first failure; doubled with each
	askLongWait  = 5 * time.Minute
	maxAnswer    = 32 * mib
	maxShown     = 128 // models that Ollama is asked about one by one
)

// asker asks the upstream what it says of its models. It sends the operator's
// key, if there is one, and never a client's.
type asker struct {
	base   *url.URL
	key    string
	client *http.Client
}

func newAsker(c *Config, transport http.RoundTripper) asker {
	return asker{
		base: c.Upstream, key: c.Windows.MetadataKey,
		client: &http.Client{Transport: transport, Timeout: askTimeout, CheckRedirect: noRedirects},
	}
}

// run asks until there is an answer, or there will be none, or ctx ends.
func (a asker) run(ctx context.Context, r *window.Resolver, log *slog.Logger) {
	for wait := askFirstWait; ; wait = min(2*wait, askLongWait) {
		list, err := a.ask(ctx)
		if err == nil {
			log.Info("the upstream told of its models", "models", len(list), "windows", r.SetUpstream(list))
			return
		}
		if ctx.Err() != nil {
			return
		}
		if _, refused := errors.AsType[refusalError](err); refused {
			log.Warn("the upstream does not tell its models' windows", "cause", err)
			return
		}
		if wait == askFirstWait {
			log.Warn("the upstream has not told its models' windows yet; it is asked again", "cause", err)
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// refusalError is an answer that asking again will not change.
type refusalError string

func (r refusalError) Error() string { return string(r) }

// ask asks for the list of models, and where that is known to hold no windows
// for what the server tells elsewhere.
func (a asker) ask(ctx context.Context) ([]window.ModelInfo, error) {
	data, err := a.get(ctx, a.base.JoinPath("models"))
	if err != nil {
		return nil, err
	}
	list, server, err := window.ParseModels(data)
	if err != nil {
		return nil, refusalError(err.Error())
	}
	var more []window.ModelInfo
	switch server {
	case window.ServerLlamaCpp:
		more, err = a.props(ctx)
	case window.ServerOllama:
		more, err = a.shown(ctx, list)
	case window.ServerLMStudio:
		more, err = a.loaded(ctx)
	case window.ServerOther:
	}
	if _, refused := errors.AsType[refusalError](err); refused {
		err = nil // an older server without that path
	}
	return append(list, more...), err
}

func (a asker) props(ctx context.Context) ([]window.ModelInfo, error) {
	data, err := a.get(ctx, a.origin("props"))
	if err != nil {
		return nil, err
	}
	m, err := window.ParseProps(data)
	return told([]window.ModelInfo{m}, err)
}

func (a asker) loaded(ctx context.Context) ([]window.ModelInfo, error) {
	data, err := a.get(ctx, a.origin("api/v0/models"))
	if err != nil {
		return nil, err
	}
	list, _, err := window.ParseModels(data)
	return told(list, err)
}

// told makes an answer that cannot be read one that need not be asked for again.
func told(list []window.ModelInfo, err error) ([]window.ModelInfo, error) {
	if err != nil {
		return nil, refusalError(err.Error())
	}
	return list, nil
}

// shown asks Ollama what each model was made with, and then what those that are
// loaded really have: the later word is the better one.
func (a asker) shown(ctx context.Context, models []window.ModelInfo) ([]window.ModelInfo, error) {
	var list []window.ModelInfo
	for _, m := range models[:min(len(models), maxShown)] {
		question, err := json.Marshal(map[string]string{"model": m.Name})
		if err != nil {
			return list, err
		}
		data, err := a.send(ctx, http.MethodPost, a.origin("api/show"), question)
		if err != nil {
			return list, err
		}
		if m, err := window.ParseShow(m.Name, data); err == nil {
			list = append(list, m)
		}
	}
	data, err := a.get(ctx, a.origin("api/ps"))
	if err != nil {
		return list, err
	}
	running, err := told(window.ParseRunning(data))
	return append(list, running...), err
}

// origin is a path beside the API that is compatible with OpenAI's: where the
// base URL ends in /v1 the server's own API begins above it.
func (a asker) origin(path string) *url.URL {
	u := *a.base
	u.RawPath = ""
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	return u.JoinPath(path)
}

func (a asker) get(ctx context.Context, u *url.URL) ([]byte, error) {
	return a.send(ctx, http.MethodGet, u, nil)
}

// send puts one question. The error quotes nothing of the answer.
func (a asker) send(ctx context.Context, method string, u *url.URL, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", userAgent())
	r.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	res, err := a.client.Do(r)
	if err != nil {
		return nil, reachError(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	switch {
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= 500:
		return nil, fmt.Errorf("%s to %s %s", res.Status, method, u.Path)
	case res.StatusCode != http.StatusOK:
		return nil, refusalError(fmt.Sprintf("%s to %s %s", res.Status, method, u.Path))
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		err = refusalError("an answer of more than " + spellSize(maxAnswer))
	}
	return data, err
}

// sleep waits, and reports whether the time went by before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
