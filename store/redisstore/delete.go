package redisstore

import (
	"context"
	"errors"
)

// unlinkBatch is how many keys one command removes: more would hold up others.
const unlinkBatch = 500

// Delete implements store.Store. A tombstone closes the space and hides what is
// in it; then the keys that the index names are removed. A deletion that fails
// half-way may be repeated. An error that is ErrFull means that the space is
// empty but that no tombstone stands.
func (s *Store) Delete(ctx context.Context, space string) error {
	base := s.keys.space(space)
	defer s.cache.forgetSpace(space)
	return s.call(ctx, "delete", 2*s.opt.ReadTimeout, func(ctx context.Context) error {
		names := []string{tombstone(base), index(base)}
		shut := func() ([]string, error) {
			return s.scripts.shut.Run(ctx, s.client, names, tombstoneKept.Milliseconds()).StringSlice()
		}
		members, err := shut()
		if errors.Is(classify(err), ErrFull) {
			members, err = s.makeRoom(ctx, base, shut)
		}
		if err != nil {
			return err
		}
		if err := s.unlink(ctx, base, members); err != nil {
			return err
		}
		return s.client.Unlink(ctx, index(base)).Err()
	})
}

// makeRoom removes what is in the space before its tombstone is set, which a
// full server takes only then.
func (s *Store) makeRoom(ctx context.Context, base string, shut func() ([]string, error)) ([]string, error) {
	members, err := s.client.ZRange(ctx, index(base), 0, -1).Result()
	if err != nil {
		return nil, err
	}
	if err := s.unlink(ctx, base, members); err != nil {
		return nil, err
	}
	return shut()
}

// unlink removes members of a space's index, though not from the index.
func (s *Store) unlink(ctx context.Context, base string, members []string) error {
	for len(members) > 0 {
		n := min(unlinkBatch, len(members))
		names := make([]string, n)
		for i, member := range members[:n] {
			names[i] = base + member
		}
		if err := s.client.Unlink(ctx, names...).Err(); err != nil {
			return err
		}
		members = members[n:]
	}
	return nil
}
