package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

// watch calls Newest for a fold that is known, until back reports true, and
// returns how long that took. No call may fail or be slow.
func watch(t *testing.T, s *Store, space string, back func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	redistest.Eventually(t, "the store is back", func() bool {
		within(t, slow, func() { expect(t, s, space, []string{"none", "a"}, 1, "a fold") })
		return back()
	})
	return time.Since(begun)
}

// stores reports whether a space takes a new record, before long.
func stores(t *testing.T, s *Store, space string) bool {
	t.Helper()
	var stored bool
	var err error
	within(t, slow, func() {
		stored, err = s.PutIfAbsent(t.Context(), space, fmt.Sprint(time.Now().UnixNano()), []byte("new"), time.Hour)
	})
	return stored && err == nil
}

func TestFailOver(t *testing.T) {
	set := redistest.StartSet(t)
	log := newJournal()
	s := open(t, Options{
		URL: "redis+sentinel://" + set.Sentinel.Addr + "/" + redistest.SetName, Log: log.logger(),
	})
	put(t, s, "space", "a", "a fold")
	redistest.Eventually(t, "the replica has it", func() bool {
		return set.Replica.Client().Exists(t.Context(), "pleat:1:{space}:r:a").Val() == 1
	})
	set.Primary.Kill()
	took := watch(t, s, "space", func() bool { return stores(t, s, "space") })
	t.Logf("new folds are kept %v after the primary's end (the Sentinel waits 1 s)", took.Round(time.Millisecond))
	if took > resumed {
		t.Errorf("that is more than %v", resumed)
	}
	if set.Replica.Client().Exists(t.Context(), "pleat:1:{space}:r:a").Val() != 1 {
		t.Error("the replica lost the fold")
	}
	if err := s.Trouble(); err != nil {
		t.Errorf("after the fail-over: %v", err)
	}
}

func TestSentinelsLost(t *testing.T) {
	set := redistest.StartSet(t)
	s := open(t, Options{URL: "redis+sentinel://" + set.Sentinel.Addr + "/" + redistest.SetName})
	put(t, s, "space", "a", "a fold")
	set.Sentinel.Kill()
	if !stores(t, s, "space") {
		t.Error("without its Sentinel the primary is not used any more")
	}
}

func TestNoSentinel(t *testing.T) {
	s := open(t, Options{URL: "redis+sentinel://" + unused(t) + "," + unused(t) + "/" + redistest.SetName})
	expectFault(t, s.Ping(t.Context()), ErrAway)
}

func TestNodeLost(t *testing.T) {
	nodes := redistest.StartCluster(t, 3)
	s := open(t, Options{URL: "redis+cluster://" + nodes[0].Addr})
	var spaces []string
	for i := range 12 {
		spaces = append(spaces, fmt.Sprintf("space-%d", i))
		put(t, s, spaces[i], "a", "a fold")
	}
	nodes[2].Kill()
	redistest.Eventually(t, "the loss is noticed", func() bool {
		for _, space := range spaces {
			within(t, slow, func() { expect(t, s, space, []string{"none", "a"}, 1, "a fold") })
		}
		return s.Trouble() != nil
	})
	nodes[2].Start()
	for i, space := range spaces {
		took := watch(t, s, space, func() bool { return stores(t, s, space) })
		if i == 0 {
			t.Logf("new folds are kept %v after the node's return", took.Round(time.Millisecond))
		}
		if took > resumed {
			t.Errorf("%s takes folds after %v", space, took)
		}
	}
}

func TestNodePaused(t *testing.T) {
	nodes := redistest.StartCluster(t, 3)
	// Not the node that a probe looks for the mark at.
	mark, _ := nodes[0].Do("CLUSTER", "KEYSLOT", "pleat:schema").(int64)
	paused := nodes[(int(mark)*3/16384+1)%3]
	log := newJournal()
	s := open(t, Options{URL: "redis+cluster://" + nodes[0].Addr, Observer: log})
	for i := range 12 {
		put(t, s, fmt.Sprintf("space-%d", i), "a", "a fold")
	}
	paused.Pause()
	lookAtAll := func() bool {
		for i := range 12 {
			within(t, slow, func() { expect(t, s, fmt.Sprintf("space-%d", i), []string{"none", "a"}, 1, "a fold") })
		}
		return s.Trouble() != nil
	}
	redistest.Eventually(t, "the loss is noticed", lookAtAll)
	// Two nodes answer PING meanwhile: the breaker waits for the third.
	for begun := time.Now(); time.Since(begun) < time.Second; {
		if !lookAtAll() {
			t.Fatal("the store is back though a node is not")
		}
	}
	paused.Resume()
	expectBack(t, s)
	log.expectStates(t, "away", "")
}

func TestMovingSlots(t *testing.T) {
	nodes := redistest.StartCluster(t, 3)
	s := open(t, Options{URL: "redis+cluster://" + nodes[0].Addr})
	put(t, s, "space", "a", "a fold")
	slot, ok := nodes[0].Do("CLUSTER", "KEYSLOT", "space").(int64)
	if !ok {
		t.Fatal("a slot is no number")
	}
	from := int(slot) * 3 / 16384
	to := (from + 1) % 3
	id := func(i int) any { return nodes[i].Do("CLUSTER", "MYID") }
	nodes[to].Do("CLUSTER", "SETSLOT", slot, "IMPORTING", id(from))
	nodes[from].Do("CLUSTER", "SETSLOT", slot, "MIGRATING", id(to))

	// Half-way: what is asked for is here and not here.
	other := open(t, Options{URL: "redis+cluster://" + nodes[0].Addr})
	_, _, err := other.Newest(t.Context(), "space", []string{"none", "a"})
	expectFault(t, err, ErrMoving)
	expect(t, s, "space", []string{"none", "a"}, 1, "a fold")
	if err := other.Trouble(); err != nil {
		t.Errorf("a slot on its way is no trouble: %v", err)
	}

	keys, ok := nodes[from].Do("CLUSTER", "GETKEYSINSLOT", slot, 100).([]any)
	if !ok {
		t.Fatal("the keys of a slot are no list")
	}
	migrate := append([]any{"MIGRATE", "127.0.0.1", nodes[to].Port(), "", 0, 1000, "KEYS"}, keys...)
	nodes[from].Do(migrate...)
	for _, i := range []int{to, from, 3 - to - from} {
		nodes[i].Do("CLUSTER", "SETSLOT", slot, "NODE", id(to))
	}
	expect(t, other, "space", []string{"none", "a"}, 1, "a fold") // follows MOVED
	put(t, s, "space", "b", "newer")
}
