package window

import "testing"

// The answers of servers, cut to what matters here.
const (
	vllmList       = `{"object":"list","data":[{"id":"meta-llama/Llama-3.1-8B-Instruct","object":"model","created":1,"owned_by":"vllm","root":"/models/l","parent":null,"max_model_len":16384,"permission":[{"id":"p"}]}]}`
	openRouterList = `{"data":[
		{"id":"openai/gpt-4o","context_length":128000,"top_provider":{"context_length":128000,"max_completion_tokens":16384,"is_moderated":true}},
		{"id":"meta-llama/llama-3.1-8b-instruct","context_length":131072,"top_provider":{"context_length":16384,"max_completion_tokens":null}},
		{"id":"openrouter/auto","context_length":2000000,"top_provider":{"context_length":null,"max_completion_tokens":null}}]}`
	groqList    = `{"object":"list","data":[{"id":"llama-3.3-70b-versatile","owned_by":"Meta","active":true,"context_window":131072,"public_apps":null,"max_completion_tokens":32768},{"id":"whisper-large-v3","owned_by":"OpenAI","context_window":448,"max_completion_tokens":448}]}`
	mistralList = `{"object":"list","data":[{"id":"mistral-large-2411","owned_by":"mistralai","max_context_length":131072,"aliases":["mistral-large-latest"],"capabilities":{"completion_chat":true}}]}`
	lmStudio    = `{"object":"list","data":[
		{"id":"qwen2.5-7b","object":"model","type":"llm","state":"loaded","max_context_length":32768,"loaded_context_length":4096},
		{"id":"granite","object":"model","type":"llm","state":"not-loaded","max_context_length":131072}]}`
	togetherList  = `[{"id":"mistralai/Mixtral-8x7B-Instruct-v0.1","object":"model","context_length":32768,"pricing":{"input":0.6}}]`
	copilotList   = `{"data":[{"id":"gpt-4.1","capabilities":{"family":"gpt-4.1","limits":{"max_context_window_tokens":128000,"max_output_tokens":16384,"max_prompt_tokens":72000}}}]}`
	openAIList    = `{"object":"list","data":[{"id":"gpt-4o","object":"model","created":1,"owned_by":"system"}]}`
	ollamaList    = `{"object":"list","data":[{"id":"llama3.1:latest","object":"model","created":1,"owned_by":"library"}]}`
	llamaCppList  = `{"models":[{"name":"m.gguf","model":"m.gguf"}],"object":"list","data":[{"id":"m.gguf","object":"model","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}`
	lmStudioList  = `{"data":[{"id":"qwen2.5-7b","object":"model","owned_by":"organization_owner"}],"object":"list"}`
	ollamaRunning = `{"models":[{"name":"llama3.1:latest","model":"llama3.1:latest","size":1,"context_length":8192}]}`
)

func TestUpstreamMetadata(t *testing.T) {
	tests := map[string]struct {
		list string
		want map[string]Limits // by what a client would ask for
	}{
		"vLLM": {vllmList, map[string]Limits{
			"meta-llama/Llama-3.1-8B-Instruct": {Input: 16_384, Total: 16_384},
			"meta-llama/llama-3.1-8b-instruct": {Input: 16_384, Total: 16_384},
		}},
		"OpenRouter": {openRouterList, map[string]Limits{
			"openai/gpt-4o":                    {Input: 128_000, Output: 16_384, Total: 128_000},
			"meta-llama/llama-3.1-8b-instruct": {Input: 16_384, Total: 16_384},
			"openrouter/auto":                  {Input: 2_000_000, Total: 2_000_000},
		}},
		"Groq": {groqList, map[string]Limits{
			"llama-3.3-70b-versatile": {Input: 131_072, Output: 32_768, Total: 131_072},
		}},
		"Mistral": {mistralList, map[string]Limits{
			"mistral-large-2411":   {Input: 131_072, Total: 131_072},
			"mistral-large-latest": {Input: 131_072, Total: 131_072},
		}},
		"LM Studio": {lmStudio, map[string]Limits{
			"qwen2.5-7b": {Input: 4_096, Total: 4_096},
			"granite":    {Input: 131_072, Total: 131_072},
		}},
		"Together": {togetherList, map[string]Limits{
			"mistralai/Mixtral-8x7B-Instruct-v0.1": {Input: 32_768, Total: 32_768},
		}},
		"Copilot": {copilotList, map[string]Limits{ // the route's prompt limit is far below the model's
			"gpt-4.1": {Input: 72_000, Output: 16_384, Total: 128_000},
		}},
		"Ollama, loaded": {ollamaRunning, map[string]Limits{
			"llama3.1":        {Input: 8_192, Total: 8_192},
			"llama3.1:latest": {Input: 8_192, Total: 8_192},
		}},
	}
	for name, tt := range tests {
		list, _, err := ParseModels([]byte(tt.list))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := resolver(t)
		r.builtIn = nil
		r.SetUpstream(list)
		for model, want := range tt.want {
			want.Source = SourceUpstream
			if got := r.Lookup(model); got != want {
				t.Errorf("%s: %s: %+v, want %+v", name, model, got, want)
			}
		}
		if l := r.Lookup("not-listed"); l != (Limits{}) {
			t.Errorf("%s: a model that it does not list: %+v", name, l)
		}
	}
}

