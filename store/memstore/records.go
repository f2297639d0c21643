package memstore

import (
	"context"
	"time"
)

// Newest implements store.Records. It renews what it finds every time.
func (s *Store) Newest(ctx context.Context, space string, keys []string) (int, []byte, error) {
	if err := ctx.Err(); err != nil {
		return -1, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for i, key := range keys {
		if e := s.table.find(id{record, space, key}, now); e != nil {
			s.table.use(e, now.Add(e.life))
			return i, e.value, nil
		}
	}
	return -1, nil, nil
}

// PutIfAbsent implements store.Records.
func (s *Store) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, ttl time.Duration,
) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if ttl <= 0 {
		return false, errNotPositive
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	name := id{record, space, key}
	if s.closed(space, now) || s.table.find(name, now) != nil {
		return false, nil
	}
	if err := s.table.insert(newEntry(name, value, now, ttl), now); err != nil {
		return false, err
	}
	return true, nil
}
