package compaction

import (
	"net/http"
	"strconv"
	"time"
)

// sessionBytes is the longest session name that is shown as it was given.
const sessionBytes = 128

// session names the session of a request: as the client gave it (header, then
// body), else after the tenant and the opening. The name is a label; it finds
// no folds. A request without an opening has no session.
func session(req Request, r *request, opening string) string {
	switch {
	case req.Session != "":
		return sessionName(req.Session)
	case r.session != "":
		return sessionName(r.session)
	case opening != "":
		return "auto-" + digest("session", req.Tenant, opening)
	}
	return ""
}

// opening identifies how a conversation opens: all leading instructions, whole,
// and the first user message. It is empty if there is no user message.
//
// Of a user message in parts only the first part counts, if that is text: some
// clients grow the last message in place, and a conversation's first message is
// its last for a while.
func opening(r *request) string {
	var parts []string
	for i := range r.messages {
		m := &r.messages[i]
		if m.role.pinned() {
			parts = append(parts, string(m.fp[:]))
		}
		if m.role != roleUser {
			continue
		}
		if o := r.outline(i); len(o.parts) > 0 && o.parts[0].kind == "text" {
			return digest(append(parts, o.name, o.parts[0].text)...)
		}
		return digest(append(parts, string(m.fp[:]))...)
	}
	return ""
}

// sessionName makes a given name fit for a header and a store: a name that is
// too long or has other than printable ASCII characters is replaced by a hash.
func sessionName(given string) string {
	for i := range len(given) {
		if given[i] < ' ' || given[i] > '~' {
			return "name-" + digest("session name", given)
		}
	}
	if len(given) > sessionBytes {
		return "name-" + digest("session name", given)
	}
	return given
}

// retryAfter reads a Retry-After header, in seconds or as a date, up to an hour;
// 0 if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	wait := time.Duration(0)
	if n, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(n, 3600)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), time.Hour)
}
