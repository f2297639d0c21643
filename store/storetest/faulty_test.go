package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/memstore"
)

// The faulty stores. Each overrides what it does wrong.

type lastKey struct{ *memstore.Store }

func (f lastKey) Newest(ctx context.Context, space string, keys []string) (int, []byte, error) {
	backwards := slices.Clone(keys)
	slices.Reverse(backwards)
	i, value, err := f.Store.Newest(ctx, space, backwards)
	if i >= 0 {
		i = len(keys) - 1 - i
	}
	return i, value, err
}

type absentFails struct{ *memstore.Store }

func (f absentFails) Newest(ctx context.Context, space string, keys []string) (int, []byte, error) {
	i, value, err := f.Store.Newest(ctx, space, keys)
	if i < 0 && err == nil {
		err = errors.New("no such key")
	}
	return i, value, err
}

// ageing halves every life, so that a record dies of age between two uses.
type ageing struct{ *memstore.Store }

func (f ageing) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, ttl time.Duration,
) (bool, error) {
	return f.Store.PutIfAbsent(ctx, space, key, value, ttl/2)
}

type aliasing struct {
	*memstore.Store

	mu   sync.Mutex // protects last
	last map[string][]byte
}

func (f *aliasing) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, ttl time.Duration,
) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last[key] = value
	return f.Store.PutIfAbsent(ctx, space, key, value, ttl)
}

func (f *aliasing) Newest(ctx context.Context, space string, keys []string) (int, []byte, error) {
	i, value, err := f.Store.Newest(ctx, space, keys)
	f.mu.Lock()
	defer f.mu.Unlock()
	if i >= 0 {
		value = f.last[keys[i]]
	}
	return i, value, err
}

type joined struct{ *memstore.Store }

func (f joined) Newest(ctx context.Context, space string, keys []string) (int, []byte, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = space + ":" + key
	}
	return f.Store.Newest(ctx, "all", names)
}

func (f joined) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, ttl time.Duration,
) (bool, error) {
	return f.Store.PutIfAbsent(ctx, "all", space+":"+key, value, ttl)
}

type endless struct{ *memstore.Store }

func (f endless) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, _ time.Duration,
) (bool, error) {
	return f.Store.PutIfAbsent(ctx, space, key, value, 1000*time.Hour)
}

func (f endless) Acquire(ctx context.Context, space, key, token string, _ time.Duration) (bool, error) {
	return f.Store.Acquire(ctx, space, key, token, 1000*time.Hour)
}

func (f endless) Add(ctx context.Context, space string, delta store.Delta) error {
	delta.Expiry = 1000 * time.Hour
	return f.Store.Add(ctx, space, delta)
}

type generous struct{ *memstore.Store }

func (f generous) Acquire(ctx context.Context, space, key, token string, life time.Duration) (bool, error) {
	_, err := f.Store.Acquire(ctx, space, key, token, life)
	return err == nil, err
}

type anyRelease struct {
	*memstore.Store

	holder map[string]string
}

func (f *anyRelease) Acquire(ctx context.Context, space, key, token string, life time.Duration) (bool, error) {
	held, err := f.Store.Acquire(ctx, space, key, token, life)
	if held {
		f.holder[space+key] = token
	}
	return held, err
}

func (f *anyRelease) Release(ctx context.Context, space, key, _ string) error {
	return f.Store.Release(ctx, space, key, f.holder[space+key])
}

// setting forgets a row's numbers with every addition of the same names.
type setting struct {
	*memstore.Store

	mu   sync.Mutex // protects sums
	sums map[string]int64
}

func (f *setting) Add(ctx context.Context, space string, delta store.Delta) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	corrected := maps.Clone(delta.Add)
	for name, n := range delta.Add {
		corrected[name] = n - f.sums[name]
	}
	f.sums = delta.Add
	delta.Add = corrected
	return f.Store.Add(ctx, space, delta)
}

type shortPages struct{ *memstore.Store }

func (f shortPages) List(ctx context.Context, cursor string, limit int) ([]store.Row, string, error) {
	rows, next, err := f.Store.List(ctx, cursor, limit)
	if next != "" {
		rows = rows[:len(rows)-1]
	}
	return rows, next, err
}

type longPages struct{ *memstore.Store }

func (f longPages) List(ctx context.Context, cursor string, limit int) ([]store.Row, string, error) {
	return f.Store.List(ctx, cursor, limit+1)
}

// reopening gives a deleted space another name inside.
type reopening struct{ *memstore.Store }

func (f reopening) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, ttl time.Duration,
) (bool, error) {
	stored, err := f.Store.PutIfAbsent(ctx, space, key, value, ttl)
	if stored || err != nil {
		return stored, err
	}
	return f.Store.PutIfAbsent(ctx, space+":again", key, value, ttl)
}

type closedFails struct{ *memstore.Store }

func (f closedFails) Acquire(ctx context.Context, space, key, token string, life time.Duration) (bool, error) {
	held, err := f.Store.Acquire(ctx, space, key, token, life)
	if !held && err == nil {
		err = fmt.Errorf("%s is closed", space)
	}
	return held, err
}

type forever struct {
	*memstore.Store

	gone map[string]bool
}

func (f *forever) Delete(ctx context.Context, space string) error {
	f.gone[space] = true
	return f.Store.Delete(ctx, space)
}

func (f *forever) PutIfAbsent(
	ctx context.Context, space, key string, value []byte, ttl time.Duration,
) (bool, error) {
	if f.gone[space] {
		return false, nil
	}
	return f.Store.PutIfAbsent(ctx, space, key, value, ttl)
}

type deaf struct{ *memstore.Store }

func (f deaf) Release(ctx context.Context, space, key, token string) error {
	return f.Store.Release(context.WithoutCancel(ctx), space, key, token)
}
