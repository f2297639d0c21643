package overflow

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// labelled is one line of overflow_errors.jsonl.
type labelled struct {
	ID          string `json:"id"`
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Body        string `json:"body"`
	InStream    bool   `json:"in_stream"`
	Overflow    bool   `json:"is_context_overflow"`
	Kind        string `json:"kind"`
	Limit       *int   `json:"limit_tokens"`
	LimitIs     string `json:"limit_is"`
	Input       *int   `json:"input_tokens"`
	Output      *int   `json:"output_tokens"`
	Requested   *int   `json:"requested_tokens"`
	LowerBound  bool   `json:"input_is_lower_bound"`
}

// corpora returns where the real conversations and recordings lie, and skips
// the test where they are absent.
func corpora(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PLEAT_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no corpora: ", err)
	}
	return dir
}

func readLabelled(t *testing.T, path string) []labelled {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skip("no labelled errors: ", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	var all []labelled
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var l labelled
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

func value(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// check compares a report with its label.
func (l labelled) check(t *testing.T, got Report, ok bool) {
	t.Helper()
	if ok != l.Overflow {
		t.Fatalf("overflow = %v, want %v (%+v)\n%s", ok, l.Overflow, got, l.Body)
	}
	kind := Kind(l.Kind)
	if l.Kind == "none" {
		kind = ""
	}
	if got.Kind != kind {
		t.Errorf("kind = %q, want %q (%+v)\n%s", got.Kind, kind, got, l.Body)
	}
	for _, n := range []struct {
		name string
		got  Number
		want *int
	}{
		{"limit", got.Limit, l.Limit}, {"input", got.Input, l.Input}, {"output", got.Output, l.Output},
	} {
		if n.got.Tokens != value(n.want) {
			t.Errorf("%s = %d, want %d (%s)\n%s", n.name, n.got.Tokens, value(n.want), got.Format, l.Body)
		}
	}
	if got.Total.Tokens != value(l.Requested) && got.Total.Tokens != 0 {
		t.Errorf("total = %d, want %d\n%s", got.Total.Tokens, value(l.Requested), l.Body)
	}
	if got.Input.Bound != l.LowerBound {
		t.Errorf("input is a bound: %v, want %v\n%s", got.Input.Bound, l.LowerBound, l.Body)
	}
	if string(got.LimitIs) != l.LimitIs {
		t.Errorf("limit is %q, want %q (%s)\n%s", got.LimitIs, l.LimitIs, got.Format, l.Body)
	}
	if l.LimitIs == "bogus" && got.Learnable() {
		t.Errorf("a bogus limit is learnable\n%s", l.Body)
	}
}

func TestLabelledErrors(t *testing.T) {
	all := readLabelled(t, filepath.Join(corpora(t), "..", "overflow_errors.jsonl"))
	for _, l := range all {
		t.Run(l.ID, func(t *testing.T) {
			got, ok := Recognise(l.Status, l.ContentType, []byte(l.Body))
			l.check(t, got, ok)
			if l.InStream {
				got, ok = firstOfStream([]byte(l.Body))
				l.check(t, got, ok)
			}
			if !l.InStream && l.Overflow && strings.HasPrefix(l.Body, "{") {
				got, ok = RecogniseEvent([]byte("event: error\r\ndata: " + strings.Join(strings.Fields(l.Body), " ") + "\r\n\r\n"))
				l.check(t, got, ok)
			}
		})
	}
}

// firstOfStream reads a stream event by event, as a proxy does.
func firstOfStream(body []byte) (Report, bool) {
	for len(body) > 0 {
		var event []byte
		event, body = cutEvent(body)
		if r, ok := RecogniseEvent(event); ok {
			return r, true
		}
	}
	return Report{}, false
}
