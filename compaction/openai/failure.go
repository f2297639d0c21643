package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// failure is a question that was not answered, and what it means for asking
// again.
type failure struct {
	compaction.AskError

	transport bool   // no whole answer arrived: asking again may help
	code      string // the upstream's own code or type, "" if it gave none
}

// unreached is a failure on the way to the upstream or back.
func unreached(err error) *failure {
	return &failure{AskError: compaction.AskError{Err: err}, transport: true}
}

// broken is a failure that will be the same the next time.
func broken(status int, err error) *failure {
	return &failure{AskError: compaction.AskError{Status: status, Err: err}}
}

// unprocessable reports whether the upstream found fault with the request.
func (f *failure) unprocessable() bool {
	return f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity
}

// passing reports whether the same request may succeed a little later. A used
// up quota also comes as 429 and does not pass.
func (f *failure) passing() bool {
	switch {
	case f.transport:
		return true
	case f.code == "insufficient_quota":
		return false
	}
	return f.Status == http.StatusRequestTimeout || f.Status == http.StatusTooManyRequests || f.Status >= 500
}

// refusalBody is how much of an error's body is read, in bytes.
const refusalBody = 64 << 10

// refused makes a failure of a response whose status is not 200.
func refused(resp *http.Response) *failure {
	body, _ := read(resp, refusalBody) // the status says enough without it
	f := failureOf(resp.StatusCode, body)
	f.RetryAfter = retryAfter(resp.Header, time.Now())
	return f
}

// failureOf makes a failure of a status and the body of an error. Of the body
// only a code or a type is kept: a message may quote the request or the key.
func failureOf(status int, body []byte) *failure {
	e := errorIn(body)
	f := &failure{code: e.name(), AskError: compaction.AskError{Status: status}}
	if f.code != "" {
		f.Err = errors.New(f.code)
	} else if text := http.StatusText(status); text != "" {
		f.Err = errors.New(strings.ToLower(text))
	} else {
		f.Err = errors.New("unknown status")
	}
	return f
}

// upstreamError is an error as providers write it; code may be a number.
type upstreamError struct {
	Type any `json:"type"`
	Code any `json:"code"`
}

// errorIn finds the error in a body: under "error", in a list (Gemini), or at
// the top (Mistral). It is zero if there is none.
func errorIn(body []byte) upstreamError {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var envelope struct {
		upstreamError

		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &envelope) // a body of another form has no code to show
	if inner := (upstreamError{}); json.Unmarshal(envelope.Error, &inner) == nil {
		return inner
	}
	return envelope.upstreamError
}

// telling matches a code that names an error: words, or a short number. Keys
// and ids have both letters and digits and never match.
var telling = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z_.]{1,47}|[0-9]{1,6})$`)

// name returns the error's code, else its type, if it is a plain name.
func (e upstreamError) name() string {
	for _, value := range []any{e.Code, e.Type} {
		if number, ok := value.(float64); ok {
			value = strconv.FormatFloat(number, 'f', -1, 64)
		}
		if text, ok := value.(string); ok && telling.MatchString(text) {
			return text
		}
	}
	return ""
}

// status returns the HTTP status that the error's code states, else fallback:
// some upstreams send errors with status 200 and the true one inside.
func (e upstreamError) status(fallback int) int {
	number, err := strconv.Atoi(fmt.Sprint(e.Code))
	if err != nil || number < 400 || number > 599 {
		return fallback
	}
	return number
}