func TestListsThatStateNoWindow(t *testing.T) {
	for _, tt := range []struct {
		list   string
		server Server
	}{
		{openAIList, ServerOther}, {ollamaList, ServerOllama}, {llamaCppList, ServerLlamaCpp}, {lmStudioList, ServerLMStudio},
	} {
		list, server, err := ParseModels([]byte(tt.list))
		if err != nil || server != tt.server || len(list) != 1 {
			t.Errorf("%.60s: %v, %q, %v", tt.list, list, server, err)
		}
		r := resolver(t)
		if n := r.SetUpstream(list); n != 0 {
			t.Errorf("%.60s: %d windows", tt.list, n)
		}
		if l := r.Lookup("gpt-4o"); l.Source != SourceCatalogue {
			t.Errorf("%.60s: %+v", tt.list, l)
		}
	}
}

func TestStrangeLists(t *testing.T) {
	for _, data := range []string{"", "no", "{}", `{"error":{"message":"no key"}}`, `{"data":null}`, `{"data":{}}`, "3", "null"} {
		if list, _, err := ParseModels([]byte(data)); len(list) > 0 || err == nil {
			t.Errorf("%s: %v, %v", data, list, err)
		}
	}
	list, _, err := ParseModels([]byte(`{"data":[3,null,{},{"id":7},{"id":"a","max_model_len":"many"},{"id":"b","max_model_len":-1},
		{"id":"c","context_length":3},{"id":"d","context_length":1e30},{"id":"e","context_length":4096.0,"max_completion_tokens":99999}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := resolver(t)
	if n := r.SetUpstream(list); n != 1 {
		t.Errorf("%d windows, want that of e alone", n)
	}
	if l := r.Lookup("e"); l.Total != 4_096 || l.Output != 0 {
		t.Errorf("%+v", l)
	}
}

// TestProps: llama.cpp tells the context of a slot, and serves one model under
// whatever name.
func TestProps(t *testing.T) {
	m, err := ParseProps([]byte(`{"default_generation_settings":{"id":0,"n_ctx":8192,"params":{}},"total_slots":4,"model_path":"m.gguf"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := resolver(t)
	r.SetUpstream([]ModelInfo{{Name: "m.gguf"}, m})
	for _, model := range []string{"m.gguf", "gpt-4o", ""} {
		if l := r.Lookup(model); l.Total != 8_192 || l.Source != SourceUpstream {
			t.Errorf("%q: %+v", model, l)
		}
	}
	for _, data := range []string{"", "File Not Found", "[]"} {
		if _, err := ParseProps([]byte(data)); err == nil {
			t.Errorf("%q: no error", data)
		}
	}
	if m, err := ParseProps([]byte(`{"error":"no"}`)); err != nil || m.Limits.plausible() {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestShow(t *testing.T) {
	const info = `"model_info":{"general.architecture":"llama","llama.context_length":131072,"llama.rope.dimension_count":128}`
	for name, tt := range map[string]struct {
		data  string
		total int
	}{
		"as trained":          {`{` + info + `}`, 131_072},
		"made with num_ctx":   {`{"parameters":"num_ctx                        16384\nstop                           \"<|eot_id|>\"",` + info + `}`, 16_384},
		"more than it can":    {`{"parameters":"num_ctx 999999",` + info + `}`, 131_072},
		"num_ctx alone":       {`{"parameters":"temperature 1\nnum_ctx 4096\n"}`, 4_096},
		"not said":            {`{"parameters":"stop num_ctx"}`, 0},
		"a strange num_ctx":   {`{"parameters":"num_ctx many",` + info + `}`, 131_072},
		"a stop word num_ctx": {`{"parameters":"stop \"num_ctx 4096\"",` + info + `}`, 131_072},
	} {
		m, err := ParseShow("llama3.1", []byte(tt.data))
		if err != nil || m.Name != "llama3.1" || m.Limits.Total != tt.total {
			t.Errorf("%s: %+v, %v, want %d", name, m, err, tt.total)
		}
	}
	if _, err := ParseShow("m", []byte("model not found")); err == nil {
		t.Error("no error")
	}
}

// TestLaterWordsCount: what a model is loaded with replaces what it could do.
func TestLaterWordsCount(t *testing.T) {
	r := resolver(t)
	running, err := ParseRunning([]byte(ollamaRunning))
	if err != nil {
		t.Fatal(err)
	}
	r.SetUpstream(append([]ModelInfo{{Name: "llama3.1:latest", Limits: Limits{Total: 131_072}}}, running...))
	if l := r.Lookup("llama3.1"); l.Total != 8_192 {
		t.Errorf("%+v", l)
	}
}

func TestUpstreamListsAreBounded(t *testing.T) {
	list := make([]ModelInfo, 0, 2*maxUpstream)
	for i := range 2 * maxUpstream {
		list = append(list, ModelInfo{Name: string(rune('a'+i%26)) + string(rune(0x4e00+i)), Limits: Limits{Total: 8_192}})
	}
	if n := resolver(t).SetUpstream(list); n != maxUpstream {
		t.Errorf("%d are kept, want %d", n, maxUpstream)
	}
}
