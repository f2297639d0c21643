package compaction

import (
	"cmp"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Calibration is how many tokens an upstream counts for one that Pleat counts,
// for a model whose own tokenizer is not at hand.
type Calibration struct {
	Upstream string  `json:"upstream"` // host, and port if it is not the scheme's
	Model    string  `json:"model"`    // as clients name it
	Ratio    float64 `json:"ratio"`    // what counts are multiplied by; 0: not known yet
	Samples  int     `json:"samples"`  // how many responses it rests on
}

// calibration learns from the usage that responses state what Pleat's estimates
// have to be multiplied by. It is kept in memory and bounded; a process that
// starts anew estimates without it until a few responses have come.
//
// What upstreams state is not always the length of the prompt. llama.cpp and
// Ollama have stated the tokens alone that were not in their cache, Ollama cuts
// a prompt to its window without a word, some state nothing. Such figures are
// too low, none is too high: so one far below the others is not believed, and
// where there are such, the highest that agree are.
type calibration struct {
	mu     sync.Mutex
	models *lru.Cache[calibrated, *ratio]
}

type calibrated struct{ upstream, model string }

// ratio is what is known of one model of an upstream.
type ratio struct {
	samples []float64 // the last ones believed, oldest first
	value   float64   // 0: not known yet
	shrinks bool      // figures far too low were seen
	doubted int       // in a row, since the last that was believed
}

const (
	calibratedModels = 512
	calibratedName   = 128 // bytes of a model's name; a longer one is not remembered

	ratioSamples = 16
	ratioAgree   = 3    // samples that have to agree
	ratioNear    = 0.87 // of a sample: what agrees with it
	ratioFar     = 0.8  // of the ratio: what is below is doubted
	ratioDoubts  = 64   // in a row: the model has changed, all is forgotten
	ratioLeast   = 0.5  // what is below is never believed
	ratioMost    = 4    // what is above counts as that; CJK and code in foreign tokenizers reach it
	ratioTokens  = 256  // a shorter request says more of the frame around it than of text
)

func newCalibration() *calibration {
	// lru.New fails only for a size that is not positive.
	models, _ := lru.New[calibrated, *ratio](calibratedModels)
	return &calibration{models: models}
}

// calibratedOf says whose ratio holds for a request.
func calibratedOf(req Request, model string) calibrated {
	k := calibrated{model: model}
	if req.Caller.URL != nil {
		k.upstream = req.Caller.URL.Host
	}
	return k
}

// factor is what to multiply an estimate by: 1 as long as nothing is known.
func (c *calibration) factor(k calibrated) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.models.Get(k); ok && r.value > 0 {
		return r.value
	}
	return 1
}

// learn takes what an upstream stated for a request that Pleat, without any
// calibration, counted so many tokens for.
func (c *calibration) learn(k calibrated, counted float64, u Usage) {
	prompt := u.Prompt
	if u.Cached > u.Prompt { // as Anthropic counts: the cached tokens stand beside the others
		prompt += u.Cached
	}
	if prompt <= 0 || counted < ratioTokens || len(k.model) > calibratedName {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.models.Get(k)
	if !ok {
		r = &ratio{}
		c.models.Add(k, r)
	}
	r.add(float64(prompt)/counted, fillsWindow(prompt))
}

// fillsWindow says that a prompt may have been cut to a window: it fills a power
// of two from 1,024 on to nine tenths or more.
func fillsWindow(prompt int) bool {
	window := 1024
	for window < prompt {
		window *= 2
	}
	return prompt*10 >= window*9
}

// add takes a sample; full says that it may be of a prompt that was cut.
func (r *ratio) add(sample float64, full bool) {
	low := sample < ratioLeast || sample < ratioFar*r.value || full && sample < ratioFar
	if low {
		r.shrinks = true
		if r.doubted++; r.doubted == ratioDoubts && r.value > 0 {
			*r = ratio{}
		}
		return
	}
	r.doubted = 0
	if len(r.samples) == ratioSamples {
		r.samples = append(r.samples[:0], r.samples[1:]...)
	}
	r.samples = append(r.samples, min(sample, ratioMost))
	r.settle()
}

// settle draws the ratio from the samples, if enough of them agree.
func (r *ratio) settle() {
	sorted := slices.Sorted(slices.Values(r.samples))
	if !r.shrinks {
		m := median(sorted)
		if near := between(sorted, ratioNear*m, m/ratioNear); len(near) >= ratioAgree && 2*len(near) > len(sorted) {
			r.value = median(near)
		}
		return
	}
	for _, top := range slices.Backward(sorted) {
		if near := between(sorted, ratioNear*top, top); len(near) >= ratioAgree {
			r.value = max(1, median(near)) // less would be the cache's doing
			return
		}
	}
}

// between are the sorted numbers from ≤ x ≤ to.
func between(sorted []float64, from, to float64) []float64 {
	i, _ := slices.BinarySearch(sorted, from)
	j, exact := slices.BinarySearch(sorted, to)
	for exact && j < len(sorted) && sorted[j] == to {
		j++
	}
	return sorted[i:j]
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Calibrations are what has been learned so far, by upstream and model.
func (c *Compactor) Calibrations() []Calibration {
	c.calibration.mu.Lock()
	defer c.calibration.mu.Unlock()
	out := make([]Calibration, 0, c.calibration.models.Len())
	for _, k := range c.calibration.models.Keys() {
		if r, ok := c.calibration.models.Peek(k); ok {
			out = append(out, Calibration{k.upstream, k.model, r.value, len(r.samples)})
		}
	}
	slices.SortFunc(out, func(a, b Calibration) int {
		return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Model, b.Model))
	})
	return out
}
