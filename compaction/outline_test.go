package compaction

import (
	"reflect"
	"strings"
	"testing"
)

func TestOutline(t *testing.T) {
	data := strings.Repeat("QUJD", 1000)
	text := func(s string) []outlinePart { return []outlinePart{{"text", s}} }
	part := func(kind, note string) []outlinePart { return []outlinePart{{kind, note}} }
	tests := map[string]struct {
		message string
		want    outline
	}{
		"text":        {`{"role":"user","name":"a\u006en","content":"h\u00e9\n"}`, outline{role: "user", name: "ann", parts: text("hé\n")}},
		"nothing":     {userSays(`[{"type":"text","text":""}]`), outline{role: "user"}},
		"parts":       {userSays(`[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://x.example/secret.png"}},"b"]`), outline{role: "user", parts: []outlinePart{{"text", "a"}, {"image", ""}, {"text", "b"}}}},
		"image":       {userSays(`[{"type":"image_url","image_url":{"url":"data:image\/png;base64,` + data + `"}}]`), outline{role: "user", parts: part("image", "image/png")}},
		"file":        {userSays(`[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + data + `"}}]`), outline{role: "user", parts: part("file", "a.pdf")}},
		"audio":       {userSays(`[{"type":"input_audio","input_audio":{"data":"` + data + `","format":"wav"}}]`), outline{role: "user", parts: part("audio", "wav")}},
		"other":       {userSays(`[{"type":"video_url","video_url":{"url":"` + data + `"}}]`), outline{role: "user", parts: part("other", "video_url")}},
		"odd data":    {userSays(`[{"type":"image_url","image_url":"data:` + data + `"}]`), outline{role: "user", parts: part("image", "")}},
		"object":      {userSays(`{"a":1}`), outline{role: "user", parts: text(`{"a":1}`)}},
		"thinking":    {`{"role":"assistant","reasoning":"r","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"x"}]}`, outline{role: "assistant", parts: text("x")}},
		"refusal":     {`{"role":"assistant","content":[{"type":"refusal","refusal":"no"}],"refusal":null}`, outline{role: "assistant", refusal: "no"}},
		"refusals":    {`{"role":"assistant","content":[{"type":"refusal","refusal":"no"}],"refusal":"not"}`, outline{role: "assistant", refusal: "not\nno"}},
		"call":        {callWith(`"{\"a\": \"\\u00e9\"}"`), outline{role: "assistant", calls: []outlineCall{{"f", `{"a": "\u00e9"}`}}}},
		"object call": {callWith(`{"a":1}`), outline{role: "assistant", calls: []outlineCall{{"f", `{"a":1}`}}}},
		"custom call": {assistantWith(`"tool_calls":[{"type":"custom","custom":{"name":"f","input":"go\n"}}]`), outline{role: "assistant", calls: []outlineCall{{"f", "go\n"}}}},
		"legacy call": {assistantWith(`"function_call":{"name":"f","arguments":"{}"}`), outline{role: "assistant", calls: []outlineCall{{"f", "{}"}}}},
		"other call":  {assistantWith(`"tool_calls":[{"type":"mcp","x":1}]`), outline{role: "assistant", calls: []outlineCall{{"", `{"type":"mcp","x":1}`}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := fingerprints(t, test.message)
			if got := r.outline(0); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %.300q\nwant %.300q", got, test.want)
			}
		})
	}
}
