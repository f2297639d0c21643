package compaction

import "github.com/pleat-proxy/pleat/compaction/tokens"

// countKey finds the token count of a text or message. The length stands for
// what counts but has no part in a fingerprint, as reasoning text.
type countKey struct {
	encoding string
	rates    tokens.Frame
	media    string // the rule for what is no text
	fp       fingerprint
	bytes    int
}

// costs gives the tokens of each message, from memory for those seen before.
func (c *Compactor) costs(r *request, enc tokens.Encoder) []int {
	out := make([]int, len(r.messages))
	for i := range r.messages {
		m := &r.messages[i]
		key := countKey{enc.Name(), r.rates.Frame, r.rates.media.Name(), m.fp, m.to - m.from}
		n, ok := c.counts.Get(key)
		if !ok {
			n = r.tokens(i, enc)
			c.counts.Add(key, n)
		}
		out[i] = n
	}
	return out
}

// count is enc.Count, remembered.
func (c *Compactor) count(enc tokens.Encoder, text string) int {
	key := countKey{encoding: enc.Name(), fp: fingerprint(sum128(text)), bytes: len(text)}
	n, ok := c.counts.Get(key)
	if !ok {
		n = enc.Count(text)
		c.counts.Add(key, n)
	}
	return n
}
