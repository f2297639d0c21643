package proxy

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pleat-proxy/pleat/compaction"
)

// calibrations shows what a compactor has learned of its upstreams' tokenizers
// at the moment of the scrape, so that what it has forgotten is gone from the
// metrics too.
type calibrations struct {
	source func() []compaction.Calibration
	ratio  *prometheus.Desc
}

// maxCalibrations bounds the series: those of the first so many upstreams and
// models by name.
const maxCalibrations = 100

// NewCalibrations is a collector of pleat_calibration_ratio{upstream,model}:
// tokens that the upstream counts for one that Pleat counts, for models whose own
// tokenizer is not at hand. At most 100 series.
func NewCalibrations(source func() []compaction.Calibration) prometheus.Collector {
	return &calibrations{source: source, ratio: prometheus.NewDesc("pleat_calibration_ratio",
		"Tokens that an upstream counts for one that Pleat counts, where Pleat can only estimate.",
		[]string{"upstream", "model"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *calibrations) Describe(descs chan<- *prometheus.Desc) { descs <- c.ratio }

// Collect implements prometheus.Collector.
func (c *calibrations) Collect(metrics chan<- prometheus.Metric) {
	sent := 0
	for _, k := range c.source() {
		if k.Ratio == 0 {
			continue // not known yet
		}
		if sent++; sent > maxCalibrations {
			return
		}
		metrics <- prometheus.MustNewConstMetric(c.ratio, prometheus.GaugeValue, k.Ratio,
			headerSafe(k.Upstream), headerSafe(k.Model))
	}
}
