package compaction

import (
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

func TestTokensOfAMessage(t *testing.T) {
	counter, err := tokens.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := counter.For("gpt-4o")
	frame := tokens.FrameOf("gpt-4o")
	base := func(role string) int { return tokens.MessageOverhead + e.Count(role) }
	call := base("assistant") + frame.Call + e.Count("f")
	data := strings.Repeat("A", 10_000)
	tests := map[string]struct {
		message string
		want    int
	}{
		"text":             {userSays(`"hello there"`), base("user") + e.Count("hello there")},
		"escapes":          {userSays(`"h\u00e9\n\"x\""`), base("user") + e.Count("hé\n\"x\"")},
		"a part":           {userSays(`[{"type":"text","text":"hello there"}]`), base("user") + e.Count("hello there")},
		"two parts":        {userSays(`[{"type":"text","text":"hello"},{"type":"text","text":"you"}]`), base("user") + e.Count("hello") + e.Count("you")},
		"nothing":          {userSays(`null`), base("user")},
		"a name":           {`{"role":"user","name":"ann","content":"x"}`, base("user") + tokens.NameOverhead + e.Count("ann") + e.Count("x")},
		"a refusal":        {assistantWith(`"refusal":"I cannot"`), base("assistant") + e.Count("I cannot")},
		"reasoning":        {assistantWith(`"reasoning_content":"well, well"`), base("assistant") + e.Count("well, well")},
		"reasoning twice":  {assistantWith(`"reasoning":"so, so it went","reasoning_details":[{}]`), base("assistant") + e.Count("so, so it went")},
		"a call":           {callWith(`"{\"a\": 1}"`), call + e.Count(`{"a": 1}`)},
		"a custom call":    {assistantWith(`"tool_calls":[{"type":"custom","custom":{"name":"f","input":"go on"}}]`), call + e.Count("go on")},
		"a legacy call":    {assistantWith(`"function_call":{"name":"f","arguments":"{}"}`), call + e.Count("{}")},
		"an image":         {userSays(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}]`), base("user") + tokens.ImageTokens},
		"a small image":    {userSays(`[{"type":"image_url","image_url":{"url":"u","detail":"low"}}]`), base("user") + tokens.ImageTokensLow},
		"a file":           {userSays(`[{"type":"file","file":{"filename":"a.pdf","file_data":"` + data + `"}}]`), base("user") + tokens.FileTokens},
		"audio":            {userSays(`[{"type":"input_audio","input_audio":{"format":"mp3","data":"` + strings.Repeat(data, 32) + `"}}]`), base("user") + 15*10},
		"short audio":      {userSays(`[{"type":"input_audio","input_audio":{"format":"wav","data":"AAAA"}}]`), base("user") + 10},
		"audio elsewhere":  {userSays(`[{"type":"input_audio","input_audio":{"format":"wav"}}]`), base("user") + tokens.AudioTokens},
		"a long file":      {userSays(`[{"type":"file","file":{"filename":"a.pdf","file_data":"` + strings.Repeat(data, 32) + `"}}]`), base("user") + 3*tokens.FileTokens},
		"audio by id":      {assistantWith(`"audio":{"id":"audio_1"}`), base("assistant") + tokens.AudioTokens},
		"unknown data":     {userSays(`[{"type":"video_url","video_url":{"url":"data:video/mp4;base64,` + data + `"}}]`), base("user") + tokens.FileTokens},
		"an unknown part":  {userSays(`[{"type":"zoo"}]`), base("user") + e.Count(`{"type":"zoo"}`)},
		"a content object": {userSays(`{"a":1}`), base("user") + e.Count(`{"a":1}`)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := countedFor(t, "gpt-4o", test.message).tokens(0, e); got != test.want {
				t.Errorf("%d tokens, want %d", got, test.want)
			}
		})
	}
}

// countedFor is a request of those messages to that model, scanned.
func countedFor(t *testing.T, model, messages string) *request {
	t.Helper()
	return mustScan(t, `{"model":"`+model+`","messages":[`+messages+`]}`)
}

// TestTurnCountsItsNewMessages: Show 4. Of a second turn, its new messages alone
// are counted, and tools and schema not again.
func TestTurnCountsItsNewMessages(t *testing.T) {
	cl := newClient(t, &writer{}, func(o *Options) { o.Trigger = Trigger{tokens: 1 << 20} })
	cl.extra = `,"tools":[{"type":"function","function":{"name":"f"}}],"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{}}}`
	list := append(talk("w", 20), msg{"user", "And then?"})
	cl.plan(list)
	if known := cl.c.counts.Len(); known != len(list)+1 {
		t.Errorf("%d counts are remembered of %d messages and what stands beside them", known, len(list))
	}
	known := cl.c.counts.Len()
	list = append(list, msg{"assistant", "Then comes winter."}, msg{"user", "And after that?"})
	cl.plan(list)
	if n := cl.c.counts.Len() - known; n != 2 {
		t.Errorf("%d counts are new, of 2 new messages", n)
	}
	cl.extra = `,"tools":[{"type":"function","function":{"name":"g"}}]`
	cl.plan(list)
	if n := cl.c.counts.Len() - known; n != 3 {
		t.Errorf("%d counts are new, of 2 new messages and other tools", n)
	}
}
