package redisstore

import "time"

// Observer counts what happens. Its methods must not block. A fault's name is
// one of Error.Name: fewer than a dozen.
type Observer interface {
	// StoreCalled tells of one call: op is newest, put, acquire, held, release, add,
	// list, delete or ping. fault is "" if it went well.
	StoreCalled(op string, took time.Duration, fault string)

	// StoreState tells that the breaker opened, for fault, or closed ("").
	StoreState(fault string)

	// StoreServedLocally tells that the local cache answered in place of Redis:
	// why is "away" if Redis failed, "behind" if it had lost the fold.
	StoreServedLocally(why string)
}

type nobody struct{}

func (nobody) StoreCalled(string, time.Duration, string) {}
func (nobody) StoreState(string)                         {}
func (nobody) StoreServedLocally(string)                 {}
