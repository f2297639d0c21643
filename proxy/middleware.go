package proxy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"
)

// observe begins an exchange, gives it an id, and at its end counts it and
// logs it in one line. The id is for the logs: clients and upstreams have
// their own.
func (p *Proxy) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ex := &exchange{id: newID(), started: time.Now(), route: routeRelay, ended: endComplete}
		r = withExchange(r, ex)
		if ex.body = newTimedBody(w, r, p.opts.BodyTimeout); ex.body != nil {
			r.Body = ex.body
			defer ex.body.finish()
		}
		finished := false
		defer func() { //nolint:contextcheck // r carries it
			if !finished && ex.ended == endComplete {
				ex.ended = brokenBy(r.Context(), ex)
			}
			p.opts.Metrics.exchanged(ex)
			p.logExchange(r, ex)
		}()
		next.ServeHTTP(&responseWriter{ResponseWriter: w, ex: ex, http1: r.ProtoMajor == 1}, r)
		finished = true
	})
}

// brokenBy says who ended an exchange that was aborted.
func brokenBy(ctx context.Context, ex *exchange) ending {
	if ctx.Err() != nil || ex.unheard {
		return endClient
	}
	return endUpstream
}

// newID returns 64 random bits in hexadecimal.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

// logExchange writes the access log's line. It holds no query, which may hold
// a key, and nothing of any body.
func (p *Proxy) logExchange(r *http.Request, ex *exchange) {
	level := slog.LevelInfo
	if ex.err != nil && ex.ended != endClient {
		level = slog.LevelWarn
	}
	if !p.opts.Log.Enabled(r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 24)
	attrs = append(attrs,
		slog.String("request", ex.id),
		slog.String("method", headerSafe(r.Method)),
		slog.String("path", headerSafe(r.URL.Path)),
		slog.String("route", ex.route),
		slog.Int("status", ex.status),
		slog.Int64("bytes", ex.sent),
		slog.Duration("duration", time.Since(ex.started)),
	)
	if ex.ended != endComplete {
		attrs = append(attrs, slog.String("ended", string(ex.ended)))
	}
	if ex.requestID != "" {
		attrs = append(attrs, slog.String("upstream_request", headerSafe(ex.requestID)))
	}
	if ex.chat != nil {
		attrs = ex.chat.appendAttrs(attrs)
	}
	if ex.err != nil {
		attrs = append(attrs, slog.Any("error", ex.err))
	}
	p.opts.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

func (c *chat) appendAttrs(attrs []slog.Attr) []slog.Attr {
	attrs = append(attrs,
		slog.String("tenant", c.tenant),
		slog.String("session", headerSafe(c.plan.Session)),
		slog.String("model", headerSafe(c.plan.Model)),
		slog.Bool("stream", c.plan.Stream),
		slog.String("plan", string(c.plan.Status)),
		slog.Int("messages", c.plan.Messages),
		slog.Int("folded", c.plan.FoldedMessages),
		slog.Int("received_tokens", c.plan.TokensReceived),
		slog.Int("sent_tokens", c.plan.TokensSent),
		slog.Duration("added", c.added),
		slog.Int("prompt_tokens", c.usage.Prompt),
		slog.Int("completion_tokens", c.usage.Completion),
	)
	if o := c.outcome(); o.outcome != "" {
		attrs = append(attrs, slog.String("overflow", o.outcome), slog.String("overflow_kind", o.kind))
	}
	if c.short {
		attrs = append(attrs, slog.String("unplanned", "limits.memory is reached"))
	}
	if c.tap != nil && c.tap.scan != nil {
		if reason := c.tap.scan.doc.finish; reason != "" {
			attrs = append(attrs, slog.String("finish", headerSafe(reason)))
		}
		if c.tap.scan.doc.hasError {
			attrs = append(attrs, slog.Bool("error_in_body", true))
		}
	}
	return attrs
}

// recoverPanic answers 500 for a panic that nobody foresaw, or cuts the
// connection if the answer has begun. http.ErrAbortHandler is no accident:
// it is how a half-relayed response is cut, and goes on to the server.
func (p *Proxy) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { //nolint:contextcheck // r carries it
			cause := recover()
			if cause == nil {
				return
			}
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(http.ErrAbortHandler)
			}
			p.logPanic(r.Context(), "handler", cause)
			p.opts.Metrics.failures.handler.Inc()
			if exchangeOf(r.Context()).status != 0 {
				panic(http.ErrAbortHandler)
			}
			clear(w.Header()) // of an answer that will not be given
			p.fail(w, r, asError(errors.New("panic")))
		}()
		next.ServeHTTP(w, r)
	})
}

// recoverPart is deferred around a call of the compactor: a panic there is
// counted and logged, and the request goes on.
func (p *Proxy) recoverPart(ctx context.Context, part string) {
	cause := recover()
	if cause == nil {
		return
	}
	p.opts.Metrics.failures.of(part).Inc()
	p.logPanic(ctx, part, cause)
}

// logPanic logs where a panic came from. Its value may hold text of a message,
// unless the runtime wrote it, so only its type is told otherwise.
func (p *Proxy) logPanic(ctx context.Context, part string, cause any) {
	what := fmt.Sprintf("%T", cause)
	var bug runtime.Error
	if err, ok := cause.(error); ok && errors.As(err, &bug) {
		what = bug.Error()
	}
	id := ""
	if ex := exchangeOf(ctx); ex != nil {
		id = ex.id
	}
	p.opts.Log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("request", id),
		slog.String("part", part), slog.String("panic", what), slog.String("stack", string(debug.Stack())))
}

// responseWriter notes what is sent. Flush, Hijack and the deadlines are
// reached through Unwrap.
type responseWriter struct {
	http.ResponseWriter

	ex    *exchange
	http1 bool // its connection carries one request after the other
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader also ends the connection after an answer that comes before the
// request's body is there, whole. The server keeps such a connection open once
// full duplex is enabled, and would read what is left of the body, or what
// stands behind one whose framing is broken, as the next request.
func (w *responseWriter) WriteHeader(status int) {
	if status >= http.StatusOK && w.ex.status == 0 {
		w.ex.status = status
		if w.http1 && !w.ex.body.whole() {
			w.Header().Set("Connection", "close")
		}
		// Absent stays absent: the server would guess a type from the bytes.
		if _, ok := w.Header()["Content-Type"]; !ok {
			w.Header()["Content-Type"] = nil
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.ex.sent += int64(n)
	w.ex.unheard = w.ex.unheard || err != nil
	return n, err
}
