package window

import (
	"strings"
	"testing"
)

// fileSample has the forms that the entries of LiteLLM's file take.
const fileSample = `{
	"sample_spec": {"max_tokens": "LEGACY parameter.", "max_input_tokens": "max input tokens, if specified", "mode": "one of: chat, embedding"},
	"gpt-4o": {"litellm_provider": "openai", "max_input_tokens": 128000, "max_output_tokens": 16384, "max_tokens": 16384, "mode": "chat", "input_cost_per_token": 2.5e-06},
	"azure/gpt-4o": {"litellm_provider": "azure", "max_input_tokens": 64000, "max_output_tokens": 16384, "max_tokens": 16384, "mode": "chat"},
	"gpt-5": {"litellm_provider": "openai", "max_input_tokens": 272000, "max_output_tokens": 128000, "max_tokens": 128000, "mode": "responses"},
	"old-model": {"litellm_provider": "some", "max_tokens": 4097, "mode": "completion"},
	"answers-only": {"litellm_provider": "some", "max_tokens": 4096, "max_output_tokens": 4096, "mode": "chat"},
	"quoted": {"max_input_tokens": "32768", "max_output_tokens": "not a number", "mode": "chat"},
	"floats": {"max_input_tokens": 200000.0, "max_output_tokens": 8.192e3, "mode": "chat"},
	"no-mode": {"max_input_tokens": 9000},
	"chatty-embedding": {"max_input_tokens": 8191, "mode": "embedding"},
	"dall-e-3": {"mode": "image_generation"},
	"tiny": {"max_input_tokens": 10, "mode": "chat"},
	"huge": {"max_input_tokens": 999999999999, "mode": "chat"},
	"endless-output": {"max_input_tokens": 8192, "max_output_tokens": 99999, "mode": "chat"},
	"list": [1, 2],
	"text": "none",
	"odd": {"max_input_tokens": {}, "mode": 7},
	"us.anthropic.claude-9-20300101-v1:0": {"litellm_provider": "bedrock", "max_input_tokens": 500000, "max_output_tokens": 64000, "mode": "chat"},
	"openrouter/some/m-2": {"litellm_provider": "openrouter", "max_input_tokens": 20000, "mode": "chat"},
	"vendor/m-2": {"litellm_provider": "vendor", "max_input_tokens": 30000, "mode": "chat"}
}`

func TestCatalogueFile(t *testing.T) {
	c, err := ParseCatalogue([]byte(fileSample))
	if err != nil {
		t.Fatal(err)
	}
	if c.Len() != 11 {
		t.Errorf("%d models, want 11", c.Len())
	}
	tests := map[string]Limits{
		"gpt-4o":                      {Input: 128_000, Output: 16_384, Total: 128_000},
		"GPT-4o-2024-08-06":           {Input: 128_000, Output: 16_384, Total: 128_000},
		"azure/gpt-4o":                {Input: 64_000, Output: 16_384, Total: 64_000}, // the very route
		"openai/gpt-4o":               {Input: 128_000, Output: 16_384, Total: 128_000},
		"gpt-5":                       {Input: 272_000, Output: 128_000, Total: 400_000},
		"old-model":                   {Input: 4_097, Total: 4_097},
		"answers-only":                {},
		"quoted":                      {Input: 32_768, Total: 32_768},
		"floats":                      {Input: 200_000, Output: 8_192, Total: 200_000},
		"no-mode":                     {Input: 9_000, Total: 9_000},
		"endless-output":              {Input: 8_192, Total: 8_192},
		"chatty-embedding":            {},
		"tiny":                        {},
		"huge":                        {},
		"sample_spec":                 {},
		"odd":                         {},
		"claude-9":                    {Input: 500_000, Output: 64_000, Total: 500_000},
		"vertex_ai/claude-9@20300101": {Input: 500_000, Output: 64_000, Total: 500_000},
		"m-2":                         {Input: 20_000, Total: 20_000}, // the smaller of two resellers
		"vendor/m-2":                  {Input: 30_000, Total: 30_000},
		"no-such":                     {},
	}
	r := resolver(t)
	r.builtIn = nil
	r.SetCatalogue(c)
	for model, want := range tests {
		if want != (Limits{}) {
			want.Source = SourceFile
		}
		if got := r.Lookup(model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
}

func TestWrongCatalogueFiles(t *testing.T) {
	for name, data := range map[string]string{
		"empty":           "",
		"an error page":   "<html>404</html>",
		"cut off":         fileSample[:len(fileSample)/2],
		"a list":          "[]",
		"null":            "null",
		"no models":       "{}",
		"an error object": `{"message": "rate limited", "status": "429"}`,
		"no chat models":  `{"e": {"mode": "embedding", "max_input_tokens": 8191}}`,
		"binary":          "\x1f\x8b\x08\x00\x00",
	} {
		if c, err := ParseCatalogue([]byte(data)); err == nil {
			t.Errorf("%s: taken, with %d models", name, c.Len())
		} else if strings.Contains(err.Error(), "rate limited") {
			t.Errorf("%s: the error quotes the file: %v", name, err)
		}
	}
}

func TestNoCatalogueFile(t *testing.T) {
	var c *Catalogue
	if c.Len() != 0 || c.find("gpt-4o") != (Limits{}) {
		t.Error("a file that is not there says something")
	}
}

func FuzzParseCatalogue(f *testing.F) {
	f.Add([]byte(fileSample))
	f.Add([]byte(`{"a":{"max_tokens":1e400,"max_input_tokens":-1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCatalogue(data)
		if err != nil {
			return
		}
		for name, l := range c.exact {
			if !l.plausible() || !l.Known() || l.Source != SourceFile {
				t.Errorf("%q: %+v", name, l)
			}
		}
	})
}
