package window

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Server is a kind of server that tells its models' windows elsewhere than in
// its list of models.
type Server string

// The values of Server, as told by the owners that such servers list for their
// models.
const (
	ServerOther    Server = ""
	ServerLlamaCpp Server = "llama.cpp" // GET /props: see ParseProps
	ServerOllama   Server = "ollama"    // POST /api/show, GET /api/ps: see ParseShow, ParseRunning
	ServerLMStudio Server = "lmstudio"  // GET /api/v0/models: see ParseModels
)

// listed is a model in an upstream's list, with the fields in which servers
// state limits. What a server calls context is request and reply together.
type listed struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Aliases []string `json:"aliases"` // Mistral
	OwnedBy string   `json:"owned_by"`

	MaxModelLen         number `json:"max_model_len"`         // vLLM, SGLang
	ContextLength       number `json:"context_length"`        // OpenRouter, Together, Fireworks; Ollama's /api/ps
	ContextWindow       number `json:"context_window"`        // Groq
	MaxCompletionTokens number `json:"max_completion_tokens"` // Groq
	MaxContextLength    number `json:"max_context_length"`    // Mistral; LM Studio: what the model could do
	LoadedContextLength number `json:"loaded_context_length"` // LM Studio: what it was loaded with

	TopProvider struct { // OpenRouter: of the provider that is tried first
		ContextLength       number `json:"context_length"`
		MaxCompletionTokens number `json:"max_completion_tokens"`
	} `json:"top_provider"`

	Capabilities struct { // GitHub Copilot
		Limits struct {
			Window number `json:"max_context_window_tokens"`
			Prompt number `json:"max_prompt_tokens"`
			Output number `json:"max_output_tokens"`
		} `json:"limits"`
	} `json:"capabilities"`
}

// limits picks what the server really serves before what the model could do.
func (m listed) limits() Limits {
	copilot := m.Capabilities.Limits
	l := Limits{Input: int(copilot.Prompt)}
	switch {
	case m.LoadedContextLength > 0:
		l.Total = int(m.LoadedContextLength)
	case m.TopProvider.ContextLength > 0:
		l.Total = int(least(m.TopProvider.ContextLength, m.ContextLength))
	default:
		l.Total = int(least(m.MaxModelLen, m.ContextLength, m.ContextWindow, m.MaxContextLength, copilot.Window))
	}
	l.Output = int(least(m.TopProvider.MaxCompletionTokens, m.MaxCompletionTokens, copilot.Output))
	return l.mended()
}

// mended drops what cannot be, limit by limit: an output of more than the
// window is a server's way of saying that there is no limit of its own.
func (l Limits) mended() Limits {
	for _, n := range []*int{&l.Input, &l.Output, &l.Total} {
		if *n < leastLimit || *n > mostLimit {
			*n = 0
		}
	}
	if l.Total > 0 && l.Input > l.Total {
		l.Input = 0
	}
	if l.Input == 0 {
		l.Input = l.Total
	}
	if l.Total > 0 && l.Output > l.Total {
		l.Output = 0
	}
	return l
}

// ParseModels reads an upstream's list of models (GET /models; of LM Studio
// also /api/v0/models, of Ollama /api/ps and /api/tags). It returns the limits
// that are stated, which may be none, under all names of each model, and what
// kind of server it seems to be. Models that cannot be read are left out.
func ParseModels(data []byte) ([]ModelInfo, Server, error) {
	models, err := listedModels(data)
	if err != nil {
		return nil, ServerOther, err
	}
	var list []ModelInfo
	server := ServerOther
	for _, raw := range models {
		var m listed
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		if server == ServerOther {
			server = serverOf(m.OwnedBy)
		}
		name := m.ID
		if name == "" {
			name = m.Name
		}
		if name == "" {
			continue
		}
		for _, name := range append([]string{name}, m.Aliases...) {
			list = append(list, ModelInfo{Name: name, Limits: m.limits()})
		}
	}
	return list, server, nil
}

// listedModels takes a list apart: OpenAI's form has it in data, Ollama's in
// models, and some servers send it bare.
func listedModels(data []byte) ([]json.RawMessage, error) {
	var bare []json.RawMessage
	if json.Unmarshal(data, &bare) == nil && bare != nil {
		return bare, nil
	}
	var list struct {
		Data   []json.RawMessage `json:"data"`
		Models []json.RawMessage `json:"models"`
	}
	if json.Unmarshal(data, &list) != nil || list.Data == nil && list.Models == nil {
		return nil, errors.New("window: this is no list of models")
	}
	if list.Data == nil {
		return list.Models, nil
	}
	return list.Data, nil
}

func serverOf(owner string) Server {
	switch owner {
	case "llamacpp":
		return ServerLlamaCpp
	case "library":
		return ServerOllama
	case "organization_owner":
		return ServerLMStudio
	}
	return ServerOther
}

// ParseProps reads llama.cpp's answer to GET /props: the context of one slot,
// which is what a request gets. The server has one model, whatever its name.
func ParseProps(data []byte) (ModelInfo, error) {
	var props struct {
		Settings struct {
			NCtx number `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err := json.Unmarshal(data, &props); err != nil {
		return ModelInfo{}, errors.New("window: this is no answer of llama.cpp's /props")
	}
	return ModelInfo{Limits: Limits{Total: int(props.Settings.NCtx)}.mended()}, nil
}

// ParseShow reads Ollama's answer to POST /api/show for the named model: the
// parameter num_ctx, if the model was made with one, else the length that it
// was trained for. The latter is what it could do: Ollama may load it with
// less, which ParseRunning tells once it is loaded.
func ParseShow(name string, data []byte) (ModelInfo, error) {
	var show struct {
		Parameters string                     `json:"parameters"`
		ModelInfo  map[string]json.RawMessage `json:"model_info"`
	}
	if err := json.Unmarshal(data, &show); err != nil {
		return ModelInfo{}, errors.New("window: this is no answer of Ollama's /api/show")
	}
	var trained, set number
	for key, value := range show.ModelInfo {
		if strings.HasSuffix(key, ".context_length") {
			_ = trained.UnmarshalJSON(value) // it takes anything
		}
	}
	for line := range strings.Lines(show.Parameters) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "num_ctx" {
			_ = set.UnmarshalJSON([]byte(words[1]))
		}
	}
	return ModelInfo{Name: name, Limits: Limits{Total: int(least(set, trained))}.mended()}, nil
}

// ParseRunning reads Ollama's answer to GET /api/ps: the models that are
// loaded, with the context that each really has.
func ParseRunning(data []byte) ([]ModelInfo, error) {
	list, _, err := ParseModels(data)
	return list, err
}

// number is a count as servers write it: whole or not, quoted or not, null. What
// is no positive number is 0, so that one strange field does not cost the rest.
type number int

func (n *number) UnmarshalJSON(data []byte) error {
	*n = 0
	f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err == nil && f > 0 && f <= 10*mostLimit {
		*n = number(f)
	}
	return nil
}

// least returns the smallest of those that are stated, or 0.
func least(numbers ...number) number {
	var low number
	for _, n := range numbers {
		if n > 0 && (low == 0 || n < low) {
			low = n
		}
	}
	return low
}
