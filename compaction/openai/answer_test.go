package openai

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction"
)

func TestAnswers(t *testing.T) {
	message := func(m string) string { return `{"choices":[{"finish_reason":"stop","message":` + m + `}]}` }
	text := compaction.Answer{Text: "A summary.", Finish: "stop"}
	tests := []struct {
		name, body string
		want       compaction.Answer
	}{
		{"plain", okBody, compaction.Answer{Text: "A summary.", Finish: "stop", Prompt: 120, Completion: 7}},
		{"keep-alive white space in front", "\n\n  \r\n" + message(`{"content":"A summary."}`) + "\n", text},
		{"parts", message(`{"content":[{"type":"text","text":"A sum"},{"type":"text","text":"mary."}]}`), text},
		{"thinking parts", message(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"A summary."}]}`), text},
		{"refusal part", message(`{"content":[{"type":"refusal","refusal":"No."}]}`), compaction.Answer{Refusal: "No.", Finish: "stop"}},
		{"odd parts", message(`{"content":[null,7,{"type":"image_url"},{"text":"A summary."}]}`), text},
		{"null content", message(`{"content":null}`), compaction.Answer{Finish: "stop"}},
		{"no content, reasoning alone (lesson 60)", message(`{"reasoning_content":"The user wants","reasoning":"x"}`), compaction.Answer{Finish: "stop"}},
		{"no message", `{"choices":[{"finish_reason":"stop"}]}`, compaction.Answer{Finish: "stop"}},
		{"tool calls (lesson 34)", `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`, compaction.Answer{Finish: "tool_calls", ToolCalls: true}},
		{"function call", message(`{"content":"A summary.","function_call":{"name":"f","arguments":"{}"}}`), compaction.Answer{Text: "A summary.", Finish: "stop", ToolCalls: true}},
		{"empty calls are none", message(`{"content":"A summary.","tool_calls":[],"function_call":{"name":"","arguments":""},"refusal":null}`), text},
		{"null calls are none", message(`{"content":"A summary.","tool_calls":null,"function_call":null}`), text},
		{"refused", message(`{"content":null,"refusal":"I can't."}`), compaction.Answer{Refusal: "I can't.", Finish: "stop"}},
		{"cut off", `{"choices":[{"finish_reason":"length","message":{"content":"A sum"}}]}`, compaction.Answer{Text: "A sum", Finish: "length"}},
		{"no finish reason", `{"choices":[{"finish_reason":null,"message":{"content":"A summary."}}]}`, compaction.Answer{Text: "A summary."}},
		{"null error beside", `{"error":null,"choices":[{"finish_reason":"stop","message":{"content":"A summary."}}]}`, text},
		{"usage null", `{"usage":null,"choices":[{"finish_reason":"stop","message":{"content":"A summary."}}]}`, text},
		{"usage of another form", `{"usage":[1],"choices":[{"finish_reason":"stop","message":{"content":"A summary."}}]}`, text},
		{"usage out of range", `{"usage":{"prompt_tokens":-4,"completion_tokens":1e300},"choices":[{"finish_reason":"stop","message":{"content":"A summary."}}]}`, compaction.Answer{Text: "A summary.", Finish: "stop", Completion: 1e9}},
		{"usage with a fraction", `{"usage":{"prompt_tokens":4.0},"choices":[{"finish_reason":"stop","message":{"content":"A summary."}}]}`, compaction.Answer{Text: "A summary.", Finish: "stop", Prompt: 4}},
		{"escapes", message(`{"content":"\u0041 \ud83d\ude42 \ud800"}`), compaction.Answer{Text: "A 🙂 \ufffd", Finish: "stop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := askServer(t, http.StatusOK, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("answer %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	const quoted = `"message":"you sent: ` + secret + ` with ` + clientKey + `"`
	tests := []struct {
		name       string
		status     int
		body       string
		wantStatus int
		want       string // in the error
	}{
		{"code", 404, `{"error":{"code":"model_not_found","type":"invalid_request_error",` + quoted + `}}`, 404, "model_not_found"},
		{"type where there is no code", 529, `{"error":{"type":"overloaded_error","code":null,` + quoted + `}}`, 529, "overloaded_error"},
		{"number", 403, `{"error":{"code":1302,` + quoted + `}}`, 403, "1302"},
		{"at the top (Mistral)", 401, `{"object":"error",` + quoted + `,"type":"invalid_api_key"}`, 401, "invalid_api_key"},
		{"in a list (Gemini)", 403, `[{"error":{"code":403,` + quoted + `,"status":"PERMISSION_DENIED"}}]`, 403, "403"},
		{"a string", 500, `{"error":"` + secret + `"}`, 500, "internal server error"},
		{"a code that is a key", 401, `{"error":{"code":"` + clientKey + `"}}`, 401, "unauthorized"},
		{"a code that is a text", 418, `{"error":{"code":"` + secret + `"}}`, 418, "teapot"},
		{"HTML", 502, `<html>` + secret, 502, "bad gateway"},
		{"empty", 599, ``, 599, "unknown status"},
		{"204", 204, ``, 204, "no content"},
		{"an error with status 200 (OpenRouter)", 200, `{"error":{"code":429,` + quoted + `}}`, 429, "429"},
		{"an error with status 200 and a name", 200, `{"error":{"code":"model_overloaded",` + quoted + `}}`, 200, "model_overloaded"},
		{"an error string with status 200", 200, `{"error":"` + secret + `"}`, 200, "failed"},
		{"an error in the choice", 200, `{"choices":[{"error":{"code":502,` + quoted + `},"finish_reason":"error","message":{"content":"A sum"}}]}`, 502, "502"},
		{"finish reason error", 200, `{"choices":[{"finish_reason":"error","message":{"content":"A sum"}}]}`, 200, "failed"},
		{"no choices", 200, `{"choices":[]}`, 200, "no choice"},
		{"null choices", 200, `{"choices":null}`, 200, "no choice"},
		{"no JSON", 200, secret, 200, "no chat completion"},
		{"half a JSON", 200, `{"choices":[{"message":{"content":"` + secret, 200, "no chat completion"},
		{"not an object", 200, `["` + secret + `"]`, 200, "no chat completion"},
		{"nothing", 200, "  \n", 200, "no chat completion"},
		{"an event stream, unlabelled", 200, "data: {\"choices\":[]}\n\n", 200, "no chat completion"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := askServer(t, tt.status, tt.body)
			failure, _ := errors.AsType[*compaction.AskError](err)
			if failure == nil {
				t.Fatalf("answer %+v, error %v, want an AskError", got, err)
			}
			if failure.Status != tt.wantStatus || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q with status %d, want %q with %d", err, failure.Status, tt.want, tt.wantStatus)
			}
			for _, hidden := range []string{secret, clientKey, "you sent"} {
				if strings.Contains(err.Error(), hidden) {
					t.Errorf("error %q shows %q", err, hidden)
				}
			}
		})
	}
}

func TestRetryAfterIsPassedOn(t *testing.T) {
	_, err := askServer(t, http.StatusTooManyRequests, `{}`, "Retry-After", "120")
	if failure, _ := errors.AsType[*compaction.AskError](err); failure == nil || failure.RetryAfter.Seconds() != 120 {
		t.Errorf("error %#v", err)
	}
}

func TestBodies(t *testing.T) {
	zipped := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(s))
		_ = w.Close()
		return b.String()
	}
	tests := []struct {
		name, body string
		header     []string
		want       error // nil: answered
	}{
		{"gzip", zipped(okBody), []string{"Content-Encoding", "gzip"}, nil},
		{"identity", okBody, []string{"Content-Encoding", "identity"}, nil},
		{"not asked for", "x", []string{"Content-Encoding", "br"}, errEncoding},
		{"no gzip at all", okBody, []string{"Content-Encoding", "gzip"}, gzip.ErrHeader},
		{"an event stream", "data: {}\n\n", []string{"Content-Type", "text/event-stream; charset=utf-8"}, errEventStream},
		{"too long", strings.Repeat(" ", answerBody) + okBody, nil, errTooLong},
		{"too long when inflated", zipped(strings.Repeat(" ", 8*answerBody) + okBody), []string{"Content-Encoding", "gzip"}, errTooLong},
		{"long", strings.Repeat(" ", answerBody-len(okBody)) + okBody, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := askServer(t, http.StatusOK, tt.body, tt.header...)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if tt.want == nil && answer.Text != "A summary." {
				t.Errorf("answer %+v", answer)
			}
		})
	}
}

