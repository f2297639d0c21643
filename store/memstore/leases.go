package memstore

import (
	"context"
	"time"
)

// Acquire implements store.Leases. A lease's value is its holder's token.
func (s *Store) Acquire(ctx context.Context, space, key, token string, life time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if life <= 0 {
		return false, errNotPositive
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.closed(space, now) {
		return false, nil
	}
	name := id{lease, space, key}
	if e := s.table.find(name, now); e != nil {
		if string(e.value) != token {
			return false, nil
		}
		s.table.use(e, now.Add(life))
		return true, nil
	}
	if err := s.table.insert(newEntry(name, []byte(token), now, life), now); err != nil {
		return false, err
	}
	return true, nil
}

// Held implements store.Leases.
func (s *Store) Held(ctx context.Context, space string, keys []string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, key := range keys {
		if s.table.find(id{lease, space, key}, now) != nil {
			return true, nil
		}
	}
	return false, nil
}

// Release implements store.Leases.
func (s *Store) Release(ctx context.Context, space, key, token string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.table.find(id{lease, space, key}, s.now()); e != nil && string(e.value) == token {
		s.table.remove(e)
	}
	return nil
}
