package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errNotPositive reports a caller's mistake: nothing lives for no time at all.
var errNotPositive = errors.New("redis: time to live is not positive")

// answer is what a lookup found.
type answer struct {
	tombstone int64         // spaceOpen, spaceMarked or spaceClosed
	index     int           // of the first key that has a value; -1: none
	left      time.Duration // that its value has to live
	stored    string        // the value as stored; "" if the caller has it at hand
}

// Newest implements store.Records. The local cache saves the way of a value
// that this process has seen, answers when Redis fails, and makes up for what
// Redis lost.
func (s *Store) Newest(ctx context.Context, space string, keys []string) (int, []byte, error) {
	if err := ctx.Err(); err != nil {
		return -1, nil, err
	}
	if len(keys) == 0 {
		return -1, nil, nil
	}
	at, local := s.cache.first(space, keys)
	asked := s.opt.Now()
	a, err := s.lookup(ctx, space, keys, at)
	switch {
	case err != nil && (at < 0 || ctx.Err() != nil):
		return -1, nil, err
	case err != nil:
		s.opt.Observer.StoreServedLocally("away")
		return at, local.value, nil //nolint:nilerr // the failure is noted, and memory has an answer
	case a.tombstone != spaceOpen:
		s.cache.forget(space, keys, a.index)
	case at >= 0 && (a.index < 0 || at < a.index):
		s.opt.Observer.StoreServedLocally("behind")
		s.restore(space, keys[at], local)
		return at, local.value, nil
	}
	if a.index < 0 {
		return -1, nil, nil
	}
	if a.index == at {
		s.cache.confirm(space, keys[at], asked, a.left)
		return at, local.value, nil
	}
	value, life, err := s.codec.decode(a.stored)
	if err != nil {
		return -1, nil, err
	}
	s.cache.add(space, keys[a.index], entry{value: value, life: life, confirmed: asked, expires: asked.Add(a.left)})
	return a.index, value, nil
}

// lookup asks Redis in one round trip (two, once, after it has forgotten its
// scripts). at is the position of the key whose value is at hand, or -1.
func (s *Store) lookup(ctx context.Context, space string, keys []string, at int) (answer, error) {
	base := s.keys.space(space)
	names := make([]string, 0, len(keys)+2)
	names = append(names, tombstone(base), index(base))
	for _, key := range keys {
		names = append(names, base+kindRecord+key)
	}
	a := answer{index: -1}
	err := s.call(ctx, "newest", s.opt.Budget, func(ctx context.Context) error {
		reply, err := s.scripts.lookup.Run(ctx, s.client, names, closedAbove, at, len(base)).Slice()
		if err == nil {
			a, err = parseAnswer(reply, len(keys))
		}
		return err
	})
	return a, err
}

func parseAnswer(reply []any, keys int) (answer, error) {
	var numbers [3]int64
	if len(reply) < len(numbers) {
		return answer{}, fmt.Errorf("%w: a lookup's answer has %d parts", ErrValue, len(reply))
	}
	for i := range numbers {
		n, ok := reply[i].(int64)
		if !ok {
			return answer{}, fmt.Errorf("%w: part %d of a lookup's answer is no number", ErrValue, i)
		}
		numbers[i] = n
	}
	a := answer{tombstone: numbers[0], index: int(numbers[1]), left: time.Duration(numbers[2]) * time.Millisecond}
	if a.index < -1 || a.index >= keys {
		return answer{}, fmt.Errorf("%w: a lookup of %d keys answered with index %d", ErrValue, keys, a.index)
	}
	if len(reply) > len(numbers) {
		a.stored, _ = reply[len(numbers)].(string)
	}
	return a, nil
}

// PutIfAbsent implements store.Records. What Redis does not take stays in the
// local cache, which puts it back when it is next asked for: a summary was paid
// for. The error is returned all the same.
func (s *Store) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, ttl time.Duration,
) (bool, error) {
	if ttl <= 0 {
		return false, errNotPositive
	}
	asked := s.opt.Now()
	local := entry{value: append([]byte{}, value...), life: ttl, confirmed: asked, expires: asked.Add(ttl)}
	stored, err := s.put(ctx, space, key, local)
	if stored || err != nil && ctx.Err() == nil && !errors.Is(err, ErrValue) {
		s.cache.add(space, key, local)
	}
	return stored, err
}

func (s *Store) put(ctx context.Context, space, key string, e entry) (stored bool, err error) {
	encoded, err := s.codec.encode(e.value, e.life)
	if err != nil {
		return false, err
	}
	base := s.keys.space(space)
	names := []string{tombstone(base), index(base), base + kindRecord + key}
	err = s.call(ctx, "put", s.opt.ReadTimeout, func(ctx context.Context) error {
		stored, err = did(ctx, s.client, s.scripts.put, names,
			closedAbove, milliseconds(e.life), kindRecord+key, encoded)
		return err
	})
	return stored, err
}

// restoreQueue bounds the folds that wait to be put back. Their values are
// shared with the local cache.
const restoreQueue = 256

// restore is a fold that Redis has lost.
type restore struct {
	space, key string
	entry      entry
}

// restore has a fold put back behind the response. What finds no place in the
// queue is found missing again by the next lookup.
func (s *Store) restore(space, key string, e entry) {
	if !s.cache.restorable(space, key) {
		return
	}
	select {
	case s.restores <- restore{space, key, e}:
	default:
	}
}

// putBack puts back what restore queued, until ctx ends.
func (s *Store) putBack(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-s.restores:
			// The tombstone is looked at by put; a failure is noted by call, and
			// the next lookup tries again.
			_, _ = s.put(ctx, r.space, r.key, r.entry)
		}
	}
}
