package compaction

import "github.com/pleat-proxy/pleat/compaction/tokens"

// countKey finds the token count of a text or message. The length stands for
// what counts but has no part in a fingerprint, as reasoning text.
type countKey struct {
	encoding string
	rates    string // of the model
	beside   bool   // for all that stands beside the messages, counted in one
	fp       fingerprint
	bytes    int
}

// costs gives the tokens of each message, from memory for those seen before.
func (c *Compactor) costs(r *request, enc tokens.Encoder) []int {
	out := make([]int, len(r.messages))
	for i := range r.messages {
		m := &r.messages[i]
		key := countKey{enc.Name(), r.rates.name, false, m.fp, m.to - m.from}
		n, ok := c.counts.Get(key)
		if !ok {
			n = r.tokens(i, enc)
			c.counts.Add(key, n)
		}
		out[i] = n
	}
	return out
}

// besides gives the tokens of all that stands beside the messages, from memory
// if they were the same before: tools of 100 KB would take longer to count than
// the new messages of a turn.
func (c *Compactor) besides(r *request, enc tokens.Encoder) int {
	if len(r.extras) == 0 {
		return r.beside(enc).total()
	}
	var all []byte
	for _, extra := range r.extras {
		all = append(append(all, extra.in(r.body)...), 0)
	}
	if system, ok := r.firstSystem(); ok { // what declarations cost behind it depends on its end
		all = append(append(all, 1), system[max(0, len(system)-lastPiece):]...)
	}
	key := countKey{enc.Name(), r.rates.name, true, fingerprint(sum128(string(all))), len(all)}
	n, ok := c.counts.Get(key)
	if !ok {
		n = r.beside(enc).total()
		c.counts.Add(key, n)
	}
	return n
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
