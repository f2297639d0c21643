package proxy

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pleat-proxy/pleat/compaction"
)

// maxModels is how many models have series of their own; all others are
// counted as "other". Only models that the upstream accepted get one, so
// mistyped names do not use them up.
const maxModels = 32

// Metrics are all of Pleat's collectors. Every label has a fixed set of
// values, models excepted, which are bounded by maxModels. It is safe for
// concurrent use.
type Metrics struct {
	requests    *prometheus.CounterVec       // route 3 × plan 8 × code 6: 144 series at most
	duration    *prometheus.HistogramVec     // route 3 × (13 buckets + 2): 48
	aborted     *prometheus.CounterVec       // by 2
	added       prometheus.Histogram         // 14 buckets + 2: 17
	input       *prometheus.CounterVec       // stage 2 × model 33: 66
	saved       *prometheus.CounterVec       // model 33
	upstream    *prometheus.CounterVec       // kind 3 × model 33: 99
	overflows   *prometheus.CounterVec       // kind 3 × outcome 4: 12
	uncompacted [families]prometheus.Counter // 6, and one that is never used

	summarizer struct{ prompt, completion prometheus.Counter } // 2
	summaries  map[compaction.Result]prometheus.Counter        // 7 and other: 8
	dropped    map[string]prometheus.Counter                   // 3 and other: 4
	storeFails map[string]prometheus.Counter                   // 8 and other: 9
	store      storeMetrics                                    // 162
	queue      prometheus.Gauge                                // 1
	bodies     prometheus.Gauge                                // 1
	failures   failures                                        // 5

	models models
}

var _ compaction.Observer = (*Metrics)(nil)

// other is the label of whatever a label's fixed set does not hold.
const other = "other"

// failures counts what went wrong inside Pleat, by the part it happened in.
type failures struct{ plan, responded, finished, handler, memory prometheus.Counter }

func (f failures) of(part string) prometheus.Counter {
	switch part {
	case "plan":
		return f.plan
	case "responded":
		return f.responded
	case "finished":
		return f.finished
	}
	return f.handler
}

// NewMetrics registers the collectors with reg, which may be nil. It panics if
// reg has collectors of these names already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := factory{reg}
	m := &Metrics{
		requests: f.counters("requests_total",
			"Requests by route, by what was done with them and by class of status.", "route", "plan", "code"),
		aborted: f.counters("aborted_total", "Responses that were cut short, by whom.", "by"),
		duration: f.histograms("request_duration_seconds", "Time from a request's header to its response's end.",
			[]float64{.005, .02, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 180, 600}, "route"),
		added: f.histogram("added_latency_seconds", "Time that Pleat added to chat completions before sending them.",
			[]float64{50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 25e-3, 50e-3, .1, .5, 2.5, 20}),
		input: f.counters("input_tokens_total",
			"Input tokens of chat completions by Pleat's own count, as received and as sent.", "stage", "model"),
		saved:    f.counters("saved_tokens_total", "Input tokens that were received and not sent, summed over requests.", "model"),
		upstream: f.counters("upstream_tokens_total", "Tokens that the upstream said it used.", "kind", "model"),
		overflows: f.counters("overflows_total",
			"Chat completions that exceeded their window, by what did (input or total) and what came of it.", "kind", "outcome"),
	}
	m.observerMetrics(f)
	for _, outcome := range []string{outcomePrevented, outcomeRecovered, outcomeReported, outcomeFailed} {
		m.overflows.WithLabelValues("input", outcome)
		m.overflows.WithLabelValues("total", outcome)
	}
	m.models = models{counters: map[string]*modelCounters{}, make: m.modelCounters}
	m.models.rest = m.modelCounters(other)
	return m
}

func (m *Metrics) observerMetrics(f factory) {
	uncompacted := f.counters("uncompacted_requests_total",
		"Conversations relayed whole because their path is not compacted, by kind of path.", "path")
	for i := familyNone + 1; i < families; i++ {
		m.uncompacted[i] = uncompacted.WithLabelValues(i.String())
	}
	spent := f.counters("summarizer_tokens_total", "Tokens that summaries cost, as the upstream said.", "direction")
	m.summarizer.prompt = spent.WithLabelValues("prompt")
	m.summarizer.completion = spent.WithLabelValues("completion")
	m.summaries = preset(f.counters("summaries_total", "Questions put to summarizers, by how they ended.", "result"),
		compaction.ResultOK, compaction.ResultError, compaction.ResultEmpty, compaction.ResultCutOff,
		compaction.ResultToolCalls, compaction.ResultRefused, compaction.ResultNotShorter)
	m.dropped = preset(f.counters("jobs_dropped_total", "Background jobs that were due and not begun.", "reason"),
		"queue_full", "memory", "closing")
	m.storeFails = preset(f.counters("store_errors_total", "Store operations that failed.", "op"),
		"Newest", "PutIfAbsent", "Acquire", "Release", "Add", "List", "Delete", "Ping")
	m.store = newStoreMetrics(f)
	m.queue = f.gauge("queue_depth", "Background jobs that wait.")
	m.bodies = f.gauge("body_bytes", "Memory that bodies of chat completions hold.")
	failed := f.counters("failures_total",
		"Requests that something of Pleat's own failed or was short for; they were sent as they came.", "part")
	m.failures = failures{
		plan: failed.WithLabelValues("plan"), responded: failed.WithLabelValues("responded"),
		finished: failed.WithLabelValues("finished"), handler: failed.WithLabelValues("handler"),
		memory: failed.WithLabelValues("memory"),
	}
}

