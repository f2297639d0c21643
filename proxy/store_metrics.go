package proxy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// storeMetrics say how the shared store does. What fails is counted under the
// fault's name, of which there are fewer than a dozen.
type storeMetrics struct {
	duration map[string]prometheus.Observer // op 9 and other × (10 buckets + 2): 130
	up       prometheus.Gauge               // 1
	outages  map[string]prometheus.Counter  // fault 13 and other: 14
	faults   map[string]prometheus.Counter  // fault 13 and other: 14
	local    map[string]prometheus.Counter  // 2 and other: 3
}

func newStoreMetrics(f factory) storeMetrics {
	duration := f.histograms("store_duration_seconds", "Time that calls to the shared store took, failures included.",
		[]float64{100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, .1, 1}, "op")
	s := storeMetrics{
		duration: map[string]prometheus.Observer{},
		up:       f.gauge("store_up", "1 while the store is asked, 0 while it is taken for away and requests do without it."),
		outages: preset(f.counters("store_outages_total",
			"How often the store was taken for away, or the cause of that changed, by fault.", "fault"), storeFaults()...),
		faults: preset(f.counters("store_faults_total",
			"Calls to the store that failed, by fault, those included that were not made while it was away.", "fault"), storeFaults()...),
		local: preset(f.counters("store_local_total",
			"Lookups that folds in local memory answered: the store was away, or behind (it had lost the fold).", "why"),
			"away", "behind"),
	}
	for _, op := range []string{"newest", "put", "acquire", "held", "release", "add", "list", "delete", "ping", other} {
		s.duration[op] = duration.WithLabelValues(op)
	}
	s.up.Set(1)
	return s
}

// storeFaults are the names that a store gives to what went wrong.
func storeFaults() []string {
	return []string{
		"away", "busy", "loading", "cluster", "password", "schema",
		"full", "readonly", "disk", "denied", "moving", "value", "refused",
	}
}

// StoreCalled tells of one call to the shared store: fault is "" if it went well.
// One that took no time was not made, because the store was known to be away.
func (m *Metrics) StoreCalled(op string, took time.Duration, fault string) {
	if took > 0 {
		o, ok := m.store.duration[op]
		if !ok {
			o = m.store.duration[other]
		}
		o.Observe(took.Seconds())
	}
	if fault != "" {
		pick(m.store.faults, fault).Inc()
	}
}

// StoreState tells that the store is taken for away, for a fault, or is back ("").
func (m *Metrics) StoreState(fault string) {
	if fault == "" {
		m.store.up.Set(1)
		return
	}
	m.store.up.Set(0)
	pick(m.store.outages, fault).Inc()
}

// StoreServedLocally tells that local memory answered a lookup: why is "away" or
// "behind".
func (m *Metrics) StoreServedLocally(why string) { pick(m.store.local, why).Inc() }
