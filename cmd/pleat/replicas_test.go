package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	oaioption "github.com/openai/openai-go/v3/option"

	"github.com/pleat-proxy/pleat/proxy/scripted"
	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

// replica is one of several Pleats that share a Redis.
func replica(t *testing.T, upstream string, server *redistest.Server, args ...string) *running {
	t.Helper()
	return startPleat(t, upstream, append([]string{"--trigger=1024", "--store=redis://" + server.Addr}, args...)...)
}

// through has the chatter's next turns go to another base URL: a load balancer
// chose another replica.
func (c *chatter) through(base string) {
	c.client = openai.NewClient(oaioption.WithBaseURL(base), oaioption.WithAPIKey("sk-test"), oaioption.WithMaxRetries(0))
}

// chatOver plays turns of one conversation over replicas in turn and returns
// the chatter and how many summaries were asked for.
func chatOver(t *testing.T, upstream *scripted.Upstream, turns int, replicas ...*running) (*chatter, int) {
	t.Helper()
	before := upstream.Totals().Summaries
	chat := newChatter(t, replicas[0].url("/v1"), "You are a storekeeper.")
	for turn := range turns {
		at := replicas[turn%len(replicas)]
		chat.through(at.url("/v1"))
		chat.say(words(fmt.Sprintf("Question %d of mine:", turn), 400))
		at.settle(t)
	}
	return chat, upstream.Totals().Summaries - before
}

// TestReplicasFoldAsOne: a conversation that alternates between two replicas
// costs hardly more summaries than before one, and a replica that comes later
// folds at its first request.
func TestReplicasFoldAsOne(t *testing.T) {
	const turns, spare = 60, 2
	server := redistest.Start(t)
	upstream, base := scriptedUpstream(t, scripted.Options{SummaryTokens: 60})
	_, alone := chatOver(t, upstream, turns, replica(t, base, server, "--store-prefix=alone"))
	one, two := replica(t, base, server), replica(t, base, server)
	chat, both := chatOver(t, upstream, turns, one, two)
	t.Logf("%d turns: %d summaries by one replica, %d by two", turns, alone, both)
	if alone < 5 || both > alone+spare {
		t.Errorf("two replicas asked for %d summaries, one for %d", both, alone)
	}

	third := replica(t, base, server)
	chat.through(third.url("/v1"))
	chat.say("And now?")
	if status := chat.header.Get("X-Pleat-Status"); status != "folded" {
		t.Errorf("status %q at the first request to a third replica", status)
	}
	for _, v := range upstream.Violations() {
		t.Errorf("the provider was sent a request that it refuses: %v", v)
	}
}

// TestReplicasDoNotSummarizeTwice: while a summary takes its time, requests to
// both replicas ask for no second one.
func TestReplicasDoNotSummarizeTwice(t *testing.T) {
	gate := make(chan struct{})
	upstream, base := scriptedUpstream(t, scripted.Options{
		Summary: func(*scripted.Request) scripted.Reply { return scripted.Reply{Text: "Boxes were sorted.", Wait: gate} },
	})
	server := redistest.Start(t)
	one, two := replica(t, base, server), replica(t, base, server)
	chat := newChatter(t, one.url("/v1"), "You are a storekeeper.")
	say := func(turn int, through *running) {
		chat.through(through.url("/v1"))
		chat.say(words(fmt.Sprintf("Question %d of mine:", turn), 400))
	}
	turn := 0
	for ; upstream.Totals().Summaries == 0; turn++ {
		say(turn, one)
		waitForLease(t, server, chat.header.Get("X-Pleat-Status") == "pending")
	}
	for range 12 {
		say(turn, two)
		two.settle(t) // its job, if there was one, found the lease taken
		say(turn+1, one)
		turn += 2
	}
	if n := upstream.Totals().Summaries; n != 1 {
		t.Errorf("%d summaries asked for at a time, want 1", n)
	}
	close(gate)
	one.settle(t)
	say(turn, two)
	if status := chat.header.Get("X-Pleat-Status"); status != "folded" {
		t.Errorf("status %q at one replica once the other had made the fold", status)
	}
}

// waitForLease waits until somebody holds a lease, if one is due.
func waitForLease(t *testing.T, server *redistest.Server, due bool) {
	t.Helper()
	if due {
		redistest.Eventually(t, "a replica takes the lease", func() bool { return len(leases(t, server)) > 0 })
	}
}

// leases are the keys of all leases.
func leases(t *testing.T, server *redistest.Server) []string {
	t.Helper()
	var found []string
	for _, key := range redisKeys(t, server) {
		if strings.Contains(key, "}:l:") {
			found = append(found, key)
		}
	}
	return found
}

// redisKeys are all keys of a server.
func redisKeys(t *testing.T, server *redistest.Server) []string {
	t.Helper()
	var keys []string
	all := server.Client().Scan(t.Context(), 0, "*", 1000).Iterator()
	for all.Next(t.Context()) {
		keys = append(keys, all.Val())
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestReplicaKilledWithItsLease: a replica that is killed while it makes a fold
// keeps the others from it for no longer than its lease lives.
func TestReplicaKilledWithItsLease(t *testing.T) {
	const leaseLife = 6 * time.Second // of DESIGN.md: compaction's
	never := make(chan struct{})
	defer close(never)
	var summaries atomic.Int64
	upstream, base := scriptedUpstream(t, scripted.Options{Summary: func(*scripted.Request) scripted.Reply {
		if summaries.Add(1) == 1 {
			return scripted.Reply{Text: "never read", Wait: never}
		}
		return scripted.Reply{Text: "Boxes were sorted."}
	}})
	server := redistest.Start(t)
	doomed := startProcess(t, base, "--trigger=1024", "--store=redis://"+server.Addr)
	chat := newChatter(t, doomed.base, "You are a storekeeper.")
	for turn := 0; len(leases(t, server)) == 0; turn++ {
		chat.say(words(fmt.Sprintf("Question %d of mine:", turn), 400))
		waitForLease(t, server, chat.header.Get("X-Pleat-Status") == "pending")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := upstream.Wait(ctx, func(n scripted.Totals) bool { return n.Summaries == 1 }); err != nil {
		t.Fatal(err)
	}

	other := replica(t, base, server)
	chat.through(other.url("/v1"))
	doomed.kill()
	killed := time.Now()
	left := time.Duration(0) // of the lease
	for _, key := range leases(t, server) {
		left = max(left, server.Client().PTTL(t.Context(), key).Val())
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for chat.header.Get("X-Pleat-Status") != "folded" {
		if time.Since(killed) > time.Minute {
			t.Fatal("no fold after a minute")
		}
		chat.again()
		other.settle(t)
		<-tick.C
	}
	took := time.Since(killed)
	t.Logf("the fold came %v after the kill; the lease had %v to live", took.Round(time.Millisecond), left)
	if left == 0 || left > leaseLife {
		t.Errorf("the lease had %v to live when its holder was killed", left)
	}
	if slack := 4 * time.Second; took > leaseLife+slack {
		t.Errorf("the fold came %v after the kill, want %v (and %v for a busy machine) at most", took, leaseLife, slack)
	}
	if took < left-time.Second {
		t.Errorf("the fold came %v after the kill, though the lease had %v to live", took, left)
	}
}

// again sends the newest question once more, as a client does that lost the
// answer.
func (c *chatter) again() {
	c.t.Helper()
	text := c.sent[len(c.sent)-2]
	c.history, c.sent = c.history[:len(c.history)-2], c.sent[:len(c.sent)-2]
	c.say(text)
}
