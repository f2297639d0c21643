package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// chat answers one chat completion: the body is read, planned and forwarded.
func (p *Proxy) chat(w http.ResponseWriter, r *http.Request) {
	ex := exchangeOf(r.Context())
	ex.route = routeChat

	received, err := p.receive(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer received.release()
	begun := time.Now()

	tenant, err := p.tenant(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	c := &chat{tenant: tenant, received: received, short: received.short, signed: signed(r.Header)}
	if c.short {
		p.skip(w, c)
	} else {
		p.plan(r, c)
	}
	defer p.finished(r.Context(), c)
	if err := r.Context().Err(); err != nil {
		// Its plan may call itself degraded, which nobody will ever see.
		p.fail(w, r, &Error{Status: statusClientGone, Cause: err})
		return
	}
	c.payload = c.choose()
	c.added = time.Since(begun)
	ex.chat = c
	p.chats.ServeHTTP(w, r)
}

// tenant names whom the request belongs to. A *Error from the policy refuses
// the request.
func (p *Proxy) tenant(r *http.Request) (string, error) {
	tenant, err := p.opts.Tenants.Tenant(r)
	if err != nil {
		return "", asError(err)
	}
	return tenant, nil
}

// plan has the request planned. A planner that panics costs the request
// nothing: it goes upstream as it came.
func (p *Proxy) plan(r *http.Request, c *chat) {
	request := compaction.Request{
		Tenant:  c.tenant,
		Session: r.Header.Get("X-Pleat-Session"),
		Bypass:  c.signed || wantsBypass(r.Header),
		Caller:  compaction.Caller{URL: p.upstream.target(r.URL), Header: accountHeaders(r.Header)},
		Body:    c.received.plain.data,
	}
	c.plan = &compaction.Plan{Body: request.Body, Status: compaction.Degraded}
	defer p.recoverPart(r.Context(), "plan")

	plan, err := p.opts.Compactor.Plan(r.Context(), request)
	if err != nil && r.Context().Err() == nil {
		p.opts.Metrics.failures.plan.Inc()
		p.opts.Log.LogAttrs(r.Context(), slog.LevelWarn, "planning failed, request sent as it came",
			slog.String("request", exchangeOf(r.Context()).id), slog.Any("error", err))
	}
	if plan != nil {
		c.plan, c.planned = plan, true
	}
}

// skip passes a chat on unplanned, as a stream if a part of it is still to be
// read: above the bound on memory, nobody is refused.
func (p *Proxy) skip(w http.ResponseWriter, c *chat) {
	c.plan = &compaction.Plan{Body: c.received.plain.data, Status: compaction.Degraded}
	p.opts.Metrics.failures.memory.Inc()
	if c.received.rest != nil {
		fullDuplex(w)
	}
}

// letGo ends the handler's hold on the body, once neither the compactor nor a
// retry can ask for it. A transport that still sends it has a hold of its own.
func (c *chat) letGo() {
	c.received.release()
	c.payload = payload{}
	c.plan.Body = nil
}

// finished tells the compactor how the exchange ended.
func (p *Proxy) finished(ctx context.Context, c *chat) {
	if c.tap != nil {
		c.usage = c.tap.finish()
	}
	if !c.planned {
		return
	}
	defer p.recoverPart(ctx, "finished")
	p.opts.Compactor.Finished(c.plan, c.usage)
}

// signed reports whether a signature covers the body, so that it must arrive
// as it was sent.
func signed(h http.Header) bool {
	if strings.HasPrefix(h.Get("Authorization"), "AWS4-HMAC") {
		return true
	}
	for _, name := range []string{"Signature", "Signature-Input", "Content-Digest", "Digest", "Content-Md5"} {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}

func wantsBypass(h http.Header) bool {
	bypass, err := strconv.ParseBool(strings.TrimSpace(h.Get("X-Pleat-Bypass")))
	return err == nil && bypass
}

// accountHeaders copies the headers that say on whose account a request is made.
func accountHeaders(h http.Header) http.Header {
	account := make(http.Header, 2)
	for _, name := range []string{
		"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Openai-Organization", "Openai-Project",
	} {
		if values := h[name]; len(values) > 0 {
			account[name] = append([]string(nil), values...)
		}
	}
	return account
}

// describe sets the X-Pleat headers and adds to Server-Timing. Values that an
// upstream set under Pleat's names are removed.
func (c *chat) describe(h http.Header) {
	stripOwn(h)
	if c.plan.Session != "" {
		h.Set("X-Pleat-Session", headerSafe(c.plan.Session))
	}
	h.Set("X-Pleat-Status", string(c.plan.Status))
	h.Set("X-Pleat-Folded-Messages", strconv.Itoa(c.plan.FoldedMessages))
	h.Set("X-Pleat-Tokens-Received", strconv.Itoa(c.plan.TokensReceived))
	h.Set("X-Pleat-Tokens-Sent", strconv.Itoa(c.plan.TokensSent))
	if c.plan.Estimated {
		h.Set("X-Pleat-Tokens-Estimated", "true")
	}
	ms := float64(c.added) / float64(time.Millisecond)
	h.Add("Server-Timing", "pleat;dur="+strconv.FormatFloat(ms, 'f', 3, 64))
}

// stripOwn removes every X-Pleat header.
func stripOwn(h http.Header) {
	for name := range h {
		if len(name) > len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix) {
			delete(h, name)
		}
	}
}

const ownPrefix = "X-Pleat-"

// maxShown is how much of a name that a client chose is shown, in bytes.
const maxShown = 200

// headerSafe percent-encodes what may not stand in a header's value, and cuts
// what is longer than any name should be.
func headerSafe(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range min(len(s), maxShown) {
		if c := s[i]; c < ' ' || c > '~' {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