func TestAnswerThatBreaksOffIsATransportFailure(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"choices":[`))
	}))
	defer upstream.Close()
	_, err := newClient(t, Options{}).Summarize(t.Context(), question(t, upstream.URL+"/chat/completions"))
	if failure, _ := errors.AsType[*compaction.AskError](err); failure == nil || failure.Status != 0 {
		t.Errorf("error %v", err)
	}
}

// Whole answers of real providers are all understood.
func TestRecordedAnswers(t *testing.T) {
	dir := os.Getenv("PLEAT_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "wire", "*", "*", "response.json"))
	if len(files) == 0 {
		t.Skip("no corpora")
	}
	understood := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var is struct {
			Choices []struct {
				Message struct {
					Content any `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		}
		if json.Unmarshal(body, &is) != nil || len(is.Choices) == 0 {
			continue
		}
		answer, failure := decode(http.StatusOK, body)
		if failure != nil {
			t.Errorf("%s: %v", file, failure.Err)
			continue
		}
		content, _ := is.Choices[0].Message.Content.(string)
		if content != "" && answer.Text != content {
			t.Errorf("%s: text %q", file, answer.Text)
		}
		understood++
	}
	t.Logf("%d answers", understood)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(okBody))
	f.Add([]byte(`{"error":{"code":1}}`))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"a"}],"function_call":"x"}}],"usage":7}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, failure := decode(http.StatusOK, body)
		if failure != nil && (failure.Err == nil || answer != compaction.Answer{}) {
			t.Errorf("answer %+v, failure %+v", answer, failure)
		}
		if f := failureOf(http.StatusBadRequest, body); f.Err == nil || f.Status != http.StatusBadRequest {
			t.Errorf("failure %+v", f)
		}
	})
}

// askServer puts a question to an HTTP server that answers so.
func askServer(t *testing.T, status int, body string, header ...string) (compaction.Answer, error) {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer upstream.Close()
	c := newClient(t, Options{Client: &http.Client{Transport: upstream.Client().Transport}})
	return c.Summarize(t.Context(), question(t, upstream.URL+"/v1/chat/completions"))
}
