package overflow

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Nothing that an upstream may send makes recognition panic or report nonsense.
func FuzzRecognise(f *testing.F) {
	for _, v := range readVariants(f) {
		_, body := v.body(f)
		f.Add(v.status, body)
		f.Add(v.status, v.text)
	}
	for _, seed := range []string{
		"", "{", "[", `"`, `{"error":`, `{"error":"`, `{"error":{"message":"\`, `{"a":'`, "data:", "event: error\ndata",
		`b'{"error":{"message":"it\\'s`, `{"error":{"message":"\ud83d`, "\ufeff{}", "{'a': (1, 2", `{"error":{"n_ctx":1e99}}`,
	} {
		f.Add(400, seed)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		got, ok := Recognise(status, "application/json", []byte(body))
		event, inEvent := RecogniseEvent([]byte(body))
		for _, r := range []Report{got, event} {
			for _, n := range []Number{r.Limit, r.Input, r.Output, r.Total, {Tokens: r.Overshoot}} {
				if n.Tokens < 0 || n.Tokens > maxTokens {
					t.Errorf("a count of %d", n.Tokens)
				}
			}
			if len(r.Message) > maxMessage {
				t.Errorf("a message of %d bytes", len(r.Message))
			}
			if r.Learnable() && (r.Limit.Tokens < minLimit || r.Limit.Tokens > maxLimit) {
				t.Errorf("%d is learnable", r.Limit.Tokens)
			}
		}
		if ok != (got.Kind == Input || got.Kind == Total) || inEvent != (event.Kind == Input || event.Kind == Total) {
			t.Errorf("verdicts %v, %v, kinds %q, %q", ok, inEvent, got.Kind, event.Kind)
		}
	})
}

// Work is linear in the body, however it is made. The bound is generous: a
// quadratic step would take minutes on a body of this size.
func TestHostileBodies(t *testing.T) {
	const size = maxBody / 4
	for name, unit := range map[string]string{
		"objects": `{"error":`, "lists": `[`, "braces": `{ `, "quotes": `"`, "apostrophes": ` 'a`, "escapes": `\"`,
		"escaped objects": `{\"`, "introduced": `error 'a `, "keys": `{"a":1},`, "spaces": `"   `, "data": "data: x\n",
		"events": "data: {\"error\":{}}\n\n", "prose": "the prompt is exceeding ", "numbers": "1 ", "errors": `{"error":{"message":"`,
		"digits": "9", "maximum": "max input length of the ", "tuples": `(`, "bytes": `b'`, "entities": "&amp;",
	} {
		for prefix, wrap := range map[string]string{"bare": "", "value": `{"error":["`} {
			body := []byte(wrap + strings.Repeat(unit, (size-len(wrap))/len(unit)))
			start := time.Now()
			Recognise(400, "application/json", body)
			RecogniseEvent(body)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s in %s took %s", name, prefix, took)
			}
			if testing.Verbose() {
				t.Logf("%s in %s: %s", name, prefix, time.Since(start).Round(time.Millisecond))
			}
		}
	}
}

func BenchmarkRecogniseEvent(b *testing.B) {
	chunk := []byte(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o","choices":[{"index":0,"delta":{"content":" and then the window"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	mention := bytes.Replace(chunk, []byte("window"), []byte("error"), 1)
	overflow := []byte(`data: {"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).","code":"context_length_exceeded"}}` + "\n\n")
	for name, event := range map[string][]byte{"ordinary": chunk, "mentions an error": mention, "overflow": overflow} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(event)))
			for b.Loop() {
				RecogniseEvent(event)
			}
		})
	}
}
