package proxy

import "github.com/prometheus/client_golang/prometheus"

// factory makes collectors under Pleat's namespace and registers them, if
// there is a registry.
type factory struct{ reg prometheus.Registerer }

func (f factory) register(c prometheus.Collector) {
	if f.reg != nil {
		f.reg.MustRegister(c)
	}
}

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "pleat", Name: name, Help: help}, labels)
	f.register(c)
	return c
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "pleat", Name: name, Help: help})
	f.register(g)
	return g
}

func (f factory) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Namespace: "pleat", Name: name, Help: help, Buckets: buckets}
	h := prometheus.NewHistogramVec(opts, labels)
	f.register(h)
	return h
}

func (f factory) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "pleat", Name: name, Help: help, Buckets: buckets})
	f.register(h)
	return h
}

// preset makes the counters of a label's whole set, so that none is missing
// before its first count.
func preset[K ~string](vec *prometheus.CounterVec, values ...K) map[K]prometheus.Counter {
	counters := make(map[K]prometheus.Counter, len(values)+1)
	for _, v := range append(values, K(other)) {
		counters[v] = vec.WithLabelValues(string(v))
	}
	return counters
}

func pick[K ~string](counters map[K]prometheus.Counter, value K) prometheus.Counter {
	if c, ok := counters[value]; ok {
		return c
	}
	return counters[K(other)]
}
