package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// NewTransport returns a transport made for model providers: answers may take
// as long as they take, bodies are never inflated on the way, and many
// requests run to one host at once. The caller may set its Proxy.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
		// A reasoning model is silent for minutes: a ping tells a dead
		// connection from a busy one.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// upstream is the provider's base URL, checked and taken apart.
type upstream struct {
	scheme, host string
	path         string // escaped, no slash at its end
}

func newUpstream(base *url.URL) (upstream, error) {
	switch {
	case base == nil:
		return upstream{}, errors.New("missing")
	case base.Scheme != "http" && base.Scheme != "https":
		return upstream{}, errors.New("the scheme must be http or https")
	case base.Host == "":
		return upstream{}, errors.New("the host is missing")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return upstream{}, errors.New("user, query and fragment are not allowed")
	}
	return upstream{base.Scheme, base.Host, strings.TrimRight(base.EscapedPath(), "/")}, nil
}

// target returns where a request for in goes. Escapes in the path and the
// query's spelling are kept.
func (u upstream) target(in *url.URL) *url.URL {
	out := *in
	out.Scheme, out.Host, out.User = u.scheme, u.host, nil
	if rest, ok := strings.CutPrefix(in.EscapedPath(), "/v1"); ok && (rest == "" || rest[0] == '/') {
		escaped := u.path + rest
		// Both parts were valid URLs, so this cannot fail.
		if path, err := url.PathUnescape(escaped); err == nil {
			out.Path, out.RawPath = path, escaped
		}
	}
	return &out
}

func (p *Proxy) reverseProxy(
	rewrite func(*httputil.ProxyRequest), modify func(*http.Response) error, transport http.RoundTripper,
) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        rewrite,
		ModifyResponse: modify,
		ErrorHandler:   p.fail,
		Transport:      transport,
		BufferPool:     &p.copies,
		// Whatever its type, what the upstream has sent is passed on at once.
		FlushInterval: -1,
		// The access log tells of these. Here they would quote what was read.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// rewriteRest addresses a request to the upstream and undoes what ReverseProxy
// changes of its own: it re-encodes queries that it finds odd, removes the
// client's forwarding headers, and copies the trailers before they are there.
func (p *Proxy) rewriteRest(pr *httputil.ProxyRequest) {
	pr.Out.URL = p.upstream.target(pr.In.URL)
	pr.Out.Host = ""
	pr.Out.Trailer = pr.In.Trailer
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := pr.In.Header[name]; ok && !hopByHop(pr.In.Header, name) {
			pr.Out.Header[name] = values
		}
	}
	stripOwn(pr.Out.Header)
}

// hopByHop reports whether the header's Connection names the other one, which
// then goes no further.
func hopByHop(h http.Header, name string) bool {
	for _, value := range h["Connection"] {
		for token := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return true
			}
		}
	}
	return false
}

// rewriteChat puts the planned body in the place of the one that was read.
func (p *Proxy) rewriteChat(pr *httputil.ProxyRequest) {
	p.rewriteRest(pr)
	out, c := pr.Out, exchangeOf(pr.In.Context()).chat

	c.attach(out)
	if c.payload.rest != nil {
		c.letGo() // what was read is freed as it is sent
	}
	out.Header.Del("Expect") // the client sends its body: nothing to wait for
	if accepted := out.Header["Accept-Encoding"]; len(accepted) > 0 && !c.signed {
		out.Header.Set("Accept-Encoding", narrowEncodings(accepted))
	}
}

// restResponded notes what the access log needs; the response passes as it is.
// One whose status is none that HTTP has cannot be passed on.
func (p *Proxy) restResponded(res *http.Response) error {
	if res.StatusCode < http.StatusContinue {
		return errNotHTTP
	}
	ex := exchangeOf(res.Request.Context())
	ex.requestID = res.Header.Get("X-Request-ID")
	if res.StatusCode == http.StatusSwitchingProtocols {
		ex.status = res.StatusCode // written past our ResponseWriter
		return nil                 // ReverseProxy writes to this body: it is not wrapped
	}
	res.Body = &watched{res.Body, ex}
	return nil
}

// chatResponded tells the compactor, describes the plan in the headers and
// sets a reader beside the body.
func (p *Proxy) chatResponded(res *http.Response) error {
	_, held := res.Body.(*gate) // it tells the compactor itself, later
	if err := p.restResponded(res); err != nil {
		return err
	}
	c := exchangeOf(res.Request.Context()).chat
	if !held {
		p.responded(res.Request.Context(), c, res.StatusCode, res.Header)
	}
	c.describe(res.Header)
	if res.StatusCode != http.StatusSwitchingProtocols {
		c.tap = newTap(res, &p.codecs)
		res.Body = c.tap
	}
	return nil
}

// watched is a response's body. It notes why reading it failed.
type watched struct {
	io.ReadCloser

	ex *exchange
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.ex.err == nil {
		b.ex.err = discreet(err)
	}
	return n, err
}

// responded tells the compactor of the final answer's header. From then on
// nobody asks for the request's body.
func (p *Proxy) responded(ctx context.Context, c *chat, status int, header http.Header) {
	defer c.letGo()
	if !c.planned {
		return
	}
	defer p.recoverPart(ctx, "responded")
	p.opts.Compactor.Responded(c.plan, status, header)
}
