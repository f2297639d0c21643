package tokens

import (
	"math"
	"strings"

	"github.com/tidwall/match"
)

// Media is what it costs a model to see and to hear, by the rule that its maker
// states. The zero value costs nothing; MediaOf makes the others.
type Media struct {
	name  string
	image imageRule
	audio int // tokens a second
}

// imageRule is one way to turn an image's size into tokens.
type imageRule interface {
	tokens(width, height float64, detail string) int
}

// mediaOf says whose rule holds for the models that a glob matches.
type mediaOf struct {
	glob  string
	media Media
}

// Tokens for a second of sound: OpenAI, "Managing costs" of the Realtime API (a
// token for 100 ms of what a user says); Google, "Understand and count tokens".
const (
	audioOpenAI = 10
	audioGoogle = 32
)

// makers are the rules by a model's bare name; the first match wins. Those of
// OpenAI are from "Images and vision", section "Calculating costs", those of the
// others from Anthropic, "Vision", and Google, "Understand and count tokens".
//
// OpenAI's own price calculator, and users who measured it, have gpt-5-mini at
// 1.2 and gpt-5-nano at 1.5 tokens a patch; the documented factors are kept, so
// that an image is never counted for less than it costs.
func makers() []mediaOf {
	rule := func(r imageRule, audio int) Media { return Media{image: r, audio: audio} }
	patches := func(factor float64) Media {
		return rule(patchRule{factor: factor, high: bounds{1536, 2048}, original: bounds{1536, 2048}}, audioOpenAI)
	}
	large := patchRule{factor: 1, high: bounds{2500, 2048}, original: bounds{10_000, 6000}}
	larger := large
	larger.auto = "original"
	whole := larger
	whole.original = bounds{}
	tiles := func(base, tile int) Media { return rule(tileRule{base, tile}, audioOpenAI) }
	return []mediaOf{
		{"gpt-4o-mini*", tiles(2833, 5667)},
		{"gpt-4.1-mini*", patches(1.62)},
		{"gpt-4.1-nano*", patches(2.46)},
		{"o4-mini*", patches(1.72)},
		{"gpt-5*-mini*", patches(1.62)},
		{"gpt-5*-nano*", patches(2.46)},
		{"gpt-5.4*", rule(large, audioOpenAI)},
		{"gpt-5.5*", rule(larger, audioOpenAI)},
		{"gpt-5.6*", rule(whole, audioOpenAI)},
		{"gpt-5*codex*", patches(1)},
		{"gpt-5.2*", patches(1)},
		{"gpt-5*", tiles(70, 140)},
		{"o1*", tiles(75, 150)},
		{"o3*", tiles(75, 150)},
		{"computer-use-preview*", tiles(65, 129)},
		{"*claude*", rule(areaRule{}, audioOpenAI)},
		{"*gemini*", rule(squareRule{}, audioGoogle)},
		{"*", tiles(85, 170)},
	}
}

// MediaOf returns the rule for a model, as the client names it: that of gpt-4o
// where its maker's is not known.
func MediaOf(model string) Media {
	bare := bareName(strings.ToLower(model))
	for _, m := range makers() {
		if match.Match(bare, m.glob) {
			m.media.name = m.glob
			return m.media
		}
	}
	return Media{}
}

// Name tells one rule from another.
func (m Media) Name() string { return m.name }

// Image is the tokens of an image of that size in pixels. The detail is "low",
// "high", "original", "auto" or empty (auto). An image whose size is not known
// (0) counts as one of 1024 by 1024.
func (m Media) Image(width, height int, detail string) int {
	if m.image == nil {
		return 0
	}
	if width <= 0 || height <= 0 {
		width, height = 1024, 1024
	}
	return min(m.image.tokens(float64(width), float64(height), detail), maxImageTokens)
}

// maxImageTokens bounds what a header may claim: more than any window holds.
const maxImageTokens = 10_000_000

// AudioSecond is the tokens of a second of sound.
func (m Media) AudioSecond() int { return m.audio }

// fit scales a size down, never up, until its longer side is at most so long.
func fit(width, height, longest float64) (w, h float64) {
	if over := max(width, height) / longest; over > 1 {
		return max(1, math.Round(width/over)), max(1, math.Round(height/over))
	}
	return width, height
}

// tileRule: shrink to 2048 by 2048, then until the shorter side is 768, and pay
// for each tile of 512 by 512 and once for the whole; low detail pays for the
// whole alone. Sides are rounded to the nearest pixel, as bills show: 2049 by
// 513 makes eight tiles, 2050 by 513 four.
type tileRule struct{ base, tile int }

func (r tileRule) tokens(width, height float64, detail string) int {
	if detail == "low" {
		return r.base
	}
	width, height = fit(width, height, 2048)
	if over := min(width, height) / 768; over > 1 {
		width, height = math.Round(width/over), math.Round(height/over)
	}
	return r.base + r.tile*squares(width, height, 512)
}

// bounds are the patches and the longest side, in pixels, that an image is
// shrunk to; zero: it is not.
type bounds struct {
	patches float64
	side    float64
}

// patchRule: pay for each patch of 32 by 32, times a factor. A larger image than
// its bounds allow is shrunk, and then a little more, so that whole patches
// cover one of its sides. In low detail an image is shrunk to 512 by 512.
type patchRule struct {
	factor         float64
	auto           string // the detail that auto means, if not high
	high, original bounds
}

const patch = 32 // pixels

func (r patchRule) tokens(width, height float64, detail string) int {
	if detail == "" || detail == "auto" {
		detail = r.auto
	}
	b := r.high
	switch detail {
	case "low":
		width, height = fit(width, height, 512)
	case "original":
		b = r.original
	}
	if b.side > 0 {
		width, height = fit(width, height, b.side)
	}
	if n := squares(width, height, patch); b.patches > 0 && float64(n) > b.patches {
		scale := math.Sqrt(patch * patch * b.patches / (width * height))
		across, down := width*scale/patch, height*scale/patch
		scale *= min(math.Floor(across)/across, math.Floor(down)/down)
		width, height = math.Floor(width*scale+tiny), math.Floor(height*scale+tiny)
	}
	return int(math.Ceil(float64(squares(width, height, patch))*r.factor - tiny))
}

// tiny keeps what is whole but for the rounding of floating point whole.
const tiny = 1e-6

// squares is how many squares of that side cover an area.
func squares(width, height, side float64) int {
	return max(1, int(math.Ceil(width/side))) * max(1, int(math.Ceil(height/side)))
}

// areaRule: shrink until the longer side is 1568, and pay for each 750 pixels,
// about 1,600 tokens at the most.
type areaRule struct{}

func (areaRule) tokens(width, height float64, _ string) int {
	width, height = fit(width, height, 1568)
	return int(min(math.Ceil(width*height/750), 1600))
}

// squareRule: pay 258 for an image of at most 384 by 384, else for each tile of
// 768 by 768.
type squareRule struct{}

func (squareRule) tokens(width, height float64, _ string) int {
	if width <= 384 && height <= 384 {
		return 258
	}
	return 258 * squares(width, height, 768)
}
