// Package redisstore keeps what compaction stores in Redis, so that several
// Pleat processes behind a load balancer act as one: a fold that one of them
// makes serves all, and a lease lets one of them at a time summarize a
// conversation. It speaks to one server, to a set watched by Sentinels and to a
// Cluster. It is tested with Redis 7.0 and uses nothing newer than 6.2.
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
// MGET would bring every fold of a history, of which the newest alone is wanted;
// EXISTS in a pipeline would need a second trip, and neither could renew or heed
// a tombstone. Measured over loopback on two cores (BenchmarkNewest, median of
// three), with 11 and 16 folds among the keys, of 12 KB each, stored in 3.7 KB:
//
//	                          100 keys   500 keys
//	script, value at hand     0.07 ms    0.21 ms
//	script, value fetched     0.12 ms    0.27 ms   with decompression
//	script, nothing there     0.06 ms    0.23 ms
//	MGET                      0.08 ms    0.24 ms   and 40 to 60 KB on the wire
//	MGET, nothing there       0.04 ms    0.12 ms
//	EXISTS in a pipeline      0.08 ms    0.35 ms
//
// The rest is one write a fold, two and a renewal a job for its lease, and one a
// second for each session in use.
//
// # When Redis fails
//
// A lookup waits for at most Options.Budget. What then fails opens a breaker:
// calls fail at once with ErrAway until a PING in the background is answered.
// Folds lately used stay in a local cache, which answers meanwhile. Every fault
// that an operator can mend has an error of its own, with a hint: see Error. A
// fold that Redis lost, or did not take, is put back when it is next in use. A
// fail-over may lose a lease as well, and the last second of the counters: at
// worst one summary is paid for twice.
//
// # What a user of Redis must be allowed
//
//	~PREFIX:* +evalsha +eval +ping +get +set +exists +getrange +pttl +pexpire +zadd
//	+zrem +zrange +zremrangebyscore +hincrby +hset +hgetall +unlink +scan +time +info
//
// and +cluster|slots for a Cluster. A user that may only read is served reads.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pleat-proxy/pleat/store"
)

// Store implements store.Store. It is safe for concurrent use.
type Store struct {
	opt     Options
	target  Target
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
		target:   target,
		client:   client,
		keys:     layout{prefix: o.Prefix},
		codec:    codec,
		scripts:  newScripts(),
		cache:    newCache(o.CacheBytes, o.Now),
		health:   newHealth(o.Log, o.Observer),
		restores: make(chan restore, restoreQueue),
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.check(ctx)
	s.wg.Go(func() { s.keep(background) })
	s.wg.Go(func() { s.putBack(background) })
	return s, nil
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
