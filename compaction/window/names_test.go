package window

import (
	"strings"
	"testing"
)

// TestNames: names as people write them, against the built-in catalogue alone.
func TestNames(t *testing.T) {
	tests := []struct {
		model        string
		input, total int
	}{
		{"gpt-4o", 128_000, 128_000},
		{"GPT-4o", 128_000, 128_000},
		{" gpt-4o ", 128_000, 128_000},
		{"gpt-4o-2024-08-06", 128_000, 128_000},
		{"gpt-4o-20240806", 128_000, 128_000},
		{"gpt-4o-latest", 128_000, 128_000},
		{"chatgpt-4o-latest", 128_000, 128_000},
		{"openai/gpt-4o", 128_000, 128_000},
		{"azure/gpt-4o", 128_000, 128_000},
		{"openrouter/openai/gpt-4o", 128_000, 128_000},
		{"gpt-4o-mini-2024-07-18", 128_000, 128_000},
		{"ft:gpt-4o-mini-2024-07-18:acme::abc123", 128_000, 128_000},
		{"openai/ft:gpt-4o:acme:suffix:abc123", 128_000, 128_000},
		{"gpt-4.1", 1_047_576, 1_047_576},
		{"gpt-4.1-mini-2025-04-14", 1_047_576, 1_047_576},
		{"gpt-4", 8_192, 8_192},
		{"gpt-4-0613", 8_192, 8_192},
		{"gpt-4-32k-0613", 32_768, 32_768},
		{"gpt-4-turbo-2024-04-09", 128_000, 128_000},
		{"gpt-4-1106-preview", 128_000, 128_000},
		{"gpt-3.5-turbo", 16_385, 16_385},
		{"gpt-3.5-turbo-0125", 16_385, 16_385},
		{"gpt-3.5-turbo-0613", 4_096, 4_096},
		{"gpt-35-turbo", 16_385, 16_385},
		{"gpt-5", 272_000, 400_000},
		{"gpt-5-2025-08-07", 272_000, 400_000},
		{"openai/gpt-5-mini", 272_000, 400_000},
		{"gpt-5.1-codex", 272_000, 400_000},
		{"gpt-5.2", 272_000, 400_000},
		{"gpt-5-chat-latest", 128_000, 128_000},
		{"openai/gpt-5-chat", 128_000, 128_000},
		{"gpt-5.4", 1_050_000, 1_050_000},
		{"o1", 200_000, 200_000},
		{"o1-mini-2024-09-12", 128_000, 128_000},
		{"o3", 200_000, 200_000},
		{"o3-mini-2025-01-31", 200_000, 200_000},
		{"o4-mini", 200_000, 200_000},
		{"claude-sonnet-4-5", 200_000, 200_000},
		{"claude-sonnet-4-5-20250929", 200_000, 200_000},
		{"claude-sonnet-4.5", 200_000, 200_000},
		{"anthropic/claude-sonnet-4.5", 200_000, 200_000},
		{"openrouter/anthropic/claude-opus-4.1", 200_000, 200_000},
		{"claude-opus-4-20250514", 200_000, 200_000},
		{"claude-3-5-sonnet-20241022", 200_000, 200_000},
		{"claude-3-5-sonnet-latest", 200_000, 200_000},
		{"claude-3-5-sonnet@20240620", 200_000, 200_000},
		{"anthropic.claude-3-haiku-20240307-v1:0", 200_000, 200_000},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 200_000},
		{"bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000, 200_000},
		{"gemini-2.5-pro", 1_048_576, 1_048_576},
		{"google/gemini-2.5-flash", 1_048_576, 1_048_576},
		{"gemini-2.0-flash-001", 1_048_576, 1_048_576},
		{"models/gemini-1.5-pro-latest", 2_097_152, 2_097_152},
		{"deepseek/deepseek-v4-pro", 1_000_000, 1_000_000},
		{"moonshot-v1-8k", 8_192, 8_192},
		{"zai-org/GLM-4.6", 204_800, 204_800},
		{"grok-4.3", 200_000, 200_000},
		{"MiniMax-M2", 196_608, 196_608},
		{"mistral-large-2402", 32_000, 32_000},
		{"mistralai/mistral-nemo", 128_000, 128_000},
		{"codestral-2508", 256_000, 256_000},
		{"command-r-08-2024", 128_000, 128_000},

		// Azure, gateways and routes.
		{"azure/gpt-4.1", 1_047_576, 1_047_576},
		{"azure/eu/gpt-4o-2024-08-06", 128_000, 128_000},
		{"openai/gpt-4o:extended", 128_000, 128_000},
		{"openrouter/openai/o3-mini", 200_000, 200_000},
		{"gpt-35-turbo-16k", 16_385, 16_385},
		{"openai/gpt-oss-20b:free", 131_072, 131_072},
		{"gpt-oss:20b", 131_072, 131_072},
		{"gpt-oss:120b-cloud", 131_072, 131_072},
		{"openai.gpt-oss-120b-1:0", 131_072, 131_072},
		{"anthropic/claude-3.7-sonnet:thinking", 200_000, 200_000},
		{"anthropic/claude-3.5-haiku:beta", 200_000, 200_000},
		{"x-ai/grok-4-fast:free", 2_000_000, 2_000_000},
		{"xai/grok-3-mini", 131_072, 131_072},
		{"deepseek/deepseek-chat-v3.1:free", 163_840, 163_840},
		{"deepseek-chat", 131_072, 131_072},
		{"z-ai/glm-4.5-air:free", 131_072, 131_072},
		{"minimax/minimax-m2:free", 196_608, 196_608},
		{"minimax-m2:cloud", 196_608, 196_608},
		{"perplexity/sonar-pro", 200_000, 200_000},
		{"cohere/command-r-plus", 128_000, 128_000},
		{"mistral-small-latest", 131_072, 131_072},

		// Bedrock and Vertex.
		{"global.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 200_000},
		{"apac.anthropic.claude-3-5-sonnet-20241022-v2:0", 200_000, 200_000},
		{"us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0", 200_000, 200_000},
		{"anthropic.claude-3-haiku-20240307-v1:0:200k", 200_000, 200_000},
		{"bedrock/converse/us.anthropic.claude-opus-4-1-20250805-v1:0", 200_000, 200_000},
		{"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0", 200_000, 200_000},
		{"meta.llama3-1-70b-instruct-v1:0", 131_072, 131_072},
		{"us.meta.llama3-3-70b-instruct-v1:0", 131_072, 131_072},
		{"us.amazon.nova-lite-v1:0", 300_000, 300_000},
		{"us.deepseek.r1-v1:0", 64_000, 64_000},
		{"mistral.mistral-large-2402-v1:0", 32_000, 32_000},
		{"vertex_ai/claude-sonnet-4@20250514", 200_000, 200_000},
		{"vertex_ai/claude-opus-4-5@default", 200_000, 200_000},
		{"vertex_ai/gemini-2.0-flash-001", 1_048_576, 1_048_576},
		{"models/gemini-2.5-flash-preview-09-2025", 1_048_576, 1_048_576},

		// Open weights: Ollama, Hugging Face, files, and who serves them.
		{"llama3.1", 131_072, 131_072},
		{"llama3.1:8b", 131_072, 131_072},
		{"llama3.1:latest", 131_072, 131_072},
		{"llama3.1:8b-instruct-q4_K_M", 131_072, 131_072},
		{"llama3.2:3b-instruct-fp16", 131_072, 131_072},
		{"llama3:8b-instruct-q8_0", 8_192, 8_192},
		{"meta-llama/Meta-Llama-3-8B-Instruct", 8_192, 8_192},
		{"meta-llama/Llama-3.1-8B-Instruct", 131_072, 131_072},
		{"meta-llama/Meta-Llama-3.1-70B-Instruct", 131_072, 131_072},
		{"Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", 131_072, 131_072},
		{"bartowski/Llama-3.2-3B-Instruct-GGUF", 131_072, 131_072},
		{"unsloth/Llama-3.3-70B-Instruct-bnb-4bit", 131_072, 131_072},
		{"hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", 131_072, 131_072},
		{"neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8", 131_072, 131_072},
		{"accounts/fireworks/models/llama-v3p1-8b-instruct", 131_072, 131_072},
		{"groq/llama-3.3-70b-versatile", 131_072, 131_072},
		{"qwen2.5:7b", 32_768, 32_768},
		{"Qwen/Qwen2.5-72B-Instruct", 32_768, 32_768},
		{"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", 32_768, 32_768},
		{"qwen2.5-coder:32b-instruct-q4_K_M", 32_768, 32_768},
		{"qwen3:32b", 40_960, 40_960},
		{"qwen3-coder:480b-cloud", 262_144, 262_144},
		{"gemma3:27b-it-qat", 131_072, 131_072},
		{"gemma2:9b", 8_192, 8_192},
		{"google/gemma-3-27b-it:free", 131_072, 131_072},
		{"mistral:7b-instruct-v0.3-q4_0", 32_768, 32_768},
		{"mistralai/Mistral-7B-Instruct-v0.3", 32_768, 32_768},
		{"mixtral:8x7b-instruct-v0.1-q4_K_M", 32_768, 32_768},
		{"microsoft/phi-4", 16_384, 16_384},
		{"deepseek-r1:8b", 131_072, 131_072},
		{"accounts/fireworks/models/qwen3p7-plus", 262_144, 262_144},
	}
	if len(tests) < 80 {
		t.Fatalf("%d names", len(tests))
	}
	r := resolver(t)
	for _, tt := range tests {
		for range 2 { // found, then cached
			l := r.Lookup(tt.model)
			if l.Input != tt.input || l.Total != tt.total || l.Source != SourceCatalogue || !l.Known() {
				t.Errorf("Lookup(%q) = %+v, want input %d, total %d", tt.model, l, tt.input, tt.total)
			}
			if l.Output < 0 || l.Output > l.Total {
				t.Errorf("Lookup(%q): output %d of %d", tt.model, l.Output, l.Total)
			}
		}
	}
}

func TestUnknownModels(t *testing.T) {
	r := resolver(t)
	for _, model := range []string{
		"", "/", "ft:", ":", "gpt", "gpt-4o-imaginary", "my-gpt-4o", "gpt-40", "llama", "default",
		"gpt-4o-miniature", "claude", "llama3.1:1000b", "qwen", "q4_0", "-gguf", ":8b", "us.", "anthropic.", "prod-eu", "v1:0",
		strings.Repeat("gpt-4o/", 100) + "gpt-4o",
	} {
		if l := r.Lookup(model); l != (Limits{}) || l.Known() {
			t.Errorf("Lookup(%.40q) = %+v, want nothing", model, l)
		}
	}
}
