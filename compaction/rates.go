package compaction

import "github.com/pleat-proxy/pleat/compaction/tokens"

// rates are what a model's requests cost beside their text.
type rates struct {
	tokens.Frame

	media tokens.Media
	name  string // tells one model's rates from another's
}

func ratesOf(model string) rates {
	frame, media := tokens.FrameOf(model), tokens.MediaOf(model)
	return rates{Frame: frame, media: media, name: frame.Name() + " " + media.Name()}
}
