package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/proxy/scripted"
	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/redisstore"
	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

// TestRedisHoldsNoSecrets looks at all that is in Redis after a conversation:
// everything ends by itself, no key holds text of a message, and nothing holds a
// credential. Folds are summaries: what they tell of messages is their purpose.
func TestRedisHoldsNoSecrets(t *testing.T) {
	const password, text = "hunter2-of-Redis", "quince-marmalade"
	credentials := []string{"sk-test", "sk-of-the-summarizer", password, strings.Repeat("tenant-key-", 4)}
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "folder", "on", ">"+password, "~*", "+@all")
	upstream, base := scriptedUpstream(t, scripted.Options{SummaryTokens: 60})
	pleat := startPleat(t, base, "--trigger=1024", "--store=redis://folder:"+password+"@"+server.Addr,
		"--summarizer-api-key="+credentials[1], "--tenant-key="+credentials[3])
	chat := newChatter(t, pleat.url("/v1"), "You are a storekeeper of "+text+".")
	for turn := range 40 {
		chat.say(words(fmt.Sprintf("Question %d of %s, by %s:", turn, text, "quince-marmalade"), 400))
		pleat.settle(t)
	}
	if len(upstream.Summaries()) < 3 {
		t.Fatalf("%d summaries: there is nothing to look at", len(upstream.Summaries()))
	}
	pleat.stopAndWait() // the counters are written

	keys := redisKeys(t, server)
	kinds := map[string]int{}
	bytes := int64(0)
	for _, key := range keys {
		if left := server.Client().PTTL(t.Context(), key).Val(); left <= 0 {
			t.Errorf("%s does not end by itself: %v", key, left)
		}
		lower := strings.ToLower(key)
		for _, word := range append([]string{"quince", "question", "answer", "storekeeper"}, credentials...) {
			if strings.Contains(lower, strings.ToLower(word)) {
				t.Errorf("the key %s holds %s", key, word)
			}
		}
		_, kind, _ := strings.Cut(key, "}:")
		kinds[strings.SplitN(kind, ":", 2)[0]]++
		bytes += server.Client().MemoryUsage(t.Context(), key).Val()
	}
	t.Logf("%d keys, %d bytes: %v", len(keys), bytes, kinds)
	if kinds["r"] < 3 || kinds["c"] == 0 {
		t.Fatalf("not all is there that should be looked at: %v", kinds)
	}
	values := storedValues(t, server, keys)
	for _, credential := range credentials {
		if strings.Contains(values, credential) {
			t.Errorf("a value holds the credential %s", credential)
		}
	}
}

// storedValues is everything that stands under the keys, records as Pleat reads
// them: Redis holds them compressed.
func storedValues(t *testing.T, server *redistest.Server, keys []string) string {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redisstore.Options{URL: "redis://" + server.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var all strings.Builder
	records := 0
	for _, key := range keys {
		all.WriteString(server.Client().Dump(t.Context(), key).Val())
		space, record, ok := strings.Cut(key, "}:r:")
		if !ok {
			continue
		}
		space = space[strings.Index(space, "{")+1:]
		at, value, err := s.Newest(t.Context(), space, []string{record})
		if at != 0 || err != nil {
			t.Fatalf("%s cannot be read: %v", key, err)
		}
		records++
		all.Write(value)
	}
	rows := listRows(t, s)
	if records == 0 || len(rows) == 0 {
		t.Fatalf("%d records and %d rows of counters were read", records, len(rows))
	}
	fmt.Fprint(&all, rows)
	return all.String()
}

func listRows(t *testing.T, s store.Store) []store.Row {
	t.Helper()
	rows, _, err := s.List(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
