package compaction

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

// mustScan reads a body that must be understood.
func mustScan(t testing.TB, body string) *request {
	t.Helper()
	r, err := scan([]byte(body))
	if err != nil {
		t.Fatalf("scan(%.200s): %v", body, err)
	}
	return r
}

const oneMessage = `[{"role":"user","content":"hi"}]`

func TestScanReadsTheRequest(t *testing.T) {
	tests := map[string]struct {
		body string
		got  func(*request) any
		want any
	}{
		"model":                     {`{"model":"gpt-4o","messages":` + oneMessage + `}`, showModel, "gpt-4o"},
		"model with escapes":        {`{"model":"a\/\u0062\n","messages":` + oneMessage + `}`, showModel, "a/b\n"},
		"model that is no string":   {`{"model":7,"messages":` + oneMessage + `}`, showModel, ""},
		"keys are case-sensitive":   {`{"Model":"x","messages":` + oneMessage + `,"Messages":1}`, showModel, ""},
		"key spelled with escapes":  {`{"mo\u0064el":"x","mess\u0061ges":` + oneMessage + `}`, showModel, "x"},
		"stream":                    {`{"stream":true,"messages":` + oneMessage + `}`, showStream, true},
		"stream false":              {`{"stream":false,"messages":` + oneMessage + `}`, showStream, false},
		"stream null":               {`{"stream":null,"messages":` + oneMessage + `}`, showStream, false},
		"tools":                     {`{"tools":[{}],"messages":` + oneMessage + `}`, showHasTools, true},
		"functions":                 {`{"functions":[ {} ],"messages":` + oneMessage + `}`, showHasTools, true},
		"no tools":                  {`{"tools":[ ],"functions":null,"messages":` + oneMessage + `}`, showHasTools, false},
		"tools of another type":     {`{"tools":{"a":1},"messages":` + oneMessage + `}`, showHasTools, false},
		"older limit":               {`{"max_tokens":12,"messages":` + oneMessage + `}`, showLimit, "max_tokens 12"},
		"newer limit":               {`{"max_completion_tokens":1e2,"messages":` + oneMessage + `}`, showLimit, "max_completion_tokens 100"},
		"both limits":               {`{"max_completion_tokens":3,"max_tokens":4,"messages":` + oneMessage + `}`, showLimit, "max_completion_tokens 3"},
		"both limits, other order":  {`{"max_tokens":4,"max_completion_tokens":3,"messages":` + oneMessage + `}`, showLimit, "max_completion_tokens 3"},
		"newer limit null":          {`{"max_tokens":4,"max_completion_tokens":null,"messages":` + oneMessage + `}`, showLimit, "max_tokens 4"},
		"limit below zero":          {`{"max_tokens":-1,"messages":` + oneMessage + `}`, showLimit, "max_tokens 0"},
		"limit that is no float64":  {`{"max_tokens":1e999,"messages":` + oneMessage + `}`, showLimit, "max_tokens 0"},
		"limit that is enormous":    {`{"max_tokens":1e300,"messages":` + oneMessage + `}`, showLimit, "max_tokens 2147483647"},
		"no limit":                  {`{"messages":` + oneMessage + `}`, showLimit, " 0"},
		"session":                   {`{"pleat":{"session":"s"},"messages":` + oneMessage + `}`, showSession, "s"},
		"session in metadata":       {`{"metadata":{"session_id":"m"},"messages":` + oneMessage + `}`, showSession, "m"},
		"session in both":           {`{"metadata":{"session_id":"m"},"pleat":{"session":"s"},"messages":` + oneMessage + `}`, showSession, "s"},
		"session in both, reversed": {`{"pleat":{"session":"s"},"metadata":{"session_id":"m"},"messages":` + oneMessage + `}`, showSession, "s"},
		"metadata null":             {`{"metadata":null,"messages":` + oneMessage + `}`, showSession, ""},
		"bypass":                    {`{"pleat":{"bypass":true},"messages":` + oneMessage + `}`, showBypass, true},
		"no bypass":                 {`{"pleat":{"bypass":"true"},"messages":` + oneMessage + `}`, showBypass, false},
		"extras":                    {`{"tools":[1],"functions":null,"response_format":{"a":2},"messages":` + oneMessage + `}`, showExtras, `[1]|{"a":2}`},
		"list":                      {`{"messages" : ` + oneMessage + ` }`, showList, oneMessage},
		"pleat first":               {`{"pleat":{}, "messages":` + oneMessage + `}`, showWithout, `{"messages":` + oneMessage + `}`},
		"pleat last":                {`{"messages":` + oneMessage + ` , "pleat":{"x":[1]} }`, showWithout, `{"messages":` + oneMessage + `  }`},
		"pleat between":             {`{"a":1,"pleat" : {},"messages":` + oneMessage + `}`, showWithout, `{"a":1,"messages":` + oneMessage + `}`},
		"pleat of another type":     {`{"pleat":"mine","messages":` + oneMessage + `}`, showWithout, `{"pleat":"mine","messages":` + oneMessage + `}`},
		"white space everywhere":    {" \r\n\t{ \"messages\" :\t[ {\n\"role\" : \"user\" } ] } \n", showList, "[ {\n\"role\" : \"user\" } ]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.got(mustScan(t, test.body)); got != test.want {
				t.Errorf("got %#v, want %#v", got, test.want)
			}
		})
	}
}

