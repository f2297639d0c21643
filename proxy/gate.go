package proxy

import (
	"context"
	"io"
	"net/http"

	"github.com/pleat-proxy/pleat/compaction"
)

// maxHeld is how much of one event is held back until it is whole, in bytes. A
// longer one is no refusal.
const maxHeld = 64 << 10

// gate is an event stream's body until the model has said something. What the
// upstream sends passes as it comes, event by event; an event that refuses the
// request because its window is exceeded does not pass: the request is made
// shorter and sent again, and that answer's stream goes on where the first
// stopped. From the first content on, everything passes as it is.
//
// The compactor is told of the answer when the gate opens, since until then the
// plan may change. A gate is used by its handler's goroutine alone.
type gate struct {
	transport *recoverer
	req       *http.Request
	res       *http.Response
	chat      *chat

	body    io.ReadCloser // the upstream's
	retried bool          // res is the answer to the second attempt
	open    bool          // content has passed, or whatever else decides

	held    []byte // read, not yet passed
	out     []byte // passed, not yet read by the client's side
	err     error  // how the stream ends once out is read
	refusal *compaction.Overflow

	sent, skipped tally // events that say nothing: passed of the first stream, left out of the second
	dropped       bool  // the event before was left out
	id            string
	renamed       *renamed // nil unless the second stream's id is not what the client knows
}

// tally counts events that carry no content.
type tally struct{ comments, deltas int }

// watch puts a gate before an event stream. A compressed one passes unwatched:
// its first bytes cannot be followed by those of another stream.
func (t *recoverer) watch(req *http.Request, res *http.Response, c *chat, retried bool) {
	if res.StatusCode/100 != 2 || !isEvents(res.Header) || encodingOf(res.Header) != "" {
		return
	}
	if res.ContentLength >= 0 { // the whole stream is there: a length that will not hold is not declared
		if !t.refusedEarly(req.Context(), res) {
			return
		}
		res.ContentLength = -1
		res.Header.Del("Content-Length")
	}
	res.Body = &gate{transport: t, req: req, res: res, chat: c, body: res.Body, retried: retried}
}

// refusedEarly reads a stream until something is said in it, and reports whether
// that is a refusal. The stream is still whole afterwards.
func (t *recoverer) refusedEarly(ctx context.Context, res *http.Response) (refused bool) {
	decided := func(plain []byte) bool {
		for len(plain) > 0 {
			size := cutEvent(plain)
			if size == 0 {
				return len(plain) > maxHeld
			}
			if _, refused = t.refusedIn(ctx, plain[:size]); refused {
				return true
			}
			if sort, _ := sortOf(plain[:size]); sort == sortContent {
				return true
			}
			plain = plain[size:]
		}
		return false
	}
	if body := t.read(res, decided); !refused {
		decided(body) // of which the last piece came with the end
	}
	return refused
}

func (g *gate) ctx() context.Context { return g.req.Context() }

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	for {
		switch {
		case len(g.out) > 0:
			n := copy(p, g.out)
			g.out = g.out[n:]
			return n, nil
		case g.refusal != nil:
			g.refused()
		case g.err != nil:
			return 0, g.err
		case g.open && g.renamed == nil:
			return g.body.Read(p)
		default:
			n, err := g.body.Read(p)
			g.take(p[:n], err)
		}
	}
}

// Close implements io.Closer.
func (g *gate) Close() error {
	g.settle(g.res.StatusCode)
	return g.body.Close()
}

// settle opens the gate and tells the compactor of the answer.
func (g *gate) settle(status int) {
	if g.open {
		return
	}
	g.open = true
	g.transport.proxy.responded(g.ctx(), g.chat, status, g.res.Header)
}

// take looks at what was read, and passes all of it but the beginning of an
// event that may turn out to be a refusal.
func (g *gate) take(p []byte, err error) {
	g.held = append(g.held, p...)
	g.err = err
	for !g.open && g.refusal == nil && len(g.held) > 0 {
		size := cutEvent(g.held)
		if size == 0 && err == nil && len(g.held) <= maxHeld {
			return
		}
		if size == 0 {
			size = len(g.held)
		}
		g.judge(g.held[:size], size)
	}
	switch {
	case g.refusal != nil:
	case g.open:
		g.pass(len(g.held))
	case err != nil:
		g.settle(g.res.StatusCode)
	}
}

// judge decides about the first event that is held.
func (g *gate) judge(event []byte, size int) {
	if o, refused := g.transport.refusedIn(g.ctx(), event); refused {
		g.refusal = &o
		return
	}
	sort, id := sortOf(event)
	if g.retried && g.renamed == nil && id != "" && g.id != "" && id != g.id {
		g.renamed = newRenamed(id, g.id)
	}
	skip := false
	switch sort {
	case sortContent:
		g.settle(g.res.StatusCode)
	case sortComment:
		skip = g.said(&g.sent.comments, &g.skipped.comments)
	case sortDelta:
		skip = g.said(&g.sent.deltas, &g.skipped.deltas)
		if !g.retried {
			g.id = id
		}
	case sortBlank:
		skip = g.dropped // a comment's, which came apart from it
	}
	g.dropped = skip
	if skip {
		g.held = g.held[size:]
		return
	}
	g.pass(size)
}

// said counts an event without content, and reports whether it is one that the
// client has from the first stream already.
func (g *gate) said(sent, skipped *int) bool {
	if !g.retried {
		*sent++
		return false
	}
	if *skipped < *sent {
		*skipped++
		return true
	}
	return false
}

// pass lets the first size bytes go that are held.
func (g *gate) pass(size int) {
	passing := g.held[:size]
	if g.renamed != nil {
		passing = g.renamed.write(passing, g.err != nil)
	}
	g.out = append(g.out, passing...)
	if g.held = g.held[size:]; len(g.held) == 0 {
		g.held = nil
	}
}

// refused sends the request again, made shorter, or ends the stream with a
// report.
func (g *gate) refused() {
	o := *g.refusal
	g.refusal, g.held, g.err = nil, nil, nil
	_ = g.body.Close() // what follows the error is of no interest
	g.body = http.NoBody
	if g.retried || !g.transport.fit(g.ctx(), g.chat, o) {
		g.report(g.res.StatusCode, o)
		return
	}
	req := g.transport.again(g.req, g.chat)
	req.Header.Set("Accept-Encoding", "identity") // as the stream that has begun
	res, err := g.transport.next.RoundTrip(req)
	if err != nil {
		g.chat.overflow.outcome = outcomeFailed
		g.settle(http.StatusBadGateway)
		g.err = err
		return
	}
	g.res, g.retried = res, true
	if o, again := g.transport.refusal(g.ctx(), res); again {
		_ = res.Body.Close() // of an answer that was read
		g.report(res.StatusCode, o)
		return
	}
	if res.StatusCode/100 != 2 || !isEvents(res.Header) || encodingOf(res.Header) != "" {
		g.chat.overflow.outcome = outcomeFailed
		g.end(res.StatusCode, g.transport.errorEvents(res))
		return
	}
	g.chat.answered(res.StatusCode)
	g.body = res.Body
}

// report ends the stream with the diagnosis of o, which came with status.
func (g *gate) report(status int, o compaction.Overflow) {
	d := g.transport.diagnose(g.ctx(), g.chat, o, status)
	g.end(http.StatusBadRequest, lastEvents(encodeReport(d)))
}

// end passes the last events. The compactor is told status.
func (g *gate) end(status int, last []byte) {
	g.settle(status)
	g.renamed, g.out, g.err = nil, last, io.EOF
}
