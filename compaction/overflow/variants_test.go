package overflow

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// variant is one line of testdata/variants.txt.
type variant struct {
	line    int
	status  int
	kind    Kind
	numbers map[string]int
	least   bool
	bogus   bool
	text    string
}

func readVariants(t testing.TB) []variant {
	t.Helper()
	f, err := os.Open("testdata/variants.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	var all []variant
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		head, text, found := strings.Cut(lines.Text(), " :: ")
		if !found || strings.HasPrefix(head, "#") {
			continue
		}
		v := variant{line: n, status: 400, numbers: map[string]int{}, text: text}
		for i, word := range strings.Fields(head) {
			name, num, isNumber := strings.Cut(word, "=")
			switch {
			case i == 0 && word != "none":
				v.kind = Kind(word)
			case isNumber:
				v.numbers[name], err = strconv.Atoi(num)
				if err != nil {
					t.Fatalf("line %d: %v", n, err)
				}
			case word == "least":
				v.least = true
			case word == "bogus":
				v.bogus = true
			}
		}
		if s, ok := v.numbers["status"]; ok {
			v.status = s
		}
		all = append(all, v)
	}
	return all
}

// body returns the answer that the variant stands for and its content type.
func (v variant) body(t testing.TB) (contentType, body string) {
	t.Helper()
	switch {
	case strings.HasPrefix(v.text, "data:"), strings.HasPrefix(v.text, "event:"),
		strings.HasPrefix(v.text, "error:"), strings.HasPrefix(v.text, ": "):
		return "text/event-stream", strings.ReplaceAll(v.text, `\n`, "\n")
	case strings.HasPrefix(v.text, "{"), strings.HasPrefix(v.text, "["), strings.HasPrefix(v.text, `"`):
		return "application/json", v.text
	}
	b, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": strings.ReplaceAll(v.text, `\n`, "\n"), "type": "invalid_request_error",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return "application/json", string(b)
}

func TestVariants(t *testing.T) {
	for _, v := range readVariants(t) {
		t.Run(fmt.Sprint("line ", v.line), func(t *testing.T) {
			contentType, body := v.body(t)
			got, ok := Recognise(v.status, contentType, []byte(body))
			if want := v.kind == Input || v.kind == Total; ok != want || got.Kind != v.kind {
				t.Fatalf("got %v %q (%s), want %q\n%s", ok, got.Kind, got.Format, v.kind, body)
			}
			for name, n := range map[string]int{
				"limit": got.Limit.Tokens, "input": got.Input.Tokens, "output": got.Output.Tokens, "over": got.Overshoot,
			} {
				if n != v.numbers[name] {
					t.Errorf("%s = %d, want %d (%s)\n%s", name, n, v.numbers[name], got.Format, body)
				}
			}
			if want, stated := v.numbers["total"]; stated && got.Total.Tokens != want {
				t.Errorf("total = %d, want %d (%s)\n%s", got.Total.Tokens, want, got.Format, body)
			}
			if got.Input.Bound != v.least {
				t.Errorf("input is a bound: %v, want %v (%s)\n%s", got.Input.Bound, v.least, got.Format, body)
			}
			if learn := got.Limit.Tokens > 0 && ok && !v.bogus; got.Learnable() != learn {
				t.Errorf("learnable: %v, want %v (%+v)\n%s", got.Learnable(), learn, got, body)
			}
		})
	}
}

// An overflow told in plain text is one, and the same text is none in a 200.
func TestPlainText(t *testing.T) {
	for _, v := range readVariants(t) {
		if v.status != 400 || strings.ContainsAny(v.text[:1], `{["`) {
			continue
		}
		text := strings.ReplaceAll(v.text, `\n`, "\n")
		if got, ok := Recognise(400, "text/plain", []byte(text)); got.Kind != v.kind {
			t.Errorf("line %d: got %v %q, want %q", v.line, ok, got.Kind, v.kind)
		}
		if got, ok := Recognise(200, "text/plain", []byte(text)); ok || got.Kind != "" {
			t.Errorf("line %d: a 200 is an overflow", v.line)
		}
	}
}
