package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// exchange is what is known of one request and its response. Its handler's
// goroutine alone reads and writes it.
type exchange struct {
	id      string
	started time.Time
	route   string

	status int   // sent to the client; 0 until it was
	sent   int64 // body bytes written to the client
	ended  ending
	err    error // the private cause of a failure

	unheard bool // writing to the client failed

	body      *timedBody // of the request; nil if it has none
	requestID string     // the upstream's x-request-id
	chat      *chat      // nil for all other routes
}

// Values of exchange.route: all that the metrics' route label may be.
const (
	routeChat        = "chat"
	routeRelay       = "relay"
	routeUncompacted = "uncompacted"
)

// ending says how an exchange ended.
type ending string

const (
	endComplete ending = "complete"
	endClient   ending = "client_gone"    // the client left first
	endUpstream ending = "upstream_broke" // the upstream failed mid-response
)

// statusClientGone is nginx's name for a client that left before its answer.
// It is logged and counted, never sent.
const statusClientGone = 499

// chat is the part of an exchange that only chat completions have.
type chat struct {
	tenant   string
	received *received
	plan     *compaction.Plan
	planned  bool // plan is the compactor's, who is told how it went
	short    bool // there was no memory to have it planned
	payload  payload
	added    time.Duration // what Pleat added before sending
	tap      *tap          // reads the response in passing; nil until there is one
	usage    compaction.Usage
	signed   bool
	overflow overflowed // zero if the upstream did not refuse it as too long
}

type exchangeKey struct{}

func withExchange(r *http.Request, ex *exchange) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, ex))
}

// exchangeOf returns the exchange that the observe middleware began.
func exchangeOf(ctx context.Context) *exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	return ex
}
