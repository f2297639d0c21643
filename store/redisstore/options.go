package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

// Options are the choices that a Store is made with. URL is required; of all
// others the zero value means the default that is named.
type Options struct {
	// URL says which Redis: see ParseURL.
	URL string

	// Prefix begins every key: 1 to 64 of A-Z a-z 0-9 . _ : - ("pleat").
	// Processes share folds if they share it.
	Prefix string

	// Username and Password replace those of the URL. SentinelUsername and
	// SentinelPassword are for the Sentinels themselves (none).
	Username, Password                 string
	SentinelUsername, SentinelPassword string

	// TLS is for rediss:// forms only.
	TLS TLS

	// PoolSize is how many connections to each server are kept (32).
	PoolSize int

	// DialTimeout bounds the making of a connection (1 s).
	DialTimeout time.Duration

	// ReadTimeout and WriteTimeout bound one command of background work (1 s).
	ReadTimeout, WriteTimeout time.Duration

	// Budget bounds one lookup, which a request waits for (100 ms).
	Budget time.Duration

	// CacheBytes bounds the local cache of folds (32 MiB); less than 0: none.
	CacheBytes int64

	// Log is told when Redis fails and when it is well again, once each (discard).
	Log *slog.Logger

	// Observer is told of every call (none).
	Observer Observer

	// Now is the clock of the local cache (time.Now).
	Now func() time.Time
}

const (
	defaultPrefix     = "pleat"
	defaultPool       = 32
	defaultTimeout    = time.Second
	defaultBudget     = 100 * time.Millisecond
	defaultCacheBytes = 32 << 20
)

// complete fills in defaults and says what is not possible.
func (o *Options) complete() error {
	setDefault(&o.Prefix, defaultPrefix)
	setDefault(&o.PoolSize, defaultPool)
	setDefault(&o.DialTimeout, defaultTimeout)
	setDefault(&o.ReadTimeout, defaultTimeout)
	setDefault(&o.WriteTimeout, defaultTimeout)
	setDefault(&o.Budget, defaultBudget)
	setDefault(&o.CacheBytes, defaultCacheBytes)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if !regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`).MatchString(o.Prefix) {
		return fmt.Errorf("redis: prefix %q: it is 1 to 64 of A-Z a-z 0-9 . _ : -", o.Prefix)
	}
	if o.PoolSize < 1 || min(o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.Budget) < time.Millisecond {
		return errors.New("redis: pool size is at least 1, and time-outs and budget at least 1ms")
	}
	return nil
}

func setDefault[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}
