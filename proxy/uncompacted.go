package proxy

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
)

// family is a kind of path that carries conversations in another form than
// chat completions. Pleat relays them whole; newer SDKs use some of them by
// default, so an operator must be able to see it.
type family int

const (
	familyNone family = iota
	familyResponses
	familyMessages
	familyCompletions
	familyRealtime
	familyOllama
	familyGemini
	families // their number
)

func (f family) String() string {
	return [families]string{"", "responses", "messages", "completions", "realtime", "ollama", "gemini"}[f]
}

// familyOf tells the kind of a request that begins or continues a conversation.
func familyOf(method, path string) family {
	path = strings.TrimSuffix(path, "/")
	if strings.HasSuffix(path, "/realtime") { // a GET that is upgraded
		return familyRealtime
	}
	if method != http.MethodPost {
		return familyNone
	}
	for _, known := range []struct {
		suffix string
		family family
	}{
		{"/responses", familyResponses},
		{"/v1/messages", familyMessages},
		{"/completions", familyCompletions},
		{"/api/chat", familyOllama},
		{"/api/generate", familyOllama},
		{":generateContent", familyGemini},
		{":streamGenerateContent", familyGemini},
	} {
		if strings.HasSuffix(path, known.suffix) {
			return known.family
		}
	}
	return familyNone
}

// notices remembers which families were logged: one line each, ever.
type notices [families]atomic.Bool

// noteUncompacted counts a conversation that is relayed whole, and logs the
// first of each family.
func (p *Proxy) noteUncompacted(r *http.Request) {
	f := familyOf(r.Method, r.URL.Path)
	if f == familyNone {
		return
	}
	exchangeOf(r.Context()).route = routeUncompacted
	p.opts.Metrics.uncompacted[f].Inc()
	if p.notices[f].CompareAndSwap(false, true) {
		p.opts.Log.LogAttrs(r.Context(), slog.LevelInfo,
			"conversations on this path are relayed without compaction; only chat completions are compacted",
			slog.String("family", f.String()), slog.String("path", headerSafe(r.URL.Path)))
	}
}
