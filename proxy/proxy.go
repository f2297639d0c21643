// Package proxy is the HTTP side of Pleat: it takes clients' requests, has
// chat completions planned by a Compactor, relays everything upstream and the
// answers back.
//
// Nothing but the request body of a chat completion is ever changed. Bytes are
// moved by httputil.ReverseProxy alone; what this package adds stands around
// it: a bounded read and a plan before (chat.go), the address and the headers
// (upstream.go), and a reader beside the response that never touches it
// (usage.go). Whatever goes wrong on Pleat's own side, the client's original
// bytes go upstream and the failure is counted.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/pleat-proxy/pleat/compaction"
)

// Defaults of Options.
const (
	DefaultMaxBody     = 64 << 20
	DefaultMaxMemory   = 1 << 30
	DefaultBodyTimeout = 30 * time.Second
)

// Compactor plans what is sent for a chat completion. *compaction.Compactor
// is one. Its methods are called in the order Plan, Responded, Finished, and
// must not block on anything but the context.
type Compactor interface {
	// Plan returns a plan that can be sent even if err is not nil; then
	// something of Pleat's own failed and the plan says so.
	Plan(ctx context.Context, r compaction.Request) (*compaction.Plan, error)

	// Responded tells that the upstream's response header is there. It is not
	// called when no response came. The request's body is still valid.
	Responded(p *compaction.Plan, status int, header http.Header)

	// Finished is called exactly once for each plan, when the exchange has
	// ended, however it ended.
	Finished(p *compaction.Plan, u compaction.Usage)
}

// Options are what a Proxy is made of. Upstream, Compactor and Tenants are
// required.
type Options struct {
	// Upstream is the provider's base URL: http or https, a host, perhaps a
	// path, and nothing else. A request for /v1/x goes to this URL + /x, any
	// other to the same path at its origin.
	Upstream *url.URL

	Compactor Compactor
	Tenants   Tenants

	// Metrics counts what happens. Nil: metrics registered nowhere.
	Metrics *Metrics

	// Log receives one line for each request, without message text or
	// credentials. Nil: nothing is logged.
	Log *slog.Logger

	// MaxBody is the longest body of a chat completion in bytes, as received
	// and once inflated. 0: DefaultMaxBody. Other bodies are not held, so they
	// have no limit.
	MaxBody int64

	// MaxMemory is how many bytes the bodies of all chat completions may hold
	// together, from their first byte until the upstream answers. One more is
	// relayed as a stream, without a plan. 0: DefaultMaxMemory.
	MaxMemory int64

	// BodyTimeout is how long one read of a request body may wait for the
	// client's next bytes. 0: DefaultBodyTimeout.
	BodyTimeout time.Duration

	// Overflow says what is done about a chat that the upstream refuses because
	// its window is exceeded, where Compactor is a Recoverer. With forward, its
	// answer passes as it is. Empty: OverflowRecover.
	Overflow compaction.OverflowPolicy

	// Transport sends requests upstream. Nil: NewTransport().
	Transport http.RoundTripper
}

// Proxy relays requests to one upstream. It is an http.Handler, safe for
// concurrent use, and starts no goroutine of its own.
type Proxy struct {
	opts     Options
	upstream upstream
	routes   http.Handler
	chats    *httputil.ReverseProxy // chat completions
	rest     *httputil.ReverseProxy // everything else
	bodies   bufferPool
	copies   copyPool
	codecs   codecs
	notices  notices
}

// New returns a Proxy, or an error that names the option that will not do.
func New(opts Options) (*Proxy, error) {
	if opts.Compactor == nil || opts.Tenants == nil {
		return nil, errors.New("proxy: Compactor and Tenants are required")
	}
	up, err := newUpstream(opts.Upstream)
	if err != nil {
		return nil, fmt.Errorf("proxy: upstream: %w", err)
	}
	if opts.MaxBody < 0 || opts.MaxMemory < 0 || opts.BodyTimeout < 0 {
		return nil, errors.New("proxy: MaxBody, MaxMemory and BodyTimeout must not be negative")
	}
	fillIn(&opts)

	p := &Proxy{opts: opts, upstream: up}
	p.bodies.memory = &budget{limit: opts.MaxMemory, gauge: opts.Metrics.bodies}
	p.chats = p.reverseProxy(p.rewriteChat, p.chatResponded, p.recovering(opts.Transport))
	p.rest = p.reverseProxy(p.rewriteRest, p.restResponded, opts.Transport)
	p.routes = p.router()
	return p, nil
}

func fillIn(opts *Options) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Metrics == nil {
		opts.Metrics = NewMetrics(nil)
	}
	if opts.MaxBody == 0 {
		opts.MaxBody = DefaultMaxBody
	}
	if opts.MaxMemory == 0 {
		opts.MaxMemory = DefaultMaxMemory
	}
	if opts.BodyTimeout == 0 {
		opts.BodyTimeout = DefaultBodyTimeout
	}
	if opts.Transport == nil {
		opts.Transport = NewTransport()
	}
}

// router is every route. chi answers for itself only when nothing matches, so
// those two answers are replaced: methods that it does not know and targets
// that are no path (OPTIONS *) are relayed like the rest.
func (p *Proxy) router() http.Handler {
	r := chi.NewRouter()
	r.Use(p.observe, p.recoverPanic)
	r.Post("/*", p.post)
	r.Connect("/*", p.refuseConnect)
	r.NotFound(p.relay)
	r.MethodNotAllowed(p.relay)
	return r
}

// ServeHTTP answers one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.routes.ServeHTTP(w, r) }

// post tells chat completions, under whatever base path, from the rest. A slash
// at the end, which some base URLs bring about, is the upstream's to judge.
func (p *Proxy) post(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/chat/completions") {
		p.chat(w, r)
		return
	}
	p.relay(w, r)
}

// relay passes a request on as it is, its body as a stream.
func (p *Proxy) relay(w http.ResponseWriter, r *http.Request) {
	p.noteUncompacted(r)
	fullDuplex(w)
	p.rest.ServeHTTP(w, r)
}

// fullDuplex lets an answer begin before the request's body has ended, which
// the server holds back otherwise. Writers that cannot do this do not need it.
func fullDuplex(w http.ResponseWriter) { _ = http.NewResponseController(w).EnableFullDuplex() }

// refuseConnect: a reverse proxy opens no tunnels.
func (p *Proxy) refuseConnect(w http.ResponseWriter, r *http.Request) {
	// RFC 9110 wants them named; others than these are relayed, too.
	w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	p.fail(w, r, &Error{
		Status: http.StatusMethodNotAllowed, Type: typeInvalid, Code: "method_not_allowed",
		Message: "CONNECT is not supported: Pleat is a reverse proxy",
	})
}
