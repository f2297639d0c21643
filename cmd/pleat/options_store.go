package main

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/pleat-proxy/pleat/store/redisstore"
)

func storeRows(c *Config) []option {
	s := &c.Store
	return []option{
		{"store", storePlace(s), "memory",
			"where folds are kept; memory forgets them when the process ends, a Redis serves many replicas " +
				"(docs/operations.md). A password is better given as store_password"},
		{"store_memory", size(&s.Memory, mib, 1024*gib), "256MiB",
			"what the store memory may hold; what was used longest ago goes first"},
		{"store_fold_ttl", duration(&s.FoldTTL, time.Hour, 8760*time.Hour), "720h", "how long a fold lives without being used"},
		{"store_session_ttl", duration(&s.SessionTTL, time.Hour, 8760*time.Hour), "168h",
			"how long a session's counters live without a request"},
	}
}

func redisRows(c *Config) []option {
	r := &c.Store.Redis
	timeout := func(p *time.Duration) kind { return duration(p, 10*time.Millisecond, time.Minute) }
	return []option{
		{"store_prefix", prefix(&r.Prefix), "pleat", "what every key in Redis begins with; replicas share folds if they share it"},
		{"store_pool_size", count(&r.PoolSize, "connections", 1, 10_000), "32", "connections to each server"},
		{"store_budget", duration(&r.Budget, time.Millisecond, 10*time.Second), "100ms",
			"how long a request waits for Redis at most; then it goes on with what this process remembers"},
		{"store_dial_timeout", timeout(&r.DialTimeout), "1s", "how long making a connection to Redis may take"},
		{"store_read_timeout", timeout(&r.ReadTimeout), "1s", "how long a command in the background may wait for its answer"},
		{"store_write_timeout", timeout(&r.WriteTimeout), "1s", "how long sending a command in the background may take"},
		{"store_cache", size(&r.Cache, 0, 64*gib), "32MiB",
			"folds lately used that this process remembers, for when Redis is away or has lost them; 0 is none"},
		{"store_username", plainName(&r.Username), "", "the user of Redis, in place of the URL's"},
		{"store_password", secret(&r.Password, 1), "", "the password of Redis, in place of the URL's"},
		{"store_password_file", filePath(&r.PasswordFile), "", "a file that holds store_password, read once at the start"},
		{"store_sentinel_username", plainName(&r.SentinelUsername), "", "the user of the Sentinels, where they ask for one"},
		{"store_sentinel_password", secret(&r.SentinelPassword, 1), "", "the password of the Sentinels, where they ask for one"},
		{"store_sentinel_password_file", filePath(&r.SentinelPasswordFile), "",
			"a file that holds store_sentinel_password, read once at the start"},
		{"store_tls_ca", pemPath(&r.CA), "", "authorities to trust for Redis in place of the system's"},
		{"store_tls_cert", pemPath(&r.Cert), "", "the certificate that Pleat shows to Redis; needs store_tls_key"},
		{"store_tls_key", pemPath(&r.Key), "", "the key of store_tls_cert"},
		{"store_tls_server_name", plainName(&r.ServerName), "", "the name that the certificate of Redis must hold, where it is not the URL's host"},
	}
}

// storePlace is where folds are kept.
func storePlace(s *StoreConfig) kind {
	return kind{
		name: "store",
		allowed: "memory, redis://[USER:PASSWORD@]HOST:PORT[/DB], redis+sentinel://HOST:PORT,…/NAME[/DB] or redis+cluster://HOST:PORT,… " +
			"(rediss is redis with TLS)",
		redact: withoutUser,
		parse: func(text string) error {
			if text == "memory" {
				s.Kind, s.URL = text, ""
				return nil
			}
			scheme, _, ok := strings.Cut(text, ":")
			if !ok || !strings.HasPrefix(strings.ToLower(scheme), "redis") {
				if scheme == "file" {
					return errors.New("this build has no store of the kind file")
				}
				return errors.New("unknown" + didYouMean(nearest(text, []string{"memory"}), ""))
			}
			target, err := redisstore.ParseURL(text)
			if err != nil {
				return errors.New("the " + strings.TrimPrefix(err.Error(), "redis: "))
			}
			s.Kind, s.URL = target.String(), text
			return nil
		},
	}
}

// withoutUser hides what stands before a URL's last @. A password may hold what
// should have been percent-encoded, slashes and spaces included.
func withoutUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	scheme := ""
	if end := strings.Index(text[:at], "://"); end >= 0 {
		scheme = text[:end+len("://")]
	}
	return scheme + masked + text[at:]
}

// prefix is what keys begin with.
func prefix(p *string) kind {
	pattern := regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)
	return kind{
		name:    "prefix",
		allowed: "1 to 64 of A-Z a-z 0-9 . _ : -",
		parse: func(text string) error {
			if !pattern.MatchString(text) {
				return errors.New("not fit to begin a key")
			}
			*p = text
			return nil
		},
	}
}

// plainName is a name: what a secret may hold, but shown.
func plainName(p *string) kind {
	k := secret(p, 1)
	k.name, k.secret = "name", false
	return k
}

// pemPath names a file in PEM that is read once, at the start.
func pemPath(p *string) kind {
	return kind{
		name:    "path",
		allowed: "a readable file in PEM; a relative path begins at the working directory",
		parse: func(text string) error {
			if text == "" {
				return errors.New("empty")
			}
			*p = text
			return nil
		},
	}
}
