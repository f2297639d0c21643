package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/pleat-proxy/pleat/compaction"
)

// report is OpenAI's error envelope with Pleat's diagnosis in it. Its code is
// what clients know a request by that exceeds its window.
type report struct {
	Error reported `json:"error"`
}

type reported struct {
	Message string                `json:"message"`
	Type    string                `json:"type"`
	Param   string                `json:"param"`
	Code    string                `json:"code"`
	Pleat   *compaction.Diagnosis `json:"pleat"`
}

// codeOverflow is OpenAI's code for a request that exceeds its window.
const codeOverflow = "context_length_exceeded"

// diagnose has the chat's overflow explained. status is what the upstream
// answered.
func (t *recoverer) diagnose(ctx context.Context, c *chat, o compaction.Overflow, status int) *compaction.Diagnosis {
	c.overflow = overflowed{kind: string(o.Kind), outcome: outcomeReported}
	d := &compaction.Diagnosis{
		Kind: string(o.Kind), Model: c.plan.Model, Session: c.plan.Session,
		Upstream: compaction.Refusal{Status: status, Format: o.Format, Message: o.Message},
	}
	func() {
		defer t.proxy.recoverPart(ctx, "recover")
		d = t.compactor.Diagnose(c.plan, o, status)
	}()
	return d
}

// encodeReport is the report's JSON, on one line.
func encodeReport(d *compaction.Diagnosis) []byte {
	if d.Attempts == nil {
		d.Attempts = []compaction.Attempt{} // [] is easier on programs than null
	}
	if d.Largest == nil {
		d.Largest = []compaction.Largest{}
	}
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	said := reported{Message: d.Message(), Type: typeInvalid, Param: "messages", Code: codeOverflow, Pleat: d}
	_ = e.Encode(report{said}) //nolint:errchkjson // numbers and texts: it cannot fail
	return body.Bytes()
}

// report is the answer to a chat that could not be made to fit: the upstream's,
// with another status and body.
func (t *recoverer) report(ctx context.Context, res *http.Response, c *chat, o compaction.Overflow) *http.Response {
	d := t.diagnose(ctx, c, o, res.StatusCode)
	_ = res.Body.Close() // of an answer that was read
	body := encodeReport(d)
	h := res.Header.Clone()
	for _, name := range []string{
		"Content-Encoding", "Content-Length", "Trailer", "Etag", "Content-Md5", "Content-Digest", "Retry-After",
	} {
		h.Del(name) // they tell of what is not sent
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if seconds := d.RetryAfter(); seconds > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	return &http.Response{
		Status:     "400 " + http.StatusText(http.StatusBadRequest),
		StatusCode: http.StatusBadRequest,
		Proto:      res.Proto, ProtoMajor: res.ProtoMajor, ProtoMinor: res.ProtoMinor,
		Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: res.Request,
	}
}

// lastEvents ends a stream with an error, as OpenAI's streams do.
func lastEvents(body []byte) []byte {
	return fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", bytes.TrimSpace(body))
}

// errorEvents ends a stream with what the upstream answered instead of one.
func (t *recoverer) errorEvents(res *http.Response) []byte {
	body := t.read(res, func([]byte) bool { return false })
	_ = res.Body.Close() // of an answer that was read
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	var line bytes.Buffer
	if json.Unmarshal(body, &said) == nil && substantial(said.Error) && json.Compact(&line, body) == nil {
		return lastEvents(line.Bytes())
	}
	e := &Error{
		Type: typeUpstream, Code: "upstream_error",
		Message: fmt.Sprintf("upstream %s answered %d", t.proxy.upstream.host, res.StatusCode),
	}
	return lastEvents(e.encode())
}
