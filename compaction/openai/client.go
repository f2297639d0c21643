// Package openai asks a model for a summary over the chat completions API.
//
// A question goes to where the conversation's own requests go, on the client's
// own account, or to an upstream and an account of Pleat's. The two are never
// mixed: a client's credential goes to no other place than the client's
// requests do, and with a key of its own Pleat sends nothing of the client's.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/pleat-proxy/pleat/compaction"
)

var _ compaction.Summarizer = (*Client)(nil)

// Options are what a Client is made of. The zero value asks where the client's
// request went, on the client's account.
type Options struct {
	// BaseURL is the upstream, with the path that "/chat/completions" is added
	// to; its query is kept. Nil: the URL of the client's own request. With a
	// BaseURL there must be an APIKey.
	BaseURL *url.URL

	// APIKey is a key of Pleat's own. Empty: the client's account headers.
	APIKey string

	// Client sends the requests; nil is a client with Go's default transport.
	// It is copied: redirects are not followed and cookies not kept, whatever
	// it says.
	Client *http.Client

	// Retries is how many times a question that met a passing failure is asked
	// again; 0 means 2, a negative number none. Without an APIKey it is always
	// none: the quota is the client's.
	Retries int

	// UserAgent names the program to the upstream; empty means "pleat".
	UserAgent string
}

// Client is a compaction.Summarizer. It is safe for concurrent use.
type Client struct {
	base      *url.URL // nil: the caller's
	key       string   // empty: the caller's
	http      *http.Client
	retries   int
	userAgent string
	fields    *lru.Cache[string, limitField] // by place and model: the field that was taken when the other was not
}

// learnedFields bounds how many models' limit fields are remembered.
const learnedFields = 1024

// New returns a Client. The error says which options contradict each other.
func New(opt Options) (*Client, error) {
	if opt.BaseURL != nil {
		if opt.APIKey == "" {
			return nil, errors.New("summarizer: an upstream of its own needs an api key of its own: the client's credential is not sent elsewhere")
		}
		if opt.BaseURL.Scheme != "http" && opt.BaseURL.Scheme != "https" || opt.BaseURL.Host == "" {
			return nil, fmt.Errorf("summarizer: upstream %q is no http or https URL", opt.BaseURL.Redacted())
		}
	}
	fields, err := lru.New[string, limitField](learnedFields)
	if err != nil {
		return nil, fmt.Errorf("summarizer: %w", err)
	}
	c := &Client{
		base:      opt.BaseURL,
		key:       opt.APIKey,
		http:      &http.Client{},
		retries:   max(cmp.Or(opt.Retries, 2), 0),
		userAgent: cmp.Or(opt.UserAgent, "pleat"),
		fields:    fields,
	}
	if opt.Client != nil {
		*c.http = *opt.Client
	}
	c.http.Jar = nil
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.key == "" {
		c.retries = 0
	}
	return c, nil
}

// Summarize asks the question until it is answered, refused for good, or the
// retries or ctx are used up. A failure is a *compaction.AskError that holds no
// text of the upstream's answer.
//
// Models differ in which of two fields limits the answer's length and refuse
// the other, each upstream in words of its own. So the first 400 or 422,
// whatever it says, is answered by asking once more with the other field.
func (c *Client) Summarize(ctx context.Context, q compaction.Question) (compaction.Answer, error) {
	target, err := c.target(q)
	if err != nil {
		return compaction.Answer{}, &compaction.AskError{Err: err}
	}
	field, swapped := c.field(target, q), false
	for retry := 0; ; {
		answer, failure := c.ask(ctx, target, q, field)
		switch {
		case failure == nil:
			if swapped {
				c.fields.Add(fieldKey(target, q), field)
			}
			return answer, nil
		case failure.unprocessable() && !swapped && q.MaxTokens > 0:
			field, swapped = field.other(), true
		case retry < c.retries && failure.passing() && wait(ctx, retry, failure.RetryAfter):
			retry++
		default:
			return compaction.Answer{}, &failure.AskError
		}
	}
}

// ask sends the question once.
func (c *Client) ask(
	ctx context.Context, target *url.URL, q compaction.Question, field limitField,
) (compaction.Answer, *failure) {
	body, err := encode(q, field)
	if err != nil {
		return compaction.Answer{}, broken(0, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return compaction.Answer{}, broken(0, withoutURL(err))
	}
	c.authorize(req, q.Caller)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	// Said here, Go's transport leaves the inflating to read, where it is bounded.
	req.Header.Set("Accept-Encoding", "gzip")

	resp, err := c.http.Do(req)
	if err != nil {
		return compaction.Answer{}, unreached(withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return compaction.Answer{}, refused(resp)
	}
	return accepted(resp)
}

// withoutURL takes the URL out of an error of net/http: its query may hold a
// credential.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
