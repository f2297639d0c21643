package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pleat-proxy/pleat/store"
)

// What a field of a row's hash begins with.
const (
	fieldNumber = "+"
	fieldLabel  = "="
)

// Add implements store.Counters: one round trip.
func (s *Store) Add(ctx context.Context, space string, delta store.Delta) error {
	if delta.Expiry <= 0 {
		return errNotPositive
	}
	base := s.keys.space(space)
	names := []string{tombstone(base), index(base), base + kindRow + delta.Row}
	args := []any{closedAbove, milliseconds(delta.Expiry), kindRow + delta.Row, len(delta.Add)}
	for name, more := range delta.Add {
		args = append(args, fieldNumber+name, more)
	}
	for name, text := range delta.Set {
		args = append(args, fieldLabel+name, text)
	}
	return s.call(ctx, "add", s.opt.ReadTimeout, func(ctx context.Context) error {
		_, err := did(ctx, s.client, s.scripts.add, names, args...)
		return err
	})
}

const (
	scanCount = 1000 // keys that one step of a listing looks at
	scanSteps = 20   // steps of one page: a page of a large database may be short
)

var errLimit = errors.New("redis: a page has room for at least one row")

// List implements store.Counters. It walks through the keys of each server in
// turn; where few of them are rows, a page may be short, or empty.
func (s *Store) List(ctx context.Context, cursor string, limit int) (rows []store.Row, next string, err error) {
	if limit < 1 {
		return nil, "", errLimit
	}
	at, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.call(ctx, "list", scanSteps*s.opt.ReadTimeout, func(ctx context.Context) error {
		nodes, err := s.nodes(ctx)
		if err != nil {
			return err
		}
		for range scanSteps {
			if at.node >= len(nodes) || len(rows) == limit {
				break
			}
			if rows, err = s.scan(ctx, nodes[at.node], &at, rows, limit); err != nil {
				return err
			}
		}
		if at.node < len(nodes) {
			next = at.String()
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return rows, next, nil
}

// scan does one step of a listing and moves at past what it returns. A step
// that has more rows than the page has room for is done again by the next page.
func (s *Store) scan(
	ctx context.Context, node redis.Cmdable, at *position, rows []store.Row, limit int,
) ([]store.Row, error) {
	keys, following, err := node.Scan(ctx, at.scan, s.keys.rows(), scanCount).Result()
	if err != nil {
		return rows, err
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	keys = keys[min(at.skip, len(keys)):]
	room := limit - len(rows)
	if len(keys) > room {
		keys = keys[:room]
		at.skip += room
	} else {
		at.skip, at.scan = 0, following
		if following == 0 {
			at.node++
		}
	}
	return s.read(ctx, node, keys, rows)
}

// read appends the rows of the keys to rows, without those that have gone.
func (s *Store) read(ctx context.Context, node redis.Cmdable, keys []string, rows []store.Row) ([]store.Row, error) {
	if len(keys) == 0 {
		return rows, nil
	}
	replies, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.HGetAll(ctx, key)
		}
		return nil
	})
	if err != nil {
		return rows, err
	}
	for i, reply := range replies {
		fields, err := reply.(*redis.MapStringStringCmd).Result() //nolint:forcetypeassert // HGetAll's
		if err != nil {
			return rows, err
		}
		space, row, ok := s.keys.parseRow(keys[i])
		if !ok || len(fields) == 0 {
			continue
		}
		rows = append(rows, newRow(space, row, fields))
	}
	return rows, nil
}

func newRow(space, row string, fields map[string]string) store.Row {
	r := store.Row{Space: space, Name: row, Counters: map[string]int64{}, Labels: map[string]string{}}
	for field, text := range fields {
		if name, ok := strings.CutPrefix(field, fieldLabel); ok {
			r.Labels[name] = text
		} else if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			r.Counters[strings.TrimPrefix(field, fieldNumber)] = n
		}
	}
	return r
}

// position is where a listing stands.
type position struct {
	node int    // of the servers, ordered by address
	scan uint64 // the server's own cursor
	skip int    // rows of that step that were returned
}

const cursorBase = 36

func (p position) String() string {
	return strconv.Itoa(p.node) + "-" + strconv.FormatUint(p.scan, cursorBase) + "-" + strconv.Itoa(p.skip)
}

func parseCursor(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	parts := strings.Split(cursor, "-")
	if len(parts) != 3 {
		return position{}, fmt.Errorf("redis: not a cursor: %q", cursor)
	}
	node, err1 := strconv.ParseUint(parts[0], 10, 16)
	scan, err2 := strconv.ParseUint(parts[1], cursorBase, 64)
	skip, err3 := strconv.ParseUint(parts[2], 10, 31)
	if err := errors.Join(err1, err2, err3); err != nil {
		return position{}, fmt.Errorf("redis: not a cursor: %q", cursor)
	}
	return position{int(node), scan, int(skip)}, nil
}
