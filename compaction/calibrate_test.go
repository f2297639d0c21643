package compaction

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

// denser is an upstream whose tokenizer needs 1.7 tokens where Pleat's needs one.
func denser(t *testing.T, cl *client) func(p *Plan) int {
	t.Helper()
	return func(p *Plan) int {
		t.Helper()
		m, err := Measure(p.Body, "", cl.c.opt.Tokens.For)
		if err != nil {
			t.Fatal(err)
		}
		return int(math.Round(1.7 * float64(m.Tokens)))
	}
}

// checkEstimate: the plan says what the upstream counts, within 5 %.
func checkEstimate(t *testing.T, p *Plan, truth int) {
	t.Helper()
	if off := math.Abs(float64(p.TokensSent)/float64(truth) - 1); off > 0.05 || !p.Estimated {
		t.Errorf("%s: %d tokens estimated, the upstream counts %d: off by %.1f %%", p.Status, p.TokensSent, truth, 100*off)
	}
}

// TestCalibration: Show 5, and lessons 135, 136 and 254. A few turns teach how an
// upstream counts; what it states of a warm cache, of a prompt that it cut, or
// not at all does not.
func TestCalibration(t *testing.T) {
	disturbances := map[string]func(turn int, truth int) Usage{
		"none": func(_, truth int) Usage { return Usage{Prompt: truth} },
		"zero": func(turn, truth int) Usage { return Usage{Prompt: truth * (turn % 2)} },
		"a warm cache": func(turn, truth int) Usage {
			return Usage{Prompt: []int{truth, truth / 9, truth / 2, truth / 3}[turn%4]}
		},
		"a cold start":  func(turn, truth int) Usage { return Usage{Prompt: truth / max(1, (12-2*turn))} },
		"cut prompts":   func(turn, truth int) Usage { return Usage{Prompt: []int{truth, min(truth, 2040)}[turn%2]} },
		"outliers":      func(turn, truth int) Usage { return Usage{Prompt: truth * []int{1, 1, 1, 5}[turn%4]} },
		"cached beside": func(_, truth int) Usage { return Usage{Prompt: truth / 10, Cached: truth - truth/10} },
	}
	for name, disturb := range disturbances {
		t.Run(name, func(t *testing.T) {
			cl := newClient(t, &writer{}, nil)
			cl.model = "house-model-1"
			truth, turn := denser(t, cl), 0
			cl.usage = func(p *Plan) Usage { turn++; return disturb(turn-1, truth(p)) }
			const turns = 16
			folded := false
			for n := 4; n < 4+turns; n++ {
				p, _ := cl.turn(append(talk("c", n), msg{"user", "And then?"}))
				folded = folded || p.Status == Folded
				if n >= 14 {
					checkEstimate(t, p, truth(p))
				}
			}
			if !folded {
				t.Error("no request was folded")
			}
			got := cl.c.Calibrations()
			if len(got) != 1 || got[0].Upstream != "upstream.test" || got[0].Model != "house-model-1" || got[0].Samples == 0 ||
				math.Abs(got[0].Ratio/1.7-1) > 0.05 {
				t.Errorf("calibrations %+v", got)
			}
		})
	}
}

// TestCalibrationMovesTheTrigger: a history that is short in Pleat's own tokens
// is folded once it is known to be long in the model's.
func TestCalibrationMovesTheTrigger(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	cl.model = "house-model-1"
	list := append(talk("t", 5), msg{"user", "And then?"})
	if p, _ := cl.turn(list); p.Status != Verbatim {
		t.Fatalf("%s at %d tokens", p.Status, p.TokensReceived)
	}
	truth := denser(t, cl)
	cl.usage = func(p *Plan) Usage { return Usage{Prompt: truth(p)} }
	for range 3 {
		cl.turn(list)
	}
	if p, _ := cl.turn(list); p.Status != Pending {
		t.Errorf("%s at %d tokens", p.Status, p.TokensReceived)
	}
}

