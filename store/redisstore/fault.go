package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Error is what is wrong with a Redis, for an operator to mend. Every error of
// this package that is not a caller's mistake or a caller's own end wraps one:
// find it with errors.As, or ask for a certain one with errors.Is.
type Error struct {
	// Name is one word, for metrics.
	Name string

	// Hint says what to do.
	Hint string

	text  string
	shuts bool // nothing works until it is mended: the breaker opens
}

func (f *Error) Error() string { return f.text }

// Faults. They are told apart by what Redis answers.
var (
	ErrAway = &Error{"away", "is it running, and do address, port and TLS match?",
		"Redis does not answer", true}
	ErrBusy = &Error{"busy", "raise maxclients of Redis, or use fewer connections",
		"Redis takes no more connections", true}
	ErrLoading = &Error{"loading", "wait: it serves once its data is loaded",
		"Redis is loading its data", true}
	ErrCluster = &Error{"cluster", "look at CLUSTER INFO: a node is lost, or a slot has no node",
		"the Redis Cluster does not serve", true}
	ErrPassword = &Error{"password", "check user and password against the server's ACL LIST",
		"Redis refuses user or password", true}
	ErrSchema = &Error{"schema", "stop the other version, or choose another prefix; " +
		"the mark goes within an hour after its last process", "Redis is in use by another version of Pleat", true}
	ErrFull = &Error{"full", "raise maxmemory, or set maxmemory-policy to volatile-lru",
		"Redis is out of memory and stores nothing", false}
	ErrReadOnly = &Error{"readonly", "give the address of the primary, or of the Sentinels",
		"Redis is a read-only replica", false}
	ErrDisk = &Error{"disk", "look at the server's log: it cannot save to its disk, or has too few replicas",
		"Redis refuses writes to protect its data", false}
	ErrDenied = &Error{"denied", "give the user the commands and keys that docs/operations.md lists",
		"the user of Redis may not do this", false}
	ErrMoving = &Error{"moving", "nothing: a slot is on its way to another node",
		"the Redis Cluster is moving keys", false}
	ErrValue = &Error{"value", "does another application write under the prefix?",
		"Redis holds a value that is not Pleat's", false}
	ErrRefused = &Error{"refused", "is it Redis 6.2 or later?",
		"Redis refuses a command", false}
)

// codes are what Redis begins an error with, and what it means. The order is
// that of precedence, since a script's error may name two.
func codes() []struct {
	code  string
	fault *Error
} {
	return []struct {
		code  string
		fault *Error
	}{
		{"OOM", ErrFull},
		{"READONLY", ErrReadOnly},
		{"LOADING", ErrLoading},
		{"MASTERDOWN", ErrAway},
		{"CLUSTERDOWN", ErrCluster},
		{"MOVED", ErrMoving},
		{"ASK", ErrMoving},
		{"TRYAGAIN", ErrMoving},
		{"WRONGPASS", ErrPassword},
		{"NOAUTH", ErrPassword},
		{"ERR AUTH", ErrPassword},
		{"ERR invalid password", ErrPassword},
		{"NOPERM", ErrDenied},
		{"ERR The user executing the script", ErrDenied},
		{"ERR ACL failure", ErrDenied},
		{"MISCONF", ErrDisk},
		{"NOREPLICAS", ErrDisk},
		{"BUSY", ErrAway}, // a script of somebody else's does not end
		{"ERR max number of clients", ErrBusy},
	}
}

// classify says which fault an error is. Absence, the Store's own end and what is
// classified already stay as they are. Redis never quotes a value or a password in an error.
func classify(err error) error {
	var known *Error
	if err == nil || errors.Is(err, redis.Nil) || errors.Is(err, redis.ErrClosed) || errors.As(err, &known) {
		return err
	}
	var answered redis.Error
	if !errors.As(err, &answered) {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: %s", ErrAway, "no answer in time")
		}
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	text := answered.Error()
	for _, c := range codes() {
		// Before version 7 a script's error is wrapped in one of Redis' own.
		if strings.HasPrefix(text, c.code) || strings.Contains(text, ": -"+c.code+" ") {
			return fmt.Errorf("%w: %w", c.fault, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// faultOf is the fault that an error wraps, or nil. That of an open breaker is
// the one that opened it.
func faultOf(err error) *Error {
	if open, ok := errors.AsType[*outageError](err); ok {
		err = open.cause
	}
	f, _ := errors.AsType[*Error](err)
	return f
}

func faultName(err error) string {
	if err == nil {
		return ""
	}
	if f := faultOf(err); f != nil {
		return f.Name
	}
	return ErrAway.Name
}

// Hint says what an operator can do about an error of this package; "" if
// nothing is known.
func Hint(err error) string {
	if f := faultOf(err); f != nil {
		return f.Hint
	}
	return ""
}
