package redisstore

import (
	"context"
	"time"
)

// Acquire implements store.Leases.
func (s *Store) Acquire(ctx context.Context, space, key, token string, life time.Duration) (held bool, err error) {
	if life <= 0 {
		return false, errNotPositive
	}
	base := s.keys.space(space)
	names := []string{tombstone(base), index(base), base + kindLease + key}
	err = s.call(ctx, "acquire", s.opt.ReadTimeout, func(ctx context.Context) error {
		held, err = did(ctx, s.client, s.scripts.acquire, names,
			closedAbove, milliseconds(life), kindLease+key, token)
		return err
	})
	return held, err
}

// Held implements store.Leases.
func (s *Store) Held(ctx context.Context, space string, keys []string) (held bool, err error) {
	if len(keys) == 0 {
		return false, ctx.Err()
	}
	base := s.keys.space(space)
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = base + kindLease + key
	}
	err = s.call(ctx, "held", s.opt.ReadTimeout, func(ctx context.Context) error {
		n, err := s.client.Exists(ctx, names...).Result()
		held = n > 0
		return err
	})
	return held, err
}

// Release implements store.Leases.
func (s *Store) Release(ctx context.Context, space, key, token string) error {
	base := s.keys.space(space)
	names := []string{index(base), base + kindLease + key}
	return s.call(ctx, "release", s.opt.ReadTimeout, func(ctx context.Context) error {
		_, err := did(ctx, s.client, s.scripts.release, names, token, kindLease+key)
		return err
	})
}
