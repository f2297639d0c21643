package tokens

import "testing"

// TestImageTokens holds the examples that the makers' pages work out, and bills
// that users of OpenAI's API reported (its forum, threads 1281361 and 1262691),
// less the text around the image.
func TestImageTokens(t *testing.T) {
	tests := []struct {
		model         string
		width, height int
		detail        string
		want          int
	}{
		{"gpt-4o", 1024, 1024, "high", 765},
		{"gpt-4o", 1024, 1024, "", 765},
		{"gpt-4o", 2048, 4096, "high", 1105},
		{"gpt-4o", 4096, 8192, "low", 85},
		{"gpt-4o", 128, 64, "high", 255},
		{"gpt-4o", 0, 0, "auto", 765},
		{"openai/gpt-4.1", 2049, 513, "", 85 + 8*170},
		{"gpt-4.1-2025-04-14", 2050, 513, "", 85 + 4*170},
		{"gpt-4-turbo", 800, 400, "", 425},
		{"gpt-4o-mini", 128, 64, "low", 2833},
		{"gpt-4o-mini-2024-07-18", 128, 64, "high", 8500},
		{"gpt-5", 1024, 1024, "high", 70 + 4*140},
		{"gpt-5-chat-latest", 1024, 1024, "low", 70},
		{"o1", 1024, 1024, "", 75 + 4*150},
		{"o3-2025-04-16", 128, 64, "high", 225},
		{"computer-use-preview", 512, 512, "", 65 + 129},
		{"gpt-4.1-mini", 1024, 1024, "", 1659}, // 1024 · 1.62, rounded up
		{"gpt-4.1-mini", 1800, 2400, "", 2353}, // 1452 · 1.62
		{"gpt-4.1-mini", 128, 64, "low", 13},
		{"gpt-4.1-nano", 1800, 2400, "", 3572},
		{"gpt-4.1-nano", 128, 64, "high", 20},
		{"o4-mini", 1024, 1024, "", 1762},
		{"o4-mini", 1024, 1024, "low", 441},
		{"gpt-5-mini", 1024, 1024, "", 1659},
		{"gpt-5.4-nano", 1024, 1024, "", 2520},
		{"gpt-5.4", 1024, 1024, "", 1024},
		{"gpt-5.4", 4096, 4096, "", 2500},
		{"gpt-5.4", 3200, 3200, "original", 10_000},
		{"gpt-5.5", 3200, 3200, "", 10_000},
		{"gpt-5.6-sol", 6400, 6400, "", 40_000},
		{"claude-sonnet-4-5", 200, 200, "", 54},
		{"anthropic/claude-3.7-sonnet", 1000, 1000, "", 1334},
		{"claude-opus-4", 1092, 1092, "", 1590},
		{"claude-opus-4", 8000, 6000, "", 1600},
		{"gemini-2.5-pro", 384, 384, "", 258},
		{"google/gemini-2.0-flash", 1536, 769, "", 4 * 258},
		{"qwen2.5-vl", 1024, 1024, "", 765}, // no rule of its own
	}
	for _, test := range tests {
		if got := MediaOf(test.model).Image(test.width, test.height, test.detail); got != test.want {
			t.Errorf("%s, %d by %d, %q: %d tokens, want %d", test.model, test.width, test.height, test.detail, got, test.want)
		}
	}
}

// TestImageTokensAreBounded: sizes that a header may state and no image has.
func TestImageTokensAreBounded(t *testing.T) {
	for _, m := range makers() {
		for _, size := range [][2]int{{1, 1}, {1, 1<<31 - 1}, {1<<31 - 1, 1}, {1<<31 - 1, 1<<31 - 1}, {-5, 7}} {
			for _, detail := range []string{"", "low", "high", "original", "nonsense"} {
				if got := m.media.Image(size[0], size[1], detail); got < 1 || got > maxImageTokens {
					t.Errorf("%s: %v %q: %d tokens", m.glob, size, detail, got)
				}
			}
		}
	}
	if got := (Media{}).Image(10, 10, ""); got != 0 {
		t.Errorf("the zero value: %d", got)
	}
}

func TestAudioTokens(t *testing.T) {
	for model, want := range map[string]int{"gpt-4o-audio-preview": 10, "gemini-2.5-flash": 32, "unknown": 10} {
		if got := MediaOf(model).AudioSecond(); got != want {
			t.Errorf("%s: %d tokens a second, want %d", model, got, want)
		}
	}
}

func TestFrameOf(t *testing.T) {
	for model, want := range map[string]struct {
		types bool
		reply int
	}{
		"gpt-4":                    {true, 3},
		"azure/gpt-4o-2024-08-06":  {true, 3},
		"o3-mini":                  {true, 2},
		"openai/gpt-5.4":           {true, 2},
		"openai/gpt-oss-120b":      {true, 3},
		"claude-sonnet-4-5":        {false, 3},
		"meta-llama/llama-3.3-70b": {false, 3},
		"":                         {false, 3},
		"gpt-4all-something-else":  {false, 3},
	} {
		if got := FrameOf(model); got.Types != want.types || got.Reply != want.reply {
			t.Errorf("%q: %+v, want %+v", model, got, want)
		}
	}
}
