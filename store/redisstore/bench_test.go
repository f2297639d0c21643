package redisstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

// foldText is about as large and as repetitive as a fold of six summaries.
func foldText(seed uint64) string {
	words := strings.Fields("the user asked for a parser that reads files and the assistant wrote one in Go with tests " +
		"decided to keep errors wrapped and use table tests next open task is the benchmark path store config value " +
		"because requests must not wait while a summary is made constraint deadline Friday name Anna number")
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString(`{"v":1,"roots":[`)
	for b.Len() < 12_000 {
		fmt.Fprintf(&b, "%s%d ", words[r.IntN(len(words))], r.IntN(3))
	}
	b.WriteString(`]}`)
	return b.String()
}

// keysOf are n names as long as compaction's, newest first.
func keysOf(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%032x", n-i)
	}
	return keys
}

const benchSpace = "0123456789abcdef0123456789abcdef"

// BenchmarkNewest looks up histories of n boundaries, every eighth of which has
// a fold except the newest few: by the script with and without the value at
// hand, when there is nothing, and by what it replaces.
func BenchmarkNewest(b *testing.B) {
	server := redistest.Start(b)
	s := open(b, Options{URL: "redis://" + server.Addr})
	far := open(b, Options{URL: "redis://" + server.Addr, CacheBytes: -1})
	ctx := b.Context()
	for _, n := range []int{100, 500} {
		keys := keysOf(n)
		for i := 16; i < n; i += max(8, n/16) {
			if _, err := s.PutIfAbsent(ctx, benchSpace, keys[i], []byte(foldText(uint64(i))), time.Hour); err != nil {
				b.Fatal(err)
			}
		}
		look := func(s *Store, space string, want int) func(b *testing.B) {
			return func(b *testing.B) {
				b.Helper()
				for b.Loop() {
					if at, _, err := s.Newest(ctx, space, keys); err != nil || at != want {
						b.Fatal(at, err)
					}
				}
			}
		}
		b.Run(fmt.Sprintf("script,value-at-hand/%d", n), look(s, benchSpace, 16))
		b.Run(fmt.Sprintf("script,value-fetched/%d", n), look(far, benchSpace, 16))
		b.Run(fmt.Sprintf("script,nothing-there/%d", n), look(far, "elsewhere", -1))
		names := make([]string, n)
		for i, key := range keys {
			names[i] = s.keys.space(benchSpace) + kindRecord + key
		}
		b.Run(fmt.Sprintf("mget/%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := s.client.MGet(ctx, names...).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("mget,nothing-there/%d", n), func(b *testing.B) {
			none := make([]string, n)
			for i := range names {
				none[i] = strings.Replace(names[i], benchSpace, "elsewhere", 1)
			}
			for b.Loop() {
				if err := s.client.MGet(ctx, none...).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("pipelined-exists/%d", n), func(b *testing.B) {
			for b.Loop() {
				_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
					for _, name := range names {
						p.Exists(ctx, name)
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCodec is what compression costs a fold, and how much it saves.
func BenchmarkCodec(b *testing.B) {
	c, err := newCodec()
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	value := []byte(foldText(1))
	stored, err := c.encode(value, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportMetric(float64(len(stored))/float64(len(value)), "stored/value")
		for b.Loop() {
			if _, err := c.encode(value, time.Hour); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		text := string(stored)
		for b.Loop() {
			if _, _, err := c.decode(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