func showModel(r *request) any    { return r.model }
func showStream(r *request) any   { return r.stream }
func showHasTools(r *request) any { return r.hasTools }
func showSession(r *request) any  { return r.session }
func showBypass(r *request) any   { return r.bypass }
func showList(r *request) any     { return string(r.list.in(r.body)) }

func showLimit(r *request) any {
	return r.limitField + " " + strconv.Itoa(r.maxOutput)
}

func showExtras(r *request) any {
	var all []string
	for _, e := range r.extras {
		all = append(all, string(e.in(r.body)))
	}
	return strings.Join(all, "|")
}

func showWithout(r *request) any {
	return string(r.body[:r.pleat.from]) + string(r.body[r.pleat.to:])
}

func TestScanRefuses(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	message := func(m string) string { return `{"messages":[` + m + `]}` }
	tests := map[string]struct {
		body string
		want scanError
	}{
		"nothing":                        {"", errBody},
		"an array":                       {oneMessage, errBody},
		"a byte order mark":              {"\ufeff" + `{"messages":` + oneMessage + `}`, errBody},
		"a template":                     {`{{"messages":` + oneMessage + `}}`, errSyntax},
		"cut off":                        {`{"messages":` + oneMessage, errSyntax},
		"cut off in a string":            {`{"messages":[{"role":"us`, errSyntax},
		"trailing data":                  {`{"messages":` + oneMessage + `}{}`, errTrailing},
		"trailing NUL":                   {`{"messages":` + oneMessage + "}\x00", errTrailing},
		"trailing comma":                 {`{"messages":` + oneMessage + `,}`, errSyntax},
		"no messages":                    {`{"model":"m"}`, errMessages},
		"Messages":                       {`{"Messages":` + oneMessage + `}`, errMessages},
		"messages null":                  {`{"messages":null}`, errMessages},
		"messages an object":             {`{"messages":{}}`, errMessages},
		"messages empty":                 {`{"messages":[]}`, errMessages},
		"a null message":                 {message(`null`), errMessage},
		"a string message":               {message(`"hi"`), errMessage},
		"a message without role":         {message(`{"content":"hi"}`), errMessage},
		"a role that is no string":       {message(`{"role":1}`), errMessage},
		"a role that is null":            {message(`{"role":null}`), errMessage},
		"a key twice at the top":         {`{"model":"a","model":"b","messages":` + oneMessage + `}`, errDuplicate},
		"an unknown key twice":           {`{"x":1,"x":1,"messages":` + oneMessage + `}`, errDuplicate},
		"messages twice, with escapes":   {`{"messages":` + oneMessage + `,"mess\u0061ges":` + oneMessage + `}`, errDuplicate},
		"content twice":                  {message(`{"role":"user","content":"a","content":"b"}`), errDuplicate},
		"role twice":                     {message(`{"role":"user","role":"system"}`), errDuplicate},
		"text twice in a part":           {message(`{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}`), errDuplicate},
		"a name twice in a call":         {message(`{"role":"assistant","tool_calls":[{"function":{"name":"a","name":"b"}}]}`), errDuplicate},
		"session twice":                  {`{"pleat":{"session":"a","session":"b"},"messages":` + oneMessage + `}`, errDuplicate},
		"session_id twice":               {`{"metadata":{"session_id":"a","session_id":"b"},"messages":` + oneMessage + `}`, errDuplicate},
		"deep":                           {`{"x":` + nested(maxDepth) + `,"messages":` + oneMessage + `}`, errDepth},
		"very deep, never closed":        {`{"x":` + strings.Repeat(`{"a":[`, 1<<20), errDepth},
		"broken UTF-8":                   {message("{\"role\":\"user\",\"content\":\"a\xffb\"}"), errUTF8},
		"broken UTF-8 in a key":          {"{\"a\xc3\":1,\"messages\":" + oneMessage + "}", errUTF8},
		"UTF-8 of a surrogate":           {message("{\"role\":\"user\",\"content\":\"\xed\xa0\x80\"}"), errUTF8},
		"overlong UTF-8":                 {message("{\"role\":\"user\",\"content\":\"\xc0\xaf and more text\"}"), errUTF8},
		"half a pair in a text":          {message(`{"role":"user","content":"\ud83d"}`), errSurrogate},
		"halves in the wrong order":      {message(`{"role":"user","content":"\ude00\ud83d"}`), errSurrogate},
		"half a pair before a character": {message(`{"role":"user","content":"\ud83d\u0041"}`), errSurrogate},
		"half a pair in the model":       {`{"model":"\udead","messages":` + oneMessage + `}`, errSurrogate},
		"a control character":            {message("{\"role\":\"user\",\"content\":\"a\nb\"}"), errSyntax},
		"a control character late":       {message("{\"role\":\"user\",\"content\":\"0123456789\x1f\"}"), errSyntax},
		"an unknown escape":              {message(`{"role":"user","content":"\x41"}`), errSyntax},
		"a short escape":                 {message(`{"role":"user","content":"\u12"}`), errSyntax},
		"a tool call null":               {message(`{"role":"assistant","tool_calls":[null]}`), errCalls},
		"tool calls an object":           {message(`{"role":"assistant","tool_calls":{}}`), errCalls},
		"a function call that is a word": {message(`{"role":"assistant","function_call":"auto"}`), errCalls},
		"too many calls":                 {message(`{"role":"assistant","tool_calls":[` + strings.Repeat(`{},`, maxCalls) + `{}]}`), errManyCalls},
		"too many members":               {message(`{"role":"user"` + manyMembers() + `}`), errMembers},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := scan([]byte(test.body))
			if r != nil || !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func manyMembers() string {
	var b strings.Builder
	for i := range maxMembers {
		b.WriteString(`,"k` + strconv.Itoa(i) + `":0`)
	}
	return b.String()
}

func TestScanAcceptsOddButLegalBodies(t *testing.T) {
	tests := map[string]string{
		"numbers that are no float64":  `{"seed":1e999,"n":-0.0E-0,"x":` + strings.Repeat("9", 400) + `,"messages":` + oneMessage + `}`,
		"a key twice where none reads": `{"x":{"a":1,"a":2},"tools":[{"a":1,"a":2}],"messages":` + oneMessage + `}`,
		"half a pair where none reads": `{"x":"\ud83d","messages":` + oneMessage + `}`,
		"as deep as allowed":           `{"x":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + `,"messages":` + oneMessage + `}`,
		"an unknown role":              `{"messages":[{"role":"critic","content":"x"}]}`,
		"a content that is an object":  `{"messages":[{"role":"assistant","content":{"a":1}}]}`,
		"parts of unknown types":       `{"messages":[{"role":"user","content":["x",1,null,{},{"type":7},{"type":"text"},{"type":"text","text":null}]}]}`,
		"an empty key":                 `{"":0,"messages":` + oneMessage + `}`,
		"a NUL escape":                 `{"messages":[{"role":"user","content":"\u0000"}]}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			r := mustScan(t, body)
			r.fingerprint()
		})
	}
}

