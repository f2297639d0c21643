// Package tokens counts the tokens of text as the models' own tokenizers do.
//
// The vocabularies of OpenAI's encodings are part of the binary; nothing is
// ever downloaded. A model of another maker is counted with the default
// encoding, and its Encoder says that the count is an estimate.
//
// Counts are those of tiktoken-go, token for token, of any text whatever; there
// is no length from which on they are estimates. Counting takes time in
// proportion to the text: on one core of a small server, about 200 MB of English
// a second, 130 of code, 25 of Chinese, and 10 of text without any break.
//
// How it is done: pattern.piece cuts text into pieces as the encoding's regular
// expression would; most pieces are tokens, which a table says; the others are
// merged from single bytes, long ones window by window.
package tokens

import (
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
)

// What a request costs besides its text, in tokens. The first three are those
// of the OpenAI cookbook, "How to count tokens with tiktoken", for gpt-3.5-turbo
// and all later chat models.
const (
	MessageOverhead = 3 // of each message: its role and its delimiters
	NameOverhead    = 1 // of a message that has a name, beside the name's text
	ReplyPriming    = 3 // of each request: the opening of the assistant's reply
)

// What a part that is no text costs, in tokens. Its true cost depends on
// contents that are not looked at, so these are flat estimates.
const (
	// ImageTokens is a 1024 by 1024 image in high detail: 85 and four tiles of
	// 170 (OpenAI, "Images and vision", as of gpt-4o).
	ImageTokens = 765

	// ImageTokensLow is an image with "detail": "low" (same source).
	ImageTokensLow = 85

	// FileTokens is a file of about one page; makers state 1,500 to 3,000
	// tokens a page of PDF (Anthropic, "PDF support").
	FileTokens = 2000

	// AudioTokens is a minute of speech at ten tokens a second (OpenAI,
	// "Realtime costs").
	AudioTokens = 600
)

// DefaultEncoding counts for models whose own encoding is not known.
const DefaultEncoding = "o200k_base"

// Bounds of the cache from model name to Encoder. Names come from clients, so
// both their number and their length are limited.
const (
	cachedModels   = 1024
	cachedNameSize = 256 // bytes
)

// Rule says which encoding the models have whose name, as the client wrote it,
// matches Glob: case is ignored, * matches any run of characters, "/"
// included, and ? matches one. A rule without an Encoding says nothing.
type Rule struct {
	Glob     string
	Encoding string
}

// Counter finds the encoder of a model. It is safe for concurrent use.
type Counter struct {
	rules        []Rule
	vocabularies map[string]loader // by the name of the encoding
	models       *lru.Cache[string, Encoder]
}

// New returns a Counter that knows OpenAI's models and, before them, the given
// rules, of which the first that matches wins. It loads the default vocabulary,
// which takes some 30 ms and 8 MB; the others are loaded when first needed.
// The error names an unknown encoding.
func New(rules []Rule) (*Counter, error) {
	c := &Counter{vocabularies: newLoaders()}
	for _, rule := range rules {
		if rule.Encoding == "" {
			continue
		}
		if _, ok := c.vocabularies[rule.Encoding]; !ok {
			return nil, fmt.Errorf("tokens: models %q: unknown encoding %q (known: %s)",
				rule.Glob, rule.Encoding, encodingNames())
		}
		c.rules = append(c.rules, rule)
	}
	if _, err := c.vocabularies[DefaultEncoding](); err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	models, err := lru.New[string, Encoder](cachedModels)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	c.models = models
	return c, nil
}

// For returns the encoder of the model, as the client names it. It never
// fails: of a model that it does not know it returns the default encoder.
func (c *Counter) For(model string) Encoder {
	if len(model) > cachedNameSize {
		return c.find(model)
	}
	if e, ok := c.models.Get(model); ok {
		return e
	}
	e := c.find(model)
	c.models.Add(model, e)
	return e
}

func (c *Counter) find(model string) Encoder {
	name, exact := encodingOf(model, c.rules)
	return Encoder{
		name:     name,
		exact:    exact,
		load:     c.vocabularies[name],
		fallback: c.vocabularies[DefaultEncoding],
	}
}

// Encoder counts tokens in one encoding. It is a small value, safe for
// concurrent use; only those made by a Counter count anything.
type Encoder struct {
	name     string
	exact    bool
	load     loader
	fallback loader // has loaded already
}

// Name returns the name of the encoding, such as "o200k_base".
func (e Encoder) Name() string { return e.name }

// Exact reports whether the encoding is the model's own. If not, counts are
// estimates.
func (e Encoder) Exact() bool { return e.exact }

// Count returns the number of tokens of text. The names of special tokens
// count as the ordinary text that they are in a message. Bytes that are not
// UTF-8 count as U+FFFD each.
func (e Encoder) Count(text string) int { return e.CountBytes([]byte(text)) }

// CountBytes is Count for bytes. It keeps no reference to text.
func (e Encoder) CountBytes(text []byte) int {
	if len(text) == 0 || e.load == nil {
		return 0
	}
	v, err := e.load()
	if err != nil { // a damaged binary; New has seen that the fallback loads
		v, _ = e.fallback()
	}
	return v.count(text)
}
