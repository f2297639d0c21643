package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pleat-proxy/pleat/store"
)

// tombstoneKept is how long a tombstone is kept after it has ceased to close its
// space. Until then it keeps other processes from putting back from their local
// caches what was deleted; and so no local cache may believe for longer than
// this in what Redis has not confirmed.
const tombstoneKept = 24 * time.Hour

// closedAbove is the remaining life, in milliseconds, above which a tombstone
// closes its space.
const closedAbove = int64((tombstoneKept - store.TombstoneLife) / time.Millisecond)

// What a lookup says of the space's tombstone.
const (
	spaceOpen   = 0 // there is none
	spaceMarked = 1 // it was deleted a while ago; there may be records again
	spaceClosed = 2 // it was deleted a short while ago; there is nothing
)

// scripts are what Redis must do in one step. They read the server's clock, so
// that replicas need not agree on the time, and name all keys that they touch:
// x is the tombstone, i the index.
type scripts struct {
	lookup, put, acquire, release, add, shut *redis.Script
}

func newScripts() scripts {
	return scripts{
		lookup:  redis.NewScript(lookupScript),
		put:     redis.NewScript(unlessClosed + putScript),
		acquire: redis.NewScript(unlessClosed + acquireScript),
		release: redis.NewScript(releaseScript),
		add:     redis.NewScript(unlessClosed + enter + addScript),
		shut:    redis.NewScript(shutScript),
	}
}

// lookupScript takes keys x i record… and closedAbove, the position (from 0) of
// a record that the caller has at hand or -1, and the length of what the keys
// have in common.
//
// It asks for ever longer runs of keys at once, and halves the first run that
// has one: a call for each key would take twice as long. It writes only to
// renew, and goes on where it may not: on a replica, for a user that only reads,
// in a full server. The index is extended first: it must not end before what it
// lists.
//
//nolint:dupword // blocks of Lua end so
const lookupScript = `
local mark = redis.call('PTTL', KEYS[1])
if mark > tonumber(ARGV[1]) then return {2, -1, 0} end
local state = 0
if mark ~= -2 then state = 1 end
local from, size = 3, 8
while from <= #KEYS do
  local to = math.min(from + size - 1, #KEYS)
  if redis.call('EXISTS', unpack(KEYS, from, to)) > 0 then
    while from < to do
      local middle = math.floor((from + to) / 2)
      if redis.call('EXISTS', unpack(KEYS, from, middle)) > 0 then to = middle else from = middle + 1 end
    end
    local left = redis.call('PTTL', KEYS[from])
    local head = redis.call('GETRANGE', KEYS[from], 0, 5)
    if #head == 6 then
      local life = 0
      for b = 2, 6 do life = life * 256 + string.byte(head, b) end
      if life - left >= math.min(3600000, life / 2) then
        local t = redis.pcall('TIME')
        local noted = t.err or redis.pcall('ZADD', KEYS[2], t[1] * 1000 + math.floor(t[2] / 1000) + life,
          string.sub(KEYS[from], ARGV[3] + 1))
        if type(noted) == 'number' then
          if redis.call('PTTL', KEYS[2]) < life then redis.pcall('PEXPIRE', KEYS[2], life) end
          if redis.pcall('PEXPIRE', KEYS[from], life) == 1 then left = life end
        end
      end
    end
    if from - 3 == tonumber(ARGV[2]) then return {state, from - 3, left} end
    return {state, from - 3, left, redis.call('GET', KEYS[from])}
  end
  from, size = to + 1, math.min(2 * size, 1024)
end
return {state, -1, 0}`

// unlessClosed begins a script that a tombstone forbids.
const unlessClosed = `
if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[1]) then return 0 end`

// enter notes in the index what a script is about to write, and drops from it
// what has expired. The addition comes first: a full Redis refuses only a
// script's first write, and no removal.
const enter = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end`

// putScript takes keys x i record and closedAbove, life, member of the index,
// value.
const putScript = `
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end` + enter + `
redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[2])
return 1`

// acquireScript takes keys x i lease and closedAbove, life, member of the index,
// token.
const acquireScript = `
local holder = redis.call('GET', KEYS[3])
if holder and holder ~= ARGV[4] then return 0 end` + enter + `
redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[2])
return 1`

// releaseScript takes keys i lease and token, member of the index.
const releaseScript = `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('ZREM', KEYS[1], ARGV[2])
return redis.call('UNLINK', KEYS[2])`

// addScript takes keys x i row and closedAbove, life, member of the index, how
// many numbers, then field and number of each, then field and text of labels.
const addScript = `
local labels = 5 + 2 * ARGV[4]
for n = 5, labels - 1, 2 do redis.call('HINCRBY', KEYS[3], ARGV[n], ARGV[n + 1]) end
for n = labels, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[n], ARGV[n + 1]) end
redis.call('PEXPIRE', KEYS[3], ARGV[2])
return 1`

// shutScript takes keys x i and the life of the tombstone. It returns the
// members of the index.
const shutScript = `
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return redis.call('ZRANGE', KEYS[2], 0, -1)`

// did runs a script that answers 1 or 0.
func did(ctx context.Context, c redis.Scripter, script *redis.Script, keys []string, args ...any) (bool, error) {
	n, err := script.Run(ctx, c, keys, args...).Int()
	return n == 1, err
}

// milliseconds is how Redis takes a time to live; what is less than one would
// be none.
func milliseconds(d time.Duration) int64 { return max(1, d.Milliseconds()) }
