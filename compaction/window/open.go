package window

// openWeights are models whose weights anybody may serve and that the built-in
// catalogue's makers do not list, in tokens as their makers' model cards have
// them (max_position_embeddings, without extensions such as YaRN). A server may
// give them less; then its own word, or a rule, says so. The short names and
// those that end in a size are Ollama's.
func openWeights() []statedModel {
	const k = 1024
	var list []statedModel
	for _, family := range []struct {
		total int
		names []string
	}{
		{4 * k, []string{"phi-3-mini-4k-instruct"}},
		{8 * k, []string{
			"llama-3", "llama-3-8b-instruct", "llama-3-70b-instruct",
			"gemma-2", "gemma-2-2b-it", "gemma-2-9b-it", "gemma-2-27b-it",
		}},
		{16 * k, []string{"phi-4", "phi-4-14b"}},
		{32 * k, []string{
			"qwen-2.5", "qwen-2.5-7b-instruct", "qwen-2.5-14b-instruct", "qwen-2.5-32b-instruct", "qwen-2.5-72b-instruct",
			"qwen-2.5-coder", "qwen-2.5-coder-7b-instruct", "qwen-2.5-coder-14b-instruct", "qwen-2.5-coder-32b-instruct",
			"gemma-3-1b-it", "mistral-7b-instruct", "mistral-7b-instruct-v0.2", "mistral-7b-instruct-v0.3",
			"mixtral-8x7b-instruct", "mixtral-8x7b-instruct-v0.1",
		}},
		{40 * k, []string{"qwen-3", "qwen-3-4b", "qwen-3-8b", "qwen-3-14b", "qwen-3-30b", "qwen-3-32b"}},
		{64 * k, []string{"mixtral-8x22b-instruct", "mixtral-8x22b-instruct-v0.1"}},
		{128 * k, []string{
			"llama-3.1", "llama-3.1-8b-instruct", "llama-3.1-70b-instruct", "llama-3.1-405b-instruct",
			"llama-3.1-8b-instant", "llama-3.3-70b-versatile", // as Groq calls them
			"llama-3.2", "llama-3.2-1b-instruct", "llama-3.2-3b-instruct",
			"llama-3.2-11b-vision-instruct", "llama-3.2-90b-vision-instruct",
			"llama-3.3", "llama-3.3-70b-instruct",
			"gemma-3", "gemma-3-4b-it", "gemma-3-12b-it", "gemma-3-27b-it",
			"phi-3-mini-128k-instruct", "gpt-oss", "gpt-oss-20b", "gpt-oss-120b",
			"deepseek-r1-distill-llama-70b", "deepseek-r1-distill-qwen-32b",
			"deepseek-r1-7b", "deepseek-r1-8b", "deepseek-r1-14b", "deepseek-r1-32b", "deepseek-r1-70b",
		}},
		{256 * k, []string{"qwen-3-coder", "qwen-3-coder-30b", "qwen-3-coder-480b"}},
	} {
		for _, name := range family.names {
			list = append(list, statedModel{name: name, total: family.total})
		}
	}
	return list
}
