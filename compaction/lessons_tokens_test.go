package compaction

import (
	"strings"
	"testing"
)

// TestEstimateOfOtherScripts: lessons 136, 138 and 254. Where a model's tokenizer
// is not at hand, text is counted by a real one all the same: a Chinese
// character is about a token, not a quarter of one, and JSON is dearer than prose
// of the same length.
func TestEstimateOfOtherScripts(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	const unknown = "minimax-m2"
	e := counter.For(unknown)
	if e.Exact() {
		t.Fatal("the model is known")
	}
	count := func(text string) int { return countedFor(t, unknown, userSays(mustJSON(t, text))).tokens(0, e) }

	// Characters in no order, so that no common word shortens the count.
	var chinese strings.Builder
	for i := range 10_000 {
		chinese.WriteRune(rune(0x4e00 + i*7919%6000))
	}
	if n := count(chinese.String()); n < 8_000 || n > 25_000 {
		t.Errorf("10,000 Chinese characters are %d tokens", n)
	}

	words := prose("", 20_000)
	list := strings.Repeat(`{"id":"7f3a","x":[0.25,-3.5],"ok":true},`, 500)
	if n, m := count(words[:19_000]), count(list[:19_000]); m < 2*n {
		t.Errorf("19,000 bytes are %d tokens of prose and %d of JSON", n, m)
	}
}