// Summarized implements compaction.Observer.
func (m *Metrics) Summarized(result compaction.Result, prompt, completion int) {
	pick(m.summaries, result).Inc()
	m.summarizer.prompt.Add(float64(max(prompt, 0)))
	m.summarizer.completion.Add(float64(max(completion, 0)))
}

// StoreFailed implements compaction.Observer.
func (m *Metrics) StoreFailed(op string, _ error) { pick(m.storeFails, op).Inc() }

// JobDropped implements compaction.Observer.
func (m *Metrics) JobDropped(reason string) { pick(m.dropped, reason).Inc() }

// QueueDepth implements compaction.Observer.
func (m *Metrics) QueueDepth(n int) { m.queue.Set(float64(n)) }

// exchanged counts an exchange that has ended.
func (m *Metrics) exchanged(ex *exchange) {
	plan := "none"
	if ex.chat != nil {
		plan = planLabel(ex.chat.plan.Status)
	}
	m.requests.WithLabelValues(ex.route, plan, codeLabel(ex.status)).Inc()
	m.duration.WithLabelValues(ex.route).Observe(time.Since(ex.started).Seconds())
	if ex.ended != endComplete {
		m.aborted.WithLabelValues(string(ex.ended)).Inc()
	}
	if ex.chat != nil {
		m.chatted(ex)
	}
}

func (m *Metrics) chatted(ex *exchange) {
	c := ex.chat
	if o := c.outcome(); o.outcome != "" {
		m.overflows.WithLabelValues(o.kind, o.outcome).Inc()
	}
	m.added.Observe(c.added.Seconds())
	accepted := ex.status >= 200 && ex.status < 300
	model := m.models.of(c.plan.Model, accepted)
	received, sent := c.plan.TokensReceived, c.plan.TokensSent
	model.received.Add(float64(max(received, 0)))
	model.sent.Add(float64(max(sent, 0)))
	if accepted { // what was refused anyway was not saved
		model.saved.Add(float64(max(received-sent, 0)))
	}
	model.prompt.Add(float64(c.usage.Prompt))
	model.completion.Add(float64(c.usage.Completion))
	model.cached.Add(float64(c.usage.Cached))
}

// planLabel bounds the label to the statuses that exist.
func planLabel(s compaction.Status) string {
	switch s {
	case compaction.Verbatim, compaction.Folded, compaction.Pending, compaction.Bypassed,
		compaction.Degraded, compaction.Recovered:
		return string(s)
	}
	return other
}

// codeLabel returns the class of a status, "none" if nothing was sent.
func codeLabel(status int) string {
	if class := status / 100; class >= 1 && class <= 5 {
		return strconv.Itoa(class) + "xx"
	}
	return "none"
}

// models hands out the counters of each model.
type models struct {
	mu       sync.RWMutex // protects counters
	counters map[string]*modelCounters
	rest     *modelCounters
	make     func(model string) *modelCounters
}

type modelCounters struct{ received, sent, saved, prompt, completion, cached prometheus.Counter }

func (m *Metrics) modelCounters(model string) *modelCounters {
	return &modelCounters{
		received: m.input.WithLabelValues("received", model), sent: m.input.WithLabelValues("sent", model),
		saved:  m.saved.WithLabelValues(model),
		prompt: m.upstream.WithLabelValues("prompt", model), completion: m.upstream.WithLabelValues("completion", model),
		cached: m.upstream.WithLabelValues("cached", model),
	}
}

// of returns the counters of the model; one that is not known yet gets its own
// if the upstream accepted it and there is room.
func (s *models) of(model string, accepted bool) *modelCounters {
	s.mu.RLock()
	c := s.counters[model]
	s.mu.RUnlock()
	if c != nil {
		return c
	}
	if !accepted || model == "" || len(model) > 100 {
		return s.rest
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c = s.counters[model]; c != nil {
		return c
	}
	if len(s.counters) >= maxModels {
		return s.rest
	}
	// A label that is not UTF-8 would panic; the copy lets the request's body go.
	label := strings.ToValidUTF8(strings.Clone(model), "\uFFFD")
	c = s.make(label)
	s.counters[strings.Clone(model)] = c
	return c
}
