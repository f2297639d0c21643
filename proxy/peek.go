package proxy

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	// maxRefusal is how much of an answer is read, and how much of it inflated,
	// to learn whether it is a refusal, in bytes.
	maxRefusal = 1 << 20

	// beginning is how many bytes of a successful answer tell that it is none.
	beginning = 40
)

// peek reads an answer that may be a refusal and returns it inflated, or nil if
// it cannot be one. The answer's body is as it was. Of one that says of itself
// that all went well only the beginning is read, unless that is an error's.
func (t *recoverer) peek(res *http.Response) []byte {
	switch s := res.StatusCode; {
	case s >= http.StatusBadRequest:
		if !aboutRequest(s) {
			return nil
		}
		return t.read(res, func([]byte) bool { return false })
	case s/100 == 2 && isJSON(res.Header):
		body := t.read(res, ordinary)
		if ordinary(body) || !beginsAsError(body) {
			return nil
		}
		return body
	}
	return nil
}

// aboutRequest is false for errors that no shorter request would avoid: identity,
// money, rate.
func aboutRequest(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden,
		http.StatusProxyAuthRequired, http.StatusTooManyRequests:
		return false
	}
	return true
}

// read reads res until it ends, enough says that no more is needed, or a bound
// is reached. It returns what it read, inflated.
func (t *recoverer) read(res *http.Response, enough func(plain []byte) bool) []byte {
	var raw, plain []byte
	write := func(p []byte) { plain = append(plain, p[:min(len(p), maxRefusal-len(plain))]...) }
	end := func() {}
	if encoding := encodingOf(res.Header); encoding != "" {
		decoder := newPushDecoder(&t.proxy.codecs, encoding, write)
		write, end = decoder.write, decoder.close
	}
	var failed error
	for chunk := make([]byte, 4<<10); failed == nil && len(raw) < maxRefusal && !enough(plain); {
		var n int
		n, failed = res.Body.Read(chunk)
		raw = append(raw, chunk[:n]...)
		if n > 0 {
			write(chunk[:n])
		}
	}
	end() // what the decoder keeps back until it has seen the end
	res.Body = &replayed{ReadCloser: res.Body, read: raw, err: failed}
	return plain
}

// replayed is a body whose beginning was read already.
type replayed struct {
	io.ReadCloser

	read []byte
	err  error // met after read; nil if there is more
}

func (r *replayed) Read(p []byte) (int, error) {
	if len(r.read) > 0 {
		n := copy(p, r.read)
		r.read = r.read[n:]
		return n, nil
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.ReadCloser.Read(p)
}

// encodingOf is the answer's content encoding, "" if it has none.
func encodingOf(h http.Header) string {
	encoding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if encoding == "identity" {
		return ""
	}
	return encoding
}

func isJSON(h http.Header) bool { return strings.HasSuffix(mediaType(h), "json") }

func isEvents(h http.Header) bool { return mediaType(h) == "text/event-stream" }

func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// ordinary reports whether an answer's beginning is none of an error's. White
// space alone keeps a connection alive; the client is to see it.
func ordinary(plain []byte) bool {
	text := bytes.TrimLeft(plain, " \t\r\n\xEF\xBB\xBF")
	return len(plain) > 0 && len(text) == 0 || len(text) >= beginning && !beginsAsError(plain)
}

// beginsAsError reports whether JSON begins with a member that error envelopes
// begin with, and completions do not.
func beginsAsError(plain []byte) bool {
	text := bytes.TrimLeft(plain, " \t\r\n\xEF\xBB\xBF[")
	text, ok := bytes.CutPrefix(text, []byte("{"))
	if !ok {
		return false
	}
	text, ok = bytes.CutPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte(`"`))
	if !ok {
		return false
	}
	key, rest, _ := bytes.Cut(text, []byte(`"`))
	switch string(key) {
	case "error", "errors", "error_type", "error_message", "err", "code", "message", "msg", "type", "detail",
		"success", "status", "base_resp":
		return true
	case "object":
		return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n:"), []byte(`"error"`))
	}
	return false
}
