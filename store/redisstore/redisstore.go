// Package redisstore keeps what compaction stores in Redis, so that several
// Pleat processes behind a load balancer act as one: a fold that one of them
// makes serves all, and a lease lets one of them at a time summarize a
// conversation. It speaks to one server, to a set watched by Sentinels and to a
// Cluster, of Redis 6.2 or later and of Valkey.
//
// # Keys
//
// All keys begin with the prefix and the schema's version. Those of one space
// carry it as their hash tag and so share a slot of a Cluster:
//
//	pleat:1:{space}:r:key   record, a string (see encode)
//	pleat:1:{space}:l:key   lease, a string: the holder's token
//	pleat:1:{space}:c:row   row of counters, a hash
//	pleat:1:{space}:i       index of the three above, a sorted set by time of expiry
//	pleat:1:{space}:x       tombstone
//	pleat:schema            the schema's version
//
// Each of them has a time to live. The index is what lets Delete find a space's
// keys without a walk through the whole database; each write prunes it, so it
// holds no more than what is alive.
//
// # What a lookup costs
//
// One round trip: a script that looks for the first key that has a value, renews
// that value when it is due, and returns it unless this process has it at hand.
// The alternative, MGET, brings every value of a history, though the newest is
// all that is wanted. Measured over loopback on two cores, 16 folds of 12 KB
// among the keys: see BenchmarkNewest.
//
// # When Redis fails
//
// A lookup waits for at most Options.Budget. What then fails opens a breaker:
// calls fail at once with ErrAway until a PING in the background is answered.
// Folds lately used stay in a local cache, which answers meanwhile. Every fault
// that an operator can mend has an error of its own, with a hint: see Fault.
//
// # What a user of Redis must be allowed
//
//	~PREFIX:* +evalsha +eval +ping +get +set +exists +getrange +pttl +pexpire +zadd
//	+zrem +zrange +zremrangebyscore +hincrby +hset +hgetall +unlink +scan +time +info
//
// and for a Cluster +cluster|slots +cluster|shards besides. A user that may only read is served
// reads.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pleat-proxy/pleat/store"
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

// Store implements store.Store. It is safe for concurrent use.
type Store struct {
	opt     Options
	client  redis.UniversalClient
	keys    layout
	codec   *codec
	scripts scripts
	cache   *cache
	health  *health

	restores chan restore // folds to put back
	stop     context.CancelFunc
	wg       sync.WaitGroup
	once     sync.Once // runs stop
}

var _ store.Store = (*Store)(nil)

// Open makes a Store and looks whether Redis answers, for as long as DialTimeout
// at most. A Redis that does not is no error: the Store goes on trying. An error
// means that the options are wrong; it holds no password. Close ends the Store.
func Open(ctx context.Context, o Options) (*Store, error) {
	target, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	client, err := newClient(target, o)
	if err != nil {
		return nil, err
	}
	codec, err := newCodec()
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s := &Store{
		opt:      o,
		client:   client,
		keys:     layout{prefix: o.Prefix},
		codec:    codec,
		scripts:  newScripts(),
		cache:    newCache(o.CacheBytes, o.Now),
		health:   newHealth(o.Log, o.Observer),
		restores: make(chan restore, restoreQueue),
	}
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.check(ctx)
	s.wg.Go(func() { s.keep(background) })
	s.wg.Go(func() { s.putBack(background) })
	return s, nil
}

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

// Close ends background work and closes all connections. Calls after it fail.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		s.stop()
		s.wg.Wait()
		err = s.client.Close()
		s.codec.close()
	})
	return err
}

// Ping implements store.Store. While the breaker is open it costs nothing and
// says why.
func (s *Store) Ping(ctx context.Context) error {
	return s.call(ctx, "ping", s.opt.DialTimeout, func(ctx context.Context) error {
		return s.client.Ping(ctx).Err()
	})
}

// Trouble says what keeps Redis from serving, or from taking writes, at this
// moment, and is nil when nothing does. It asks nobody.
func (s *Store) Trouble() error { return s.health.trouble() }

// call does one thing with Redis, for as long as limit at most, unless the
// breaker is open; and tells how it went. The caller's own end is returned as
// such and is nobody's fault.
func (s *Store) call(ctx context.Context, op string, limit time.Duration, f func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	epoch, err := s.health.allow()
	if err != nil {
		s.opt.Observer.StoreCalled(op, 0, faultName(err))
		return err
	}
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = classify(f(bounded))
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	s.opt.Observer.StoreCalled(op, time.Since(begun), faultName(err))
	s.health.note(epoch, op, err)
	if err != nil {
		return fmt.Errorf("redis: %s: %w", op, err)
	}
	return nil
}
