package overflow

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// overflowing are the recordings of the wire corpora that are overflows.
var overflowing = []string{"deepseek/006", "ollama-cloud/008", "openrouter/006", "perplexity/003"}

// Every recorded answer of the corpora is told right, whole and event by event.
func TestRecordings(t *testing.T) {
	root := filepath.Join(corpora(t), "wire")
	metas, err := filepath.Glob(filepath.Join(root, "*", "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		t.Skip("no recordings: ", err)
	}
	for _, meta := range metas {
		dir := filepath.Dir(meta)
		name, _ := filepath.Rel(root, dir)
		want := false
		for _, o := range overflowing {
			want = want || filepath.ToSlash(name) == o
		}
		status, contentType, body := recording(t, dir)
		if got, ok := Recognise(status, contentType, body); ok != want {
			t.Errorf("%s: overflow = %v, want %v (%+v)", name, ok, want, got)
		}
		if !strings.Contains(contentType, "event-stream") {
			continue
		}
		if got, ok := firstOfStream(body); ok != want {
			t.Errorf("%s: in events: overflow = %v, want %v (%+v)", name, ok, want, got)
		}
	}
}

// recording reads the answer of one recorded exchange.
func recording(t *testing.T, dir string) (status int, contentType string, body []byte) {
	t.Helper()
	var meta struct {
		Status int `json:"status"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	for name, contentType := range map[string]string{
		"response.sse": "text/event-stream", "response.json": "application/json", "response.txt": "text/plain",
	} {
		if body, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return meta.Status, contentType, body
		}
	}
	return meta.Status, "", nil
}

// wrappers put an upstream's error into the forms of gateways.
var wrappers = map[string]func(inner string) string{
	"none":             func(s string) string { return s },
	"string in detail": func(s string) string { return `{"detail":` + quote(s) + `}` },
	"openrouter raw": func(s string) string {
		return `{"error":{"message":"Provider returned error","code":400,"metadata":{"provider_name":"X","raw":` + quote(s) + `}}}`
	},
	"cloudflare prose": func(s string) string {
		//nolint:dupword // so Cloudflare writes it
		return `{"errors":[{"message":` + quote("AiError: AiError: "+s+" (0a1b2c3d-0000)") + `,"code":8007}],"success":false,"result":{},"messages":[]}`
	},
	"litellm bytes": func(s string) string {
		return `{"error":{"message":` + quote("litellm.BadRequestError: XException - b'"+s+"'. Received Model Group=m\nAvailable Model Group Fallbacks=None") + `,"type":null,"param":null,"code":"400"}}`
	},
	"twice": func(s string) string {
		return `{"error":{"message":` + quote(`{"error":{"message":`+quote(s)+`}}`) + `,"code":400}}`
	},
	"array":  func(s string) string { return `[` + s + `]` },
	"spaced": func(s string) string { return strings.ReplaceAll(s, `":`, "\" :\n\t") },
	"upper":  upperWords,
	"escaped": func(s string) string {
		return strings.NewReplacer("'", `\u0027`, ">", `\u003e`, "<", `\u003c`, "`", `\u0060`).Replace(s)
	},
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// upperWords puts the messages of an envelope into capitals.
func upperWords(s string) string {
	var doc any
	if json.Unmarshal([]byte(s), &doc) != nil {
		return s
	}
	return quoteAny(capitals(doc, false))
}

func capitals(v any, message bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = capitals(v[k], k == "message" || k == "error")
		}
	case string:
		if message && !strings.Contains(v, `\`) && !strings.Contains(v, "{") {
			return strings.ToUpper(v)
		}
	}
	return v
}

func quoteAny(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// What a gateway wraps stays what it is, numbers included.
func TestWrapped(t *testing.T) {
	for _, l := range readLabelled(t, filepath.Join(corpora(t), "..", "overflow_errors.jsonl")) {
		if l.InStream || l.Status == 200 || !strings.HasPrefix(l.Body, "{") || !json.Valid([]byte(l.Body)) {
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(l.Body)); err != nil {
			t.Fatal(err)
		}
		plainReport, plainOK := Recognise(l.Status, "application/json", []byte(l.Body))
		for name, wrap := range wrappers {
			t.Run(l.ID+"/"+name, func(t *testing.T) {
				body := wrap(compact.String())
				got, ok := Recognise(l.Status, "application/json", []byte(body))
				if ok != plainOK || got.Kind != plainReport.Kind || got.Limit != plainReport.Limit ||
					got.Input != plainReport.Input || got.Output != plainReport.Output {
					t.Errorf("got %v %+v\nwant %v %+v\n%s", ok, got, plainOK, plainReport, body)
				}
			})
		}
	}
}

// echoing are answers that quote what the client sent, or what a model wrote.
var echoing = map[string]struct {
	status int
	quote  func(text string) string
}{
	"value": {400, func(s string) string {
		return `{"error":{"message":` + quote("Invalid value: '"+s+"'. Supported values are: 'system' and 'user'.") + `}}`
	}},
	"bare quote": {400, func(s string) string {
		return `{"error":{"message":` + quote("The field role of the message \""+s+"\" has no meaning here") + `}}`
	}},
	"pydantic": {422, func(s string) string {
		return `{"detail":[{"type":"missing","loc":["body","messages",0,"role"],"msg":"Field required","input":{"content":` + quote(s) + `}}]}`
	}},
	"pydantic prose": {400, func(s string) string {
		return `{"message":` + quote("1 validation error for Request\nrole\n  Field required [type=missing, input_value={'content': "+quote(s)+"}, input_type=dict]") + `}`
	}},
	"unparsed": {400, func(s string) string {
		return `{"error":{"message":` + quote("Failed to parse JSON body: "+s) + `}}`
	}},
	"other field": {400, func(s string) string {
		return `{"error":{"message":"Bad role","param":"messages[0]","request":{"messages":[{"content":` + quote(s) + `}]}}}`
	}},
	"flagged": {400, func(s string) string {
		return `{"error":{"code":"content_filter","message":` + quote("flagged: "+s) + `}}`
	}},
	"reply": {200, func(s string) string { return `{"choices":[{"message":{"content":` + quote(s) + `}}],"error":null}` }},
	"delta": {200, func(s string) string { return `{"choices":[{"delta":{"content":` + quote(s) + `}}]}` }},
	"arguments": {200, func(s string) string {
		return `{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":` + quote(s) + `}}]}}]}`
	}},
	"reasoning": {200, func(s string) string {
		return `{"choices":[{"delta":{"reasoning_content":` + quote(s) + `,"error":null}}],"error":{}}`
	}},
	"output": {200, func(s string) string {
		return `{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"content":[{"text":` + quote(s) + `}]}]}}`
	}},
	"ollama": {200, func(s string) string {
		return `{"message":{"role":"assistant","content":` + quote(s) + `},"done":false}`
	}},
	"generate": {200, func(s string) string { return `{"response":` + quote(s) + `,"done":false}` }},
}

// An overflow error that is only quoted is none.
func TestEchoes(t *testing.T) {
	for _, l := range readLabelled(t, filepath.Join(corpora(t), "..", "overflow_errors.jsonl")) {
		texts := []string{l.Body}
		var ev = gather(l.Body)
		texts = append(texts, ev.texts...)
		for name, echo := range echoing {
			for _, text := range texts {
				if name == "bare quote" && (len(text) < 60 || strings.ContainsAny(text, `"{`)) {
					continue // a short passage is part of the sentence; quotes within end it
				}
				body := []byte(echo.quote(text))
				if got, ok := Recognise(echo.status, "application/json", body); ok || got.Kind == Input {
					t.Errorf("%s: recognised as %s\n%s", name, got.Format, body)
				}
				if echo.status != 200 {
					continue
				}
				event := append([]byte("data: "), body...)
				if got, ok := RecogniseEvent(event); ok {
					t.Errorf("%s: event recognised as %s\n%s", name, got.Format, event)
				}
			}
		}
	}
}
