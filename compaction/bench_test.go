package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// benchmarkBody is a request of about 1 MiB made of recorded messages.
func benchmarkBody(b *testing.B) []byte {
	b.Helper()
	const size = 1 << 20
	all := corpus(b)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	// A few messages of each conversation in turn, so that no one source
	// decides: prose, code, tool calls and text beyond ASCII.
	body := []byte(`{"model":"gpt-4o","stream":true,"messages":[`)
	for from := 0; len(body) < size; from += 8 {
		for _, name := range names {
			r := mustScan(b, string(all[name]))
			for i := from; i < min(from+8, len(r.messages)) && len(body) < size; i++ {
				m := r.messages[i]
				if m.len() > size/16 {
					continue // one message of 800 KB would be all there is
				}
				// As clients write it: without the white space of the files.
				var terse bytes.Buffer
				if err := json.Compact(&terse, m.in(r.body)); err != nil {
					b.Fatal(err)
				}
				body = append(append(body, terse.Bytes()...), ',')
			}
		}
	}
	return append(body[:len(body)-1], "]}"...)
}

func BenchmarkScan(b *testing.B) {
	body := benchmarkBody(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scan(body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScanAgainstValid runs scan and encoding/json's check of the same body
// in turn, so that both meet the same weather.
func BenchmarkScanAgainstValid(b *testing.B) {
	body := benchmarkBody(b)
	var ours, theirs time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := scan(body); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		if !json.Valid(body) {
			b.Fatal("not JSON")
		}
		ours += between.Sub(began)
		theirs += time.Since(between)
	}
	b.ReportMetric(float64(theirs)/float64(ours), "times-as-fast")
}

func BenchmarkFingerprint(b *testing.B) {
	r := mustScan(b, string(benchmarkBody(b)))
	b.SetBytes(int64(len(r.body)))
	b.ReportAllocs()
	for b.Loop() {
		r.fingerprint()
	}
	b.ReportMetric(float64(len(r.messages)), "messages")
}

// BenchmarkSecondTurn counts a conversation of 1 MB with a turn more than
// before, in a process that knows it (warm) and in one that starts (cold), in
// turn, so that both meet the same weather. What is known is one look-up a
// message: a turn costs its new messages.
func BenchmarkSecondTurn(b *testing.B) {
	body := benchmarkBody(b)
	r := mustScan(b, string(body))
	r.fingerprint()
	counter, err := testCounter()
	if err != nil {
		b.Fatal(err)
	}
	enc := counter.For(r.model)
	newCompactor := func() *Compactor {
		counts, err := lru.New[countKey, int](100_000)
		if err != nil {
			b.Fatal(err)
		}
		return &Compactor{counts: counts}
	}
	known, turn := newCompactor(), 0
	known.meter(r, enc)
	var warm, cold time.Duration
	for b.Loop() {
		turn++
		next := mustScan(b, fmt.Sprintf(`%s,{"role":"assistant","content":"That is answer %d."},{"role":"user","content":"And question %d?"}]}`,
			bytes.TrimSuffix(body, []byte("]}")), turn, turn))
		next.fingerprint()

		fresh, before := newCompactor(), known.counts.Len()
		began := time.Now()
		known.meter(next, enc)
		between := time.Now()
		fresh.meter(next, enc)
		warm += between.Sub(began)
		cold += time.Since(between)
		if n := known.counts.Len() - before; n != 2 {
			b.Fatalf("%d messages were counted, 2 are new", n)
		}
	}
	b.ReportMetric(float64(warm.Microseconds())/float64(b.N), "µs-warm")
	b.ReportMetric(float64(cold.Microseconds())/float64(b.N), "µs-cold")
	b.ReportMetric(float64(cold)/float64(warm), "times-as-fast")
	b.ReportMetric(float64(len(r.messages)), "messages")
}
