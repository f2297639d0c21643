package compaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// fold is the record stored under a prefix hash H(k): the summaries that
// together stand in for messages 1…k. It never changes; a longer history gets
// a record of its own, which begins with the same roots.
type fold struct {
	Version int    `json:"v"`
	Roots   []root `json:"roots"` // oldest first, without gap or overlap
}

// root is one summary and the messages that it covers.
type root struct {
	From    int    `json:"from"`  // first message, counted from 1, unpinned ones only
	To      int    `json:"to"`    // last message
	Level   int    `json:"level"` // 0: made from messages; n+1: made from roots of level n or lower
	Summary string `json:"summary"`
	Tokens  int    `json:"tokens"` // of Summary, as counted when it was made
	Model   string `json:"model"`  // that wrote it
}

// foldVersion is written into records. A record of another version is treated
// as absent, so old and new processes may share a store.
const foldVersion = 1

// foldOpening is the first line of what stands in for the folded messages.
// Aider's users have had it in front of their models for years.
const foldOpening = "I spoke to you previously about a number of things."

// acknowledgement is the assistant's answer to the fold, which keeps user and
// assistant messages alternating.
const acknowledgement = "Ok."

var errFoldVersion = errors.New("record of another version")

func encodeFold(roots []root) ([]byte, error) {
	return json.Marshal(fold{Version: foldVersion, Roots: roots})
}

// decodeFold reads a record and checks that its roots cover messages 1…k.
func decodeFold(data []byte, k int) ([]root, error) {
	var f fold
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("record is not JSON: %w", err)
	}
	if f.Version != foldVersion {
		return nil, errFoldVersion
	}
	next := 1
	for _, r := range f.Roots {
		if r.From != next || r.To < r.From || strings.TrimSpace(r.Summary) == "" {
			return nil, fmt.Errorf("record's roots are broken at message %d", next)
		}
		next = r.To + 1
	}
	if next != k+1 {
		return nil, fmt.Errorf("record covers %d messages, not %d", next-1, k)
	}
	return f.Roots, nil
}

// foldInTurn stands before what was done for the request that comes right after
// the fold.
const foldInTurn = "Already done for the request below:"

// foldText is what the model reads in place of the folded messages. The roots
// of messages from position turn on tell of work on a request that stays in
// view; a negative turn says that there are none.
func foldText(roots []root, turn int) string {
	var b strings.Builder
	b.WriteString(foldOpening)
	inTurn := false
	for _, r := range roots {
		if turn >= 0 && r.From > turn && !inTurn {
			inTurn = true
			b.WriteString("\n\n" + foldInTurn)
		}
		b.WriteString("\n\n")
		b.WriteString(strings.TrimSpace(r.Summary))
	}
	return b.String()
}

// plainMessage encodes a message that Pleat itself adds.
func plainMessage(role, text string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// Two strings always encode; invalid UTF-8 becomes U+FFFD.
	_ = enc.Encode(struct { //nolint:errchkjson // see above
		Role    string `json:"role"`
		Content string `json:"content"`
	}{role, text})
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// rootTokens is the sum of the roots' own tokens.
func rootTokens(roots []root) int {
	n := 0
	for _, r := range roots {
		n += r.Tokens
	}
	return n
}

// mergeable picks the roots to merge into one, as a range of indexes, none of
// which reaches over the position turn (negative: no such bound): the longest
// run of two or more neighbours of the lowest level that has one (the oldest of
// equally long ones), else the two newest, which are then no equals. The range
// is empty where there is nothing to merge. Merging equals first is what keeps
// the number of summaries that any message passes through logarithmic in the
// conversation's length.
func mergeable(roots []root, turn int) (from, to int, equal bool) {
	lowest := -1
	for i := 0; i < len(roots); {
		j := i + 1
		for j < len(roots) && roots[j].Level == roots[i].Level && roots[j].From-1 != turn {
			j++
		}
		if j-i >= 2 && (lowest < 0 || roots[i].Level < lowest || roots[i].Level == lowest && j-i > to-from) {
			lowest, from, to = roots[i].Level, i, j
		}
		i = j
	}
	if lowest >= 0 {
		return from, to, true
	}
	for n := len(roots); n >= 2; n-- {
		if roots[n-1].From-1 != turn {
			return n - 2, n, false
		}
	}
	return 0, 0, false
}
