package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Server is what one Redis says of itself.
type Server struct {
	Addr       string // host:port, or the set's name with Sentinels
	Software   string // "redis" or "valkey"
	Version    string
	Role       string // "master" or "slave"
	UsedMemory int64  // bytes
	MaxMemory  int64  // bytes; 0: no limit
	Policy     string // maxmemory-policy
	Advice     []string
}

// String is one line for a terminal, without the advice.
func (s Server) String() string {
	limit := "no limit"
	if s.MaxMemory > 0 {
		limit = fmt.Sprintf("limit %d MiB", s.MaxMemory>>20)
	}
	return fmt.Sprintf("%s %s at %s (%s), %d MiB in use, %s, policy %s",
		s.Software, s.Version, s.Addr, s.Role, s.UsedMemory>>20, limit, s.Policy)
}

// Describe asks each server what it is and says whether that suits: for pleat
// check. It tries even while the breaker is open.
func (s *Store) Describe(ctx context.Context) ([]Server, error) {
	bounded, cancel := context.WithTimeout(ctx, s.opt.DialTimeout+s.opt.ReadTimeout)
	defer cancel()
	nodes, err := s.nodes(bounded)
	if err != nil {
		return nil, fmt.Errorf("redis: describe: %w", classify(err))
	}
	var all []Server
	for _, node := range nodes {
		text, err := node.Info(bounded, "server", "memory", "replication").Result()
		if err != nil {
			return nil, fmt.Errorf("redis: describe: %w", classify(err))
		}
		server := parseInfo(text)
		if server.Addr = s.target.Master; server.Addr == "" {
			server.Addr = address(node)
		}
		server.Advice = advise(server)
		all = append(all, server)
	}
	return all, nil
}

func address(node redis.Cmdable) string {
	if c, ok := node.(*redis.Client); ok {
		return c.Options().Addr
	}
	return ""
}

func parseInfo(text string) Server {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	number := func(key string) int64 {
		n, err := strconv.ParseInt(fields[key], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	s := Server{
		Software: "redis", Version: fields["redis_version"], Role: fields["role"], Policy: fields["maxmemory_policy"],
		UsedMemory: number("used_memory"), MaxMemory: number("maxmemory"),
	}
	if v := fields["valkey_version"]; v != "" {
		s.Software, s.Version = "valkey", v
	}
	return s
}

// advise says what of a server does not suit. Everything that Pleat stores has a
// time to live, so any volatile policy may drop it; what must not go first are
// leases, which are the youngest and the shortest-lived.
func advise(s Server) []string {
	var advice []string
	if s.Role == "slave" {
		advice = append(advice, "it is a read-only replica: folds are applied, new ones cannot be kept")
	}
	if old(s) {
		advice = append(advice, "it is older than Redis 6.2, which Pleat is not tested with")
	}
	if s.MaxMemory == 0 {
		advice = append(advice, "it has no maxmemory: it may grow until the system ends it; "+
			"set maxmemory, and maxmemory-policy volatile-lru")
		return advice
	}
	switch {
	case s.Policy == "noeviction":
		advice = append(advice, "maxmemory-policy noeviction: once full it refuses new folds; volatile-lru drops the longest unused")
	case s.Policy == "volatile-ttl":
		advice = append(advice, "maxmemory-policy volatile-ttl: it drops leases first, "+
			"and then two replicas may pay for one summary; volatile-lru suits")
	case strings.HasSuffix(s.Policy, "-random"):
		advice = append(advice, "maxmemory-policy "+s.Policy+": it may drop leases and folds in use; volatile-lru suits")
	case strings.HasPrefix(s.Policy, "allkeys-"):
		advice = append(advice, "maxmemory-policy "+s.Policy+": it may drop leases, and keys of others "+
			"that are to stay; volatile-lru suits")
	}
	return advice
}

func old(s Server) bool {
	parts := strings.SplitN(s.Version, ".", 3)
	if s.Software != "redis" || len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major < 6 || major == 6 && minor < 2)
}