// TestCalibrationMovesNoPrefix: the same fold is sent whatever was learned in
// between.
func TestCalibrationMovesNoPrefix(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	cl.model = "house-model-1"
	list := append(talk("p", 12), msg{"user", "And then?"})
	cl.turn(list)
	before, _ := cl.plan(list)
	if before.Status != Folded {
		t.Fatalf("%s", before.Status)
	}
	sent := bytes.Clone(before.Body)
	cl.usage = func(p *Plan) Usage { return Usage{Prompt: p.TokensSent * 3 / 2} }
	for range ratioAgree {
		cl.plan(list)
	}
	after, _ := cl.plan(list)
	if cl.c.Calibrations()[0].Ratio == 0 || !bytes.Equal(after.Body, sent) {
		t.Errorf("the body changed with the ratio: %+v", cl.c.Calibrations())
	}
}

// TestExactModelsAreNotCalibrated: what is counted by the model's own tokenizer
// is not doubted.
func TestExactModelsAreNotCalibrated(t *testing.T) {
	cl := newClient(t, &writer{}, nil)
	cl.usage = func(p *Plan) Usage { return Usage{Prompt: 3 * p.TokensSent} }
	for range 5 {
		cl.turn(append(talk("e", 4), msg{"user", "And then?"}))
	}
	if got := cl.c.Calibrations(); len(got) != 0 {
		t.Errorf("calibrations %+v", got)
	}
}

func TestRatio(t *testing.T) {
	tests := map[string]struct {
		samples []float64 // of requests of 1,000 tokens
		want    float64
	}{
		"none":                       {nil, 1},
		"too few":                    {[]float64{1.7, 1.7}, 1},
		"enough":                     {[]float64{1.7, 1.72, 1.68}, 1.7},
		"no agreement":               {[]float64{0.6, 1, 1.4, 2, 3}, 1},
		"fewer tokens":               {[]float64{0.8, 0.81, 0.79}, 0.8},
		"four times as many":         {[]float64{3.9, 3.9, 3.9}, 3.9}, // lesson 136
		"more than that":             {[]float64{30, 30, 30}, ratioMost},
		"a cache from the beginning": {[]float64{1.7, 0.2, 0.6, 0.55, 0.4, 1.7, 0.3, 0.1, 1.69}, 1.7},
		"a cache and little else":    {[]float64{0.2, 0.6, 0.6, 0.6, 0.3}, 1},
		"a cache later":              {[]float64{1.7, 1.7, 1.7, 0.9, 0.9, 0.9, 0.9, 0.9}, 1.7},
		"another tokenizer, upwards": {[]float64{1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 2},
	}
	for name, test := range tests {
		c, k := newCalibration(), calibrated{"u", "m"}
		for _, s := range test.samples {
			c.learn(k, 1000, Usage{Prompt: int(math.Round(1000 * s))})
		}
		if got := c.factor(k); math.Abs(got-test.want) > 0.011 {
			t.Errorf("%s: %.3f, want %.3f", name, got, test.want)
		}
	}
}

// TestRatioIsForgotten: a model that was replaced by one with another tokenizer
// is learned anew.
func TestRatioIsForgotten(t *testing.T) {
	c, k := newCalibration(), calibrated{"u", "m"}
	for range 5 {
		c.learn(k, 1000, Usage{Prompt: 2000})
	}
	for range ratioDoubts + ratioAgree {
		c.learn(k, 1000, Usage{Prompt: 1010})
	}
	if got := c.factor(k); math.Abs(got-1.01) > 0.001 {
		t.Errorf("%.3f", got)
	}
}

func TestCalibrationIsBounded(t *testing.T) {
	c := newCalibration()
	for i := range 3 * calibratedModels {
		for range 40 {
			c.learn(calibrated{"u", fmt.Sprint("model-", i)}, 1000, Usage{Prompt: 1500})
		}
	}
	c.learn(calibrated{"u", string(make([]byte, calibratedName+1))}, 1000, Usage{Prompt: 1500})
	c.learn(calibrated{"u", "tiny"}, ratioTokens-1, Usage{Prompt: 1500})
	if n := c.models.Len(); n != calibratedModels {
		t.Errorf("%d models", n)
	}
	if r, ok := c.models.Peek(calibrated{"u", fmt.Sprint("model-", 3*calibratedModels-1)}); !ok || len(r.samples) != ratioSamples {
		t.Errorf("%+v", r)
	}
}
