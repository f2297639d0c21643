package tokens

import (
	"strings"

	"github.com/tidwall/match"
)

// Frame is what stands around the text of a request to a model, in tokens, beside
// MessageOverhead and NameOverhead, which hold for all.
//
// OpenAI publishes the frame of its older models (cookbook, "How to count tokens
// with tiktoken": the examples with 129 and 124 tokens of messages, 105 and 101
// with a tool) and the format of gpt-oss ("OpenAI harmony response format"). What
// it does not publish is taken from usage that the API stated: by the tests of
// hmarr/openai-chat-tokens for calls and results in the old form, by recorded
// exchanges for the rest.
type Frame struct {
	name string

	Types bool // functions are shown as TypeScript types, a schema under a heading; else both as JSON

	Reply     int // the opening of the reply
	Preamble  int // what the server puts before all messages
	Assistant int // more of an assistant's message: the channel that it went to
	Call      int // of each call: to whom it is addressed
	Result    int // more of a tool's message: whose it is
	Function  int // more of a function's message, the old form of the same

	// Around the declarations of functions. They go into the first system
	// message, which then ends in a line break of its own; if there is none, one
	// is made for them.
	Tools      int // without a system message
	ToolsAfter int // with one
}

// frameOf says which models have a frame.
type frameOf struct {
	glob  string
	frame Frame
}

// frames are those of OpenAI's models by bare name; the first match wins.
func frames() []frameOf {
	chat := Frame{Types: true, Reply: ReplyPriming, Call: 3, Result: 4, Function: -2, Tools: 9, ToolsAfter: 5}

	omni := chat
	omni.Tools = 7

	reasoning := chat
	reasoning.Reply, reasoning.Assistant, reasoning.ToolsAfter = 2, 2, 9

	five := reasoning
	five.Call, five.Tools, five.ToolsAfter = 6, 89, 90

	open := chat
	open.Preamble, open.Assistant, open.Tools, open.ToolsAfter = 64, 2, 23, 19

	return []frameOf{
		{"gpt-oss*", open},
		{"gpt-5*", five},
		{"codex-mini*", reasoning},
		{"o1", reasoning},
		{"o1-*", reasoning},
		{"o3", reasoning},
		{"o3-*", reasoning},
		{"o4-*", reasoning},
		{"gpt-4o*", omni},
		{"chatgpt-4o*", omni},
		{"gpt-4.*", omni},
		{"*", chat},
	}
}

// Name tells one frame from another.
func (f Frame) Name() string { return f.name }

// FrameOf returns the frame of a model, as the client names it. What another
// maker's server puts around the text is not known, but that it shows tools as
// JSON in most cases; calibration learns what that comes to.
func FrameOf(model string) Frame {
	bare := bareName(strings.ToLower(model))
	for _, family := range families() {
		if !match.Match(bare, family.Glob) {
			continue
		}
		for _, f := range frames() {
			if match.Match(bare, f.glob) {
				f.frame.name = f.glob
				return f.frame
			}
		}
	}
	return Frame{Reply: ReplyPriming}
}
