package redisstore

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
	"github.com/pleat-proxy/pleat/store/storetest"
)

func TestMain(m *testing.M) {
	SendClientLog(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// open opens a store that the test closes.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

const patience = 10 * time.Second // on a busy machine

// clock is a store's clock that runs ahead of the true one.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// suite runs the contract's suite against stores that options lead to. Time
// passes by taking it off every key's life; with really, a second is waited for.
func suite(t *testing.T, options Options, really bool, servers ...*redistest.Server) {
	t.Helper()
	storetest.Run(t, func(t *testing.T) (store.Store, func(time.Duration)) {
		t.Helper()
		for _, server := range servers {
			server.Do("FLUSHALL")
		}
		var now clock
		o := options
		o.Now = now.Now
		// How long a call takes is not what the suite is about.
		o.Budget, o.DialTimeout, o.ReadTimeout, o.WriteTimeout = patience, patience, patience, patience
		return open(t, o), func(d time.Duration) {
			if really && d <= 2*time.Second {
				<-time.After(d)
				return
			}
			now.ahead.Add(int64(d))
			for _, server := range servers {
				age(t, server.Client(), d)
			}
		}
	})
}

// age takes d off the life of every key.
func age(t testing.TB, c *redis.Client, d time.Duration) {
	t.Helper()
	ctx := t.Context()
	for _, key := range allKeys(t, c) {
		left, err := c.PTTL(ctx, key).Result()
		if err == nil && left <= d {
			err = c.Del(ctx, key).Err()
		} else if err == nil {
			err = c.PExpire(ctx, key, left-d).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func allKeys(t testing.TB, c *redis.Client) []string {
	t.Helper()
	var keys []string
	all := c.Scan(t.Context(), 0, "*", 1000).Iterator()
	for all.Next(t.Context()) {
		keys = append(keys, all.Val())
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestPlain(t *testing.T) {
	server := redistest.Start(t)
	suite(t, Options{URL: "redis://" + server.Addr + "/3"}, true, server.WithDB(3))
}

func TestTLS(t *testing.T) {
	server, secrets := redistest.StartSecure(t)
	both := TLS{CA: secrets.CA, Cert: secrets.Cert, Key: secrets.Key, ServerName: redistest.ServerName}
	suite(t, Options{URL: "rediss://" + server.Addr, TLS: both}, false, server)

	for name, wrong := range map[string]TLS{
		"no authority":   {Cert: both.Cert, Key: both.Key},
		"no certificate": {CA: both.CA},
		"another name":   {CA: both.CA, Cert: both.Cert, Key: both.Key, ServerName: "elsewhere.test"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{URL: "rediss://" + server.Addr, TLS: wrong})
			expectFault(t, s.Ping(t.Context()), ErrAway)
		})
	}
}

// TestRightsAreDocumented: what the package comment asks for stands where
// operators read.
func TestRightsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, right := range rights(t) {
		if strings.HasPrefix(right, "+") && !strings.Contains(string(page), right) {
			t.Errorf("docs/operations.md does not name %s", right)
		}
	}
}

// rights is what the package comment says that a user needs.
func rights(t testing.TB) []string {
	t.Helper()
	source, err := os.ReadFile("redisstore.go")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(source)) {
		after, ok := strings.CutPrefix(line, "//\t")
		if ok && strings.ContainsAny(after[:1], "~+") {
			list = append(list, strings.Fields(after)...)
		}
	}
	if len(list) < 10 {
		t.Fatalf("found %d rights", len(list))
	}
	return list
}

// grant makes a user who may do what list says, under the prefix "pleat".
func grant(t testing.TB, server *redistest.Server, user, password string, list []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user, "reset", "on", ">" + password}
	for _, right := range list {
		args = append(args, strings.ReplaceAll(right, "PREFIX", "pleat"))
	}
	server.Do(args...)
}

func TestACL(t *testing.T) {
	server := redistest.Start(t)
	grant(t, server, "folder", "p@ss/word", rights(t))
	suite(t, Options{URL: "redis://folder:p%40ss%2Fword@" + server.Addr}, false, server)
	suite(t, Options{URL: "redis://" + server.Addr, Username: "folder", Password: "p@ss/word"}, false, server)
}

func TestSentinel(t *testing.T) {
	set := redistest.StartSet(t)
	suite(t, Options{URL: "redis+sentinel://" + set.Sentinel.Addr + "/" + redistest.SetName}, false, set.Primary)
}

func TestCluster(t *testing.T) {
	nodes := redistest.StartCluster(t, 3)
	for _, node := range nodes {
		grant(t, node, "folder", "secret", append(rights(t), "+cluster|slots"))
	}
	url := fmt.Sprintf("redis+cluster://folder:secret@%s,%s", nodes[0].Addr, nodes[1].Addr)
	suite(t, Options{URL: url}, false, nodes...)

	for _, node := range nodes {
		node.Do("FLUSHALL")
	}
	s := open(t, Options{URL: url})
	for i := range 40 {
		put(t, s, fmt.Sprintf("space-%d", i), "k", "v")
	}
	for _, node := range nodes {
		if keys := allKeys(t, node.Client()); len(keys) < 4 {
			t.Errorf("the node %s holds %d keys: spaces are not spread", node.Addr, len(keys))
		}
	}
}

func TestClosed(t *testing.T) {
	server := redistest.Start(t)
	log := newJournal()
	s := open(t, Options{URL: "redis://" + server.Addr, Log: log.logger()})
	put(t, s, "space", "a", "v")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, _, err := s.Newest(t.Context(), "space", []string{"b"}); err == nil {
		t.Error("a closed store answers")
	}
	log.expect(t) // its end is no outage
}

// put stores a value that must not be there yet.
func put(t testing.TB, s *Store, space, key, value string) {
	t.Helper()
	stored, err := s.PutIfAbsent(t.Context(), space, key, []byte(value), time.Hour)
	if err != nil || !stored {
		t.Fatalf("PutIfAbsent = %t, %v", stored, err)
	}
}

// expect compares what Newest of keys finds; at -1 wants nothing.
func expect(t testing.TB, s *Store, space string, keys []string, at int, value string) {
	t.Helper()
	i, v, err := s.Newest(t.Context(), space, keys)
	if err != nil || i != at || string(v) != value {
		t.Fatalf("Newest = %d, %q, %v; want %d, %q", i, v, err, at, value)
	}
}

// unused is an address at which nobody listens.
func unused(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
