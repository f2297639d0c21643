package compaction

import "github.com/pleat-proxy/pleat/compaction/tokens"

// rates are what a model's requests cost beside their text.
type rates struct {
	tokens.Frame

	media tokens.Media
}

func ratesOf(model string) rates {
	return rates{Frame: tokens.FrameOf(model), media: tokens.MediaOf(model)}
}
