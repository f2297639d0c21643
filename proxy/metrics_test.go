package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pleat-proxy/pleat/compaction"
)

// metricSums returns each family's sum over its series, and how many it has.
func metricSums(t *testing.T, reg *prometheus.Registry) (sums map[string]float64, series map[string]int) {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums, series = map[string]float64{}, map[string]int{}
	for _, family := range all {
		for _, m := range family.GetMetric() {
			sums[family.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
			series[family.GetName()]++
		}
	}
	return sums, series
}

// Every metric that exists moves when what it counts happens.
func TestEveryMetricMoves(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.Summarized(compaction.ResultOK, 5, 6)
	m.Summarized("never heard of", -1, 0)
	m.StoreFailed("Newest", errors.New("x"))
	m.StoreFailed("never heard of", nil)
	m.StoreCalled("newest", time.Millisecond, "")
	m.StoreCalled("never heard of", time.Millisecond, "never heard of")
	m.StoreServedLocally("away")
	m.StoreServedLocally("never heard of")
	m.StoreState("away")
	m.StoreState("")
	m.JobDropped("memory")
	m.JobDropped("never heard of")
	m.QueueDepth(3)
	m.bodies.Set(5)
	m.uncompacted[familyResponses].Inc()
	m.failures.of("plan").Inc()
	m.exchanged(&exchange{route: routeChat, status: 200, started: time.Now(), ended: endClient, chat: &chat{
		plan:  &compaction.Plan{Model: "m", TokensReceived: 9, TokensSent: 4, Status: "strange", Prevented: true},
		usage: compaction.Usage{Prompt: 1, Completion: 2, Cached: 1},
	}})
	sums, _ := metricSums(t, reg)
	for _, name := range []string{
		"requests_total", "aborted_total", "request_duration_seconds", "added_latency_seconds", "input_tokens_total",
		"saved_tokens_total", "upstream_tokens_total", "uncompacted_requests_total", "summarizer_tokens_total",
		"summaries_total", "jobs_dropped_total", "store_errors_total", "queue_depth", "failures_total", "body_bytes",
		"overflows_total",
		"store_duration_seconds", "store_up", "store_outages_total", "store_faults_total", "store_local_total",
	} {
		if sums["pleat_"+name] <= 0 {
			t.Errorf("pleat_%s did not move", name)
		}
		delete(sums, "pleat_"+name)
	}
	if len(sums) != 0 {
		t.Errorf("not in this test: %v", sums)
	}
}

// Whatever clients send, the number of series stays bounded.
func TestLabelsAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	count := func(model string, status int) {
		m.exchanged(&exchange{route: routeChat, status: status, started: time.Now(), ended: endComplete,
			chat: &chat{plan: &compaction.Plan{Model: model, TokensReceived: 1, Status: compaction.Status(model)}}})
	}
	for i := range 1000 {
		count(fmt.Sprint("mistyped", i), 404)
	}
	if _, series := metricSums(t, reg); series["pleat_saved_tokens_total"] != 1 {
		t.Errorf("%d models after refused requests alone", series["pleat_saved_tokens_total"])
	}
	for i := range 1000 {
		count(fmt.Sprint("m", i), 200)
		m.Summarized(compaction.Result(fmt.Sprint(i)), 1, 1)
		m.JobDropped(fmt.Sprint(i))
		m.StoreFailed(fmt.Sprint(i), nil)
		m.StoreCalled(fmt.Sprint(i), 1, fmt.Sprint(i))
		m.StoreState(fmt.Sprint(i))
		m.StoreServedLocally(fmt.Sprint(i))
	}
	count("broken \xff UTF-8", 200)
	count(strings.Repeat("long", 100), 200)
	_, series := metricSums(t, reg)
	for name, most := range map[string]int{
		"requests_total": 144, "saved_tokens_total": 33, "input_tokens_total": 66, "upstream_tokens_total": 99,
		"summaries_total": 8, "jobs_dropped_total": 4, "store_errors_total": 9,
		"store_duration_seconds": 10, "store_outages_total": 14, "store_faults_total": 14, "store_local_total": 3,
	} {
		if got := series["pleat_"+name]; got > most {
			t.Errorf("%s has %d series, %d at most", name, got, most)
		}
	}
}

func TestBrokenModelNameIsCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	for range 2 {
		m.models.of("broken \xff", true).received.Inc()
	}
	if sums, _ := metricSums(t, reg); sums["pleat_input_tokens_total"] != 2 {
		t.Errorf("counted %v", sums["pleat_input_tokens_total"])
	}
}

func TestRequestsAreCounted(t *testing.T) {
	up := newUpstreamServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	r := newRig(t, up.URL, nil)
	r.post(t, "{}")
	req, _ := http.NewRequestWithContext(t.Context(), "BREW", r.URL+"/pot", nil)
	r.do(t, req)
	r.Close()
	for _, labels := range [][]string{
		{"route=chat", "plan=verbatim", "code=4xx"}, {"route=relay", "plan=none", "code=4xx"},
	} {
		if got := r.metric(t, "pleat_requests_total", labels...); got != 1 {
			t.Errorf("%v: %v", labels, got)
		}
	}
}

func TestObserverAllocatesNothing(t *testing.T) {
	m := NewMetrics(nil)
	if n := testing.AllocsPerRun(100, func() {
		m.Summarized(compaction.ResultOK, 1, 1)
		m.StoreFailed("Newest", nil)
		m.StoreCalled("newest", time.Millisecond, "away")
		m.StoreState("away")
		m.StoreServedLocally("away")
		m.JobDropped("memory")
		m.QueueDepth(1)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The gauge follows the store; a call that was not made has no duration.
func TestStoreIsUpOrAway(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	up := func() float64 {
		sums, _ := metricSums(t, reg)
		return sums["pleat_store_up"]
	}
	if up() != 1 {
		t.Error("a store is away before anything was heard of it")
	}
	m.StoreState("password")
	m.StoreCalled("newest", 0, "password")
	if up() != 0 {
		t.Error("a store that is away is up")
	}
	m.StoreState("")
	if up() != 1 {
		t.Error("a store that is back is not up")
	}
	sums, _ := metricSums(t, reg)
	if sums["pleat_store_duration_seconds"] != 0 || sums["pleat_store_faults_total"] != 1 || sums["pleat_store_outages_total"] != 1 {
		t.Errorf("%v", sums)
	}
}
