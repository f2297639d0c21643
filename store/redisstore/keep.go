package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// probeFirst and probeLast are the first and the longest pause between two
	// probes of a Redis that is away.
	probeFirst = 100 * time.Millisecond
	probeLast  = 2 * time.Second

	// steady is how long Redis must have been well for the next outage to be
	// probed from probeFirst again. Until then pauses go on growing, so that one
	// that answers PING and nothing else costs a request its budget rarely.
	steady = 10 * time.Second

	// markLife is how long the mark of the schema stands after the last process
	// of that schema; markEvery is how often each renews it.
	markLife  = time.Hour
	markEvery = 10 * time.Minute
)

// keep renews the mark, and probes a Redis that is away until it is back. It
// runs until ctx ends.
func (s *Store) keep(ctx context.Context) {
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	pause, back := probeFirst, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.check(ctx)
		case <-s.health.opened:
			if time.Since(back) > steady {
				pause = probeFirst
			}
		}
		for s.health.away() {
			if !sleep(ctx, pause) {
				return
			}
			pause = min(2*pause, probeLast)
			s.check(ctx)
			back = time.Now()
		}
	}
}

// sleep waits for about d (up to a tenth less, so that replicas do not probe in
// step) and reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d - rand.N(d/10+1)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// check probes Redis once, for DialTimeout at most, and takes note.
func (s *Store) check(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, s.opt.DialTimeout)
	defer cancel()
	err := classify(s.probe(bounded))
	if ctx.Err() == nil {
		s.health.probed(err)
	}
}

// probe asks every server for a sign of life, and the mark for the schema.
func (s *Store) probe(ctx context.Context) error {
	var err error
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return node.Ping(ctx).Err()
		})
	} else {
		err = s.client.Ping(ctx).Err()
	}
	if err != nil {
		return err
	}
	return s.mark(ctx)
}

// mark looks whose schema Redis is in use by, and marks it as this one's. Two
// schemas do not share a key, so the mark prevents no damage; it keeps two
// versions from paying for the same summaries unnoticed.
func (s *Store) mark(ctx context.Context) error {
	found, err := s.client.Get(ctx, s.keys.marker()).Result()
	switch {
	case err != nil && !errors.Is(err, redis.Nil):
		return err
	case err == nil && found != schema:
		return fmt.Errorf("%w: it is marked as schema %.20q, this one is %q", ErrSchema, found, schema)
	}
	// Whoever marks an unmarked one first is found out by the other's next look.
	err = classify(s.client.Set(ctx, s.keys.marker(), schema, markLife).Err())
	if f := faultOf(err); f != nil && f.shuts {
		return err
	}
	s.health.noteWrite(faultOf(err), err)
	return nil
}
