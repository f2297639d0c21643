package compaction

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
)

// A boundary is a place in a history where a fold may end: a key, and the
// number of unpinned messages before it.
type boundary struct {
	pos int
	key string // the prefix hash H(pos), as a store key
}

const (
	// boundaryBytes is the least meaning, in bytes, between two boundaries.
	boundaryBytes = 1 << 10

	// boundaryShare keeps boundaries coarser as a history grows: the next one
	// stands at least this part of what is before it further on. A history of
	// S bytes so has at most about 32 + 32·ln(S/32 KiB) of them: 143 at 1 MB.
	boundaryShare = 32

	// messageBytes is how much of one message counts for the distance between
	// boundaries: a picture must not keep them apart for the rest of a chat.
	messageBytes = 4 << 10

	// hashVersion separates the prefix hashes of incompatible definitions of
	// a fingerprint. Raise it when a fingerprint's meaning changes.
	hashVersion = "pleat-prefix-1\n"
)

// boundaries lists the places up to the position limit where a fold may end,
// oldest first. They are a function of content alone, never of a model, a
// configuration or of what follows, so every process and every later request
// finds the same ones.
func (h *history) boundaries(r *request, limit int) []boundary {
	var (
		out         []boundary
		sum         = sha256.New()
		pos         int // hashed so far
		before, add int // bytes of meaning up to the last boundary, and since
	)
	sum.Write([]byte(hashVersion))
	for _, s := range h.steps {
		if s.to > limit {
			break
		}
		for ; pos < s.to; pos++ {
			m := &r.messages[h.msgs[pos]]
			sum.Write(m.fp[:])
			add += min(m.size, messageBytes)
		}
		if add >= max(boundaryBytes, before/boundaryShare) {
			out = append(out, boundary{pos: s.to, key: hashKey(sum.Sum(nil))})
			before, add = before+add, 0
		}
	}
	return out
}

// beyond are the boundaries of a list, oldest first, that stand after a position.
func beyond(bounds []boundary, pos int) []boundary {
	first := slices.IndexFunc(bounds, func(b boundary) bool { return b.pos > pos })
	if first < 0 {
		return nil
	}
	return slices.Clip(bounds[first:])
}

// newestFirst names what is kept at each of the boundaries, in the order in
// which a store is asked for it.
func newestFirst(bounds []boundary, name func(boundary) string) []string {
	keys := make([]string, 0, len(bounds))
	for _, b := range slices.Backward(bounds) {
		keys = append(keys, name(b))
	}
	return keys
}

// foldKey is where the fold that ends at a boundary is kept.
func foldKey(b boundary) string { return b.key }

// hashKey is the first 128 bits of a hash in the characters of a store key.
func hashKey(sum []byte) string { return base64.RawURLEncoding.EncodeToString(sum[:16]) }

// space names where everything about the conversations that open alike is
// kept: those of one tenant with the same first boundary.
func space(tenant string, first boundary) string {
	return "f" + digest("space", tenant, first.key)
}

// digest hashes strings unambiguously to a store key.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s", len(p), p)
	}
	return hashKey(sum.Sum(nil))
}

// sum128 is the first 128 bits of a text's hash.
func sum128(text string) (out [16]byte) {
	sum := sha256.Sum256([]byte(text))
	copy(out[:], sum[:])
	return out
}
