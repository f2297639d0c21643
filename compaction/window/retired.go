package window

// The gpt-5 family reads 272,000 tokens of its window of 400,000; the rest is
// for the reply alone (OpenAI's model pages, and its error "Input tokens exceed
// the configured limit of 272000 tokens").
const (
	gpt5Total = 400_000
	gpt5Input = 272_000
)

// retired are models that people still name and that the catalogue's makers no
// longer list, in tokens as their makers' model pages had them. Without these a
// reseller's figure would stand, and it may be another model's (one calls a
// 32k deployment "gpt-4"). A name that stands for the newest release has what the
// smallest of the latest releases had.
func retired() []statedModel {
	return []statedModel{
		{"gpt-3.5-turbo", 16_385, 4_096},
		{"gpt-3.5-turbo-16k", 16_385, 4_096},
		{"gpt-3.5-turbo-0301", 4_096, 4_096},
		{"gpt-3.5-turbo-0613", 4_096, 4_096},
		{"gpt-4", 8_192, 8_192},
		{"gpt-4-32k", 32_768, 8_192},
		{"gpt-4-turbo", 128_000, 4_096},
		{"gpt-4-turbo-preview", 128_000, 4_096},
		{"gpt-4-0125-preview", 128_000, 4_096},
		{"gpt-4-1106-preview", 128_000, 4_096},
		{"gpt-4-vision-preview", 128_000, 4_096},
		{"chatgpt-4o-latest", 128_000, 16_384},
		{"gpt-5-chat-latest", 128_000, 16_384},
		{"gpt-5-chat", 128_000, 16_384},
		{"o1", 200_000, 100_000},
		{"o1-pro", 200_000, 100_000},
		{"o1-mini", 128_000, 65_536},
		{"o1-preview", 128_000, 32_768},
		{"claude-3-haiku", 200_000, 4_096},
		{"claude-3-sonnet", 200_000, 4_096},
		{"claude-3-opus", 200_000, 4_096},
		{"claude-3-5-haiku", 200_000, 8_192},
		{"claude-3-5-sonnet", 200_000, 8_192},
		{"claude-3-7-sonnet", 200_000, 64_000},
		{"gemini-1.5-flash", 1_048_576, 8_192},
		{"gemini-1.5-pro", 2_097_152, 8_192},
		{"gemini-2.0-flash", 1_048_576, 8_192},
		{"gemini-2.0-flash-lite", 1_048_576, 8_192},
		{"deepseek-chat", 131_072, 8_192},
		{"deepseek-reasoner", 131_072, 65_536},
		{"grok-3", 131_072, 0},
		{"grok-3-mini", 131_072, 0},
		{"grok-4-fast", 2_000_000, 0},
		{"mistral-small-latest", 131_072, 0},
		{"mistral-medium-latest", 131_072, 0},
		{"mistral-large-latest", 131_072, 0},
		{"sonar", 128_000, 0},
		{"sonar-pro", 200_000, 8_000},
	}
}

// statedModel is a model's limits as its maker states them; output 0 is unsaid.
type statedModel struct {
	name          string
	total, output int
}