func TestScanReadsMessages(t *testing.T) {
	tests := map[string]struct {
		message string
		role    role
		empty   bool
		opaque  bool
		calls   string
	}{
		"user":                    {`{"role":"user","content":"x"}`, roleUser, false, false, ""},
		"role with escapes":       {`{"role":"us\u0065r","content":"x"}`, roleUser, false, false, ""},
		"role in other case":      {`{"role":"User","content":"x"}`, roleOther, false, false, ""},
		"system":                  {`{"role":"system","content":"x"}`, roleSystem, false, false, ""},
		"developer":               {`{"role":"developer","content":"x"}`, roleDeveloper, false, false, ""},
		"function":                {`{"role":"function","name":"f","content":"x"}`, roleFunction, false, false, ""},
		"unknown":                 {`{"role":"critic","content":"x"}`, roleOther, false, false, ""},
		"content absent":          {`{"role":"user"}`, roleUser, true, false, ""},
		"content null":            {`{"role":"user","content":null}`, roleUser, true, false, ""},
		"content empty":           {`{"role":"user","content":""}`, roleUser, true, false, ""},
		"content no parts":        {`{"role":"user","content":[]}`, roleUser, true, false, ""},
		"content an empty part":   {`{"role":"user","content":[{"type":"text","text":""}]}`, roleUser, true, false, ""},
		"content only thinking":   {`{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}`, roleAssistant, true, false, ""},
		"an image":                {`{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}`, roleUser, false, false, ""},
		"reasoning alone":         {`{"role":"assistant","content":"","reasoning_content":"x"}`, roleAssistant, true, false, ""},
		"a refusal":               {`{"role":"assistant","content":null,"refusal":"no"}`, roleAssistant, false, false, ""},
		"an empty refusal":        {`{"role":"assistant","content":null,"refusal":""}`, roleAssistant, true, false, ""},
		"calls":                   {`{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b\u0063"},{}]}`, roleAssistant, false, false, "a,bc,"},
		"calls null":              {`{"role":"assistant","tool_calls":null}`, roleAssistant, true, false, ""},
		"calls none":              {`{"role":"assistant","tool_calls":[]}`, roleAssistant, true, false, ""},
		"a legacy call":           {`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`, roleAssistant, false, false, ""},
		"a legacy call of nobody": {`{"role":"assistant","content":"","function_call":{"name":"","arguments":""}}`, roleAssistant, true, false, ""},
		"audio":                   {`{"role":"assistant","audio":{"id":"audio_1"}}`, roleAssistant, false, true, ""},
		"audio without id":        {`{"role":"assistant","audio":{"id":"","data":""}}`, roleAssistant, true, false, ""},
		"audio null":              {`{"role":"assistant","audio":null}`, roleAssistant, true, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustScan(t, `{"messages":[ `+test.message+` ]}`).messages[0]
			if m.role != test.role || m.empty != test.empty || m.opaque != test.opaque {
				t.Errorf("role %v empty %v opaque %v, want %v %v %v", m.role, m.empty, m.opaque, test.role, test.empty, test.opaque)
			}
			if got := strings.Join(m.calls, ","); got != test.calls {
				t.Errorf("calls %q, want %q", got, test.calls)
			}
			if m.answers != -1 {
				t.Errorf("answers %d, want -1", m.answers)
			}
			if (name == "a legacy call") != (len(m.calls) == 1 && m.calls[0] == "") {
				t.Errorf("calls %q", m.calls)
			}
		})
	}
}

