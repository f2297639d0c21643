package proxy

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server for h, a *Proxy, ready for Serve. Nothing bounds
// how long an answer takes; a client has ten seconds for its headers, and
// bodies are timed by the Proxy read by read. log receives, at debug level,
// what the server has to say of broken connections.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       3 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		// OPTIONS * is for the upstream to answer, like everything else.
		DisableGeneralOptionsHandler: true,
	}
}
