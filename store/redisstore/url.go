package redisstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Target is which Redis a URL names.
type Target struct {
	Addrs    []string // host:port of the server, the Sentinels or some of the Cluster
	Master   string   // name that the Sentinels know the primary by; "" without them
	DB       int      // database; 0 in a Cluster
	Cluster  bool
	TLS      bool
	Username string
	Password string
}

// String names the servers, and neither user nor password.
func (t Target) String() string {
	hosts := strings.Join(t.Addrs, ",")
	switch {
	case t.Cluster:
		return "Redis Cluster at " + hosts
	case t.Master != "":
		return "Redis " + t.Master + " of the Sentinels at " + hosts
	default:
		return "Redis at " + hosts
	}
}

const (
	portRedis    = "6379"
	portSentinel = "26379"
)

// ParseURL reads one of
//
//	redis://[user:password@]host[:6379][/db]
//	redis+sentinel://[user:password@]host[:26379],host…/name[/db]
//	redis+cluster://[user:password@]host[:6379],host…
//
// or the same with rediss, which is with TLS. User and password are for Redis,
// not for its Sentinels, and percent-encoded. Errors say what is wrong and never
// quote what may be part of a password.
func ParseURL(raw string) (Target, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return Target{}, errors.New("redis: URL has no scheme, such as redis://")
	}
	var t Target
	kind, suffix, _ := strings.Cut(strings.ToLower(scheme), "+")
	t.TLS = kind == "rediss"
	if kind != "redis" && !t.TLS || suffix != "" && suffix != "sentinel" && suffix != "cluster" {
		return Target{}, errors.New("redis: URL's scheme is none of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster")
	}
	if strings.ContainsAny(rest, "?#") {
		return Target{}, errors.New("redis: URL has a ? or #: options are keys of the configuration, and in a password it is %3F or %23")
	}
	authority, path, _ := strings.Cut(rest, "/")
	if err := takeCredentials(&t, &authority); err != nil {
		return Target{}, err
	}
	port := portRedis
	if suffix == "sentinel" {
		port = portSentinel
	}
	if err := takeHosts(&t, authority, port); err != nil {
		return Target{}, err
	}
	path = strings.TrimSuffix(path, "/")
	switch suffix {
	case "cluster":
		t.Cluster = true
		if path != "" {
			return Target{}, errors.New("redis: URL of a Cluster ends after its hosts: it has one database")
		}
	case "sentinel":
		t.Master, path, _ = strings.Cut(path, "/")
		if t.Master == "" {
			return Target{}, errors.New("redis: URL of Sentinels lacks the primary's name: redis+sentinel://host/name")
		}
		err := takeDatabase(&t, path)
		return t, err
	default:
		if len(t.Addrs) > 1 {
			return Target{}, errors.New("redis: URL has several hosts, which is for redis+sentinel:// and redis+cluster://")
		}
		err := takeDatabase(&t, path)
		return t, err
	}
	return t, nil
}

// takeCredentials takes user and password off the authority.
func takeCredentials(t *Target, authority *string) error {
	at := strings.LastIndexByte(*authority, '@')
	if at < 0 {
		return nil
	}
	user, password, _ := strings.Cut((*authority)[:at], ":")
	*authority = (*authority)[at+1:]
	var err1, err2 error
	t.Username, err1 = url.PathUnescape(user)
	t.Password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("redis: URL's user or password is not percent-encoded: write % as %25")
	}
	return nil
}

// takeHosts reads host[:port],host[:port]… A host that is not one is not quoted:
// a stray / in a password makes a part of the password stand there.
func takeHosts(t *Target, list, port string) error {
	for host := range strings.SplitSeq(list, ",") {
		at := host
		if !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
			at = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		h, p, err := net.SplitHostPort(at)
		n, errPort := strconv.ParseUint(p, 10, 16)
		if err != nil || errPort != nil || h == "" || n == 0 {
			return errors.New("redis: URL's hosts are not host:port,…: is a / or @ in the password percent-encoded (%2F, %40)?")
		}
		t.Addrs = append(t.Addrs, at)
	}
	return nil
}

const maxDB = 1<<16 - 1 // far above any server's setting of databases

func takeDatabase(t *Target, path string) error {
	if path == "" {
		return nil
	}
	n, err := strconv.ParseUint(path, 10, 16)
	if err != nil || n > maxDB {
		return fmt.Errorf("redis: URL's database is not a number from 0 to %d", maxDB)
	}
	t.DB = int(n)
	return nil
}