func TestResultsAreMatchedByPosition(t *testing.T) {
	calls := func(ids ...string) string {
		var all []string
		for _, id := range ids {
			all = append(all, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
		}
		return `{"role":"assistant","tool_calls":[` + strings.Join(all, ",") + `]}`
	}
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"r"}` }
	const user, legacy = `{"role":"user","content":"u"}`, `{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`
	tests := map[string]struct {
		messages []string
		want     []int // answers of all messages
	}{
		"in order":               {[]string{calls("a", "b"), result("a"), result("b")}, []int{-1, 0, 1}},
		"in another order":       {[]string{calls("a", "b"), result("b"), result("a")}, []int{-1, 1, 0}},
		"the same id later":      {[]string{calls("a"), result("a"), calls("x", "a"), result("a")}, []int{-1, 0, -1, 1}},
		"the same id at once":    {[]string{calls("a", "a"), result("a"), result("a"), result("a")}, []int{-1, 0, 1, -1}},
		"an unknown id":          {[]string{calls("a"), result("z")}, []int{-1, -1}},
		"answered twice":         {[]string{calls("a"), result("a"), result("a")}, []int{-1, 0, -1}},
		"no call before":         {[]string{result("a"), calls("a")}, []int{-1, -1}},
		"a call too far back":    {[]string{calls("a"), calls("b"), result("a")}, []int{-1, -1, -1}},
		"a user in between":      {[]string{calls("a", "b"), result("a"), user, result("b")}, []int{-1, 0, -1, 1}},
		"a legacy call":          {[]string{legacy, `{"role":"function","name":"f","content":"r"}`}, []int{-1, 0}},
		"calls without ids":      {[]string{calls("", ""), `{"role":"tool","content":"r"}`, `{"role":"tool","content":"r"}`}, []int{-1, 0, 1}},
		"an id spelled with \\u": {[]string{calls("a"), result(`\u0061`)}, []int{-1, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := mustScan(t, `{"messages":[`+strings.Join(test.messages, ",")+`]}`)
			for i, m := range r.messages {
				if m.answers != test.want[i] {
					t.Errorf("message %d answers %d, want %d", i, m.answers, test.want[i])
				}
			}
		})
	}
}

func TestExampleMessages(t *testing.T) {
	r := mustScan(t, `{"messages":[{"role":"system","name":"example_user","content":"x"},{"role":"system","name":"ex\u0061mple_assistant","content":"x"},{"role":"system","name":"other","content":"x"},{"role":"system","content":"x"}]}`)
	for i, want := range []bool{true, true, false, false} {
		if got := r.messages[i].example(); got != want {
			t.Errorf("message %d: example %v, want %v", i, got, want)
		}
	}
}

// corpus returns the bodies of all recorded conversations; the test is skipped
// where the collection is not at hand.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	names := corpora(t)
	all := make(map[string][]byte, len(names))
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = body
	}
	return all
}

func TestScanCorpora(t *testing.T) {
	for name, body := range corpus(t) {
		r, err := scan(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkAgainstStdlib(t, r)
		for i, m := range r.messages {
			if m.role == roleOther {
				t.Errorf("%s: message %d: role not known", name, i)
			}
			if (m.role == roleTool || m.role == roleFunction) && m.answers < 0 {
				t.Errorf("%s: message %d answers nothing", name, i)
			}
		}
	}
}

// checkAgainstStdlib compares a scanned request with what encoding/json makes of the
// same body.
func checkAgainstStdlib(t *testing.T, r *request) {
	t.Helper()
	var body map[string]json.RawMessage
	if err := json.Unmarshal(r.body, &body); err != nil {
		t.Fatalf("scanned, but %v", err)
	}
	if list := string(r.list.in(r.body)); list != string(body["messages"]) {
		t.Fatalf("list %.80q, want %.80q", list, body["messages"])
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(body["messages"], &messages); err != nil {
		t.Fatal(err)
	}
	if len(messages) != len(r.messages) {
		t.Fatalf("%d messages, want %d", len(r.messages), len(messages))
	}
	at := r.list.from + 1
	for i, m := range r.messages {
		if between := r.body[at:m.from]; strings.Trim(string(between), " \t\r\n,") != "" {
			t.Fatalf("%q stands before message %d", between, i)
		}
		at = m.to
		if string(m.in(r.body)) != string(messages[i]) {
			t.Fatalf("message %d is %.80q, want %.80q", i, m.in(r.body), messages[i])
		}
		var want map[string]any
		if err := json.Unmarshal(messages[i], &want); err != nil {
			// a number that no float64 holds
			continue
		}
		if got := string(decoded(m.fields.role.in(r.body))); got != want["role"] {
			t.Fatalf("message %d: role %q, want %q", i, got, want["role"])
		}
		if text, ok := want["content"].(string); ok && string(decoded(m.fields.content.in(r.body))) != text {
			t.Fatalf("message %d: content differs", i)
		}
		if calls, ok := want["tool_calls"].([]any); ok && len(m.fields.legacyCall.in(r.body)) == 0 && len(calls) != len(m.calls) {
			t.Fatalf("message %d: %d calls, want %d", i, len(m.calls), len(calls))
		}
	}
	if rest := r.body[at : r.list.to-1]; strings.TrimSpace(string(rest)) != "" {
		t.Fatalf("%q stands after the last message", rest)
	}
}
