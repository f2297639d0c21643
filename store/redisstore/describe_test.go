package redisstore

import (
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

func TestDescribe(t *testing.T) {
	server := redistest.Start(t, "--maxmemory", "64mb", "--maxmemory-policy", "volatile-ttl")
	s := open(t, Options{URL: "redis://" + server.Addr})
	all, err := s.Describe(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("Describe = %v, %v", all, err)
	}
	got := all[0]
	if got.Addr != server.Addr || got.Role != "master" || got.MaxMemory != 64<<20 || got.UsedMemory == 0 ||
		got.Policy != "volatile-ttl" || !strings.HasPrefix(got.Version, "7.") || len(got.Advice) != 1 {
		t.Errorf("Describe = %+v", got)
	}
	if text := got.String(); !strings.Contains(text, "limit 64 MiB, policy volatile-ttl") {
		t.Errorf("String = %q", text)
	}
	server.Kill()
	_, err = s.Describe(t.Context())
	expectFault(t, err, ErrAway)
}

func TestDescribeCluster(t *testing.T) {
	nodes := redistest.StartCluster(t, 3)
	s := open(t, Options{URL: "redis+cluster://" + nodes[1].Addr})
	all, err := s.Describe(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("Describe = %v, %v", all, err)
	}
}

func TestAdvice(t *testing.T) {
	const limit = 1 << 30
	tests := []struct {
		server Server
		want   string // "" : it suits
	}{
		{Server{Version: "7.0.15", MaxMemory: limit, Policy: "volatile-lru"}, ""},
		{Server{Version: "6.2.0", MaxMemory: limit, Policy: "volatile-lfu"}, ""},
		{Server{Version: "6.0.16", MaxMemory: limit, Policy: "volatile-lru"}, "older"},
		{Server{Software: "valkey", Version: "8.0", MaxMemory: limit, Policy: "volatile-lru"}, ""},
		{Server{Version: "7.0", MaxMemory: limit, Policy: "noeviction"}, "refuses new folds"},
		{Server{Version: "7.0", Policy: "noeviction"}, "no maxmemory"},
		{Server{Version: "7.0", MaxMemory: limit, Policy: "allkeys-lru"}, "leases"},
		{Server{Version: "7.0", MaxMemory: limit, Policy: "allkeys-random"}, "leases"},
		{Server{Version: "7.0", MaxMemory: limit, Policy: "volatile-random"}, "leases"},
		{Server{Version: "7.0", MaxMemory: limit, Policy: "volatile-ttl"}, "leases first"},
		{Server{Version: "7.0", MaxMemory: limit, Policy: "volatile-lru", Role: "slave"}, "read-only"},
	}
	for _, test := range tests {
		if test.server.Software == "" {
			test.server.Software = "redis"
		}
		got := strings.Join(advise(test.server), "; ")
		if got == "" != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("advise(%+v) = %q, want something about %q", test.server, got, test.want)
		}
	}
	got := parseInfo("# Server\r\nvalkey_version:8.0.1\r\nredis_version:7.2.4\r\n")
	if got.Software != "valkey" || got.Version != "8.0.1" {
		t.Errorf("a Valkey is %+v", got)
	}
}
