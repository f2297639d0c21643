package window

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Catalogue is a catalogue file that was read.
type Catalogue struct {
	exact map[string]Limits // by the name in the file: it is somebody's route
	names catalogue         // by all forms of the names
}

// fileEntry is what a catalogue file says of a model (LiteLLM's
// model_prices_and_context_window.json). max_tokens is older than the other
// two: it repeats the output limit where that is stated, else the input limit.
type fileEntry struct {
	MaxTokens       number `json:"max_tokens"`
	MaxInputTokens  number `json:"max_input_tokens"`
	MaxOutputTokens number `json:"max_output_tokens"`
	Provider        string `json:"litellm_provider"`
	Mode            string `json:"mode"`
}

// ParseCatalogue reads a catalogue file in LiteLLM's format. Entries that make
// no sense are left out, and so are models that do not chat. A file of which
// nothing is left is an error: it is something else, such as an error page.
func ParseCatalogue(data []byte) (*Catalogue, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("window: catalogue file: %w", err)
	}
	c := &Catalogue{exact: make(map[string]Limits), names: make(catalogue)}
	for name, value := range raw {
		var e fileEntry
		if len(name) > maxName || json.Unmarshal(value, &e) != nil || !e.chats() {
			continue
		}
		l := e.limits(name)
		if l.Input == 0 || !l.plausible() {
			continue
		}
		c.exact[trimmed(name)] = l
		c.names.add(name, l, e.rank())
	}
	if len(c.exact) == 0 {
		return nil, errors.New("window: catalogue file: no model's limits in it")
	}
	return c, nil
}

// Len returns of how many models the file states the window.
func (c *Catalogue) Len() int {
	if c == nil {
		return 0
	}
	return len(c.exact)
}

// chats reports whether the model's tokens are a conversation's.
func (e fileEntry) chats() bool {
	switch e.Mode {
	case "", "chat", "completion", "responses":
		return true
	}
	return false
}

// limits reads the limits off an entry. The format has no total: nearly
// everywhere the input limit is the whole window, which is also the cautious
// reading.
func (e fileEntry) limits(name string) Limits {
	l := Limits{Input: int(e.MaxInputTokens), Output: int(e.MaxOutputTokens), Source: SourceFile}
	if l.Input == 0 && l.Output == 0 {
		l.Input = int(e.MaxTokens)
	}
	l.Total = l.Input
	if l.Input == gpt5Input && strings.HasPrefix(bareName(name), "gpt-5") {
		l.Total = gpt5Total
	}
	if l.Output < leastLimit || l.Output > l.Total {
		l.Output = 0
	}
	return l
}

// rank tells a maker's word on its own model from a reseller's.
func (e fileEntry) rank() rank {
	switch e.Provider {
	case "openai", "anthropic", "gemini", "xai", "deepseek", "mistral", "cohere_chat", "moonshot":
		return byMaker
	}
	return byReseller
}

// find returns what the file says of the model: under the very name, else
// under the forms of it. A nil Catalogue knows nothing.
func (c *Catalogue) find(model string) Limits {
	if c == nil {
		return Limits{}
	}
	if l, ok := c.exact[trimmed(model)]; ok {
		return l
	}
	return c.names.find(model)
}
