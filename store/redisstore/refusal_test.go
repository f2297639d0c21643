package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

func TestOutOfMemory(t *testing.T) {
	server := redistest.Start(t)
	log := newJournal()
	s := open(t, Options{URL: "redis://" + server.Addr, Log: log.logger()})
	other := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "a", "a fold")
	server.Do("CONFIG", "SET", "maxmemory", "1")

	for range 3 {
		_, err := s.PutIfAbsent(t.Context(), "space", "b", []byte("newer"), time.Hour)
		expectFault(t, err, ErrFull)
		_, err = s.Acquire(t.Context(), "space", "work", "token", time.Second)
		expectFault(t, err, ErrFull)
	}
	expectFault(t, s.Trouble(), ErrFull)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a full Redis answers, but Ping: %v", err)
	}
	expect(t, other, "space", []string{"b", "a"}, 1, "a fold")
	expect(t, s, "space", []string{"b", "a"}, 0, "newer") // paid for, and kept here
	if err := s.Delete(t.Context(), "space"); !errors.Is(err, ErrFull) {
		t.Errorf("Delete in a full Redis: %v", err)
	}
	if server.Client().Exists(t.Context(), "pleat:1:{space}:r:a").Val() != 0 {
		t.Error("the deletion left a record")
	}
	expect(t, s, "space", []string{"b", "a"}, -1, "")

	server.Do("CONFIG", "SET", "maxmemory", "0")
	put(t, s, "space", "c", "newest")
	if err := s.Trouble(); err != nil {
		t.Errorf("there is room again, and yet: %v", err)
	}
	log.expect(t, "Redis takes no writes", "Redis takes writes again")
}

// TestOutOfMemoryForAWhile: what could not be stored is stored later.
func TestOutOfMemoryForAWhile(t *testing.T) {
	server := redistest.Start(t)
	var now clock
	s := open(t, Options{URL: "redis://" + server.Addr, Now: now.Now})
	server.Do("CONFIG", "SET", "maxmemory", "1")
	_, err := s.PutIfAbsent(t.Context(), "space", "a", []byte("paid for"), time.Hour)
	expectFault(t, err, ErrFull)
	server.Do("CONFIG", "SET", "maxmemory", "0")
	now.ahead.Add(int64(restorePause))
	expect(t, s, "space", []string{"a"}, 0, "paid for")
	redistest.Eventually(t, "the fold is stored", func() bool {
		return server.Client().Exists(t.Context(), "pleat:1:{space}:r:a").Val() == 1
	})
}

func TestReadOnly(t *testing.T) {
	set := redistest.StartSet(t)
	primary := open(t, Options{URL: "redis://" + set.Primary.Addr})
	put(t, primary, "space", "a", "a fold")
	// Old enough to be renewed, which a replica must not even try to fail at.
	age(t, set.Primary.Client(), 50*time.Minute)
	redistest.Eventually(t, "the replica has it", func() bool {
		left := set.Replica.Client().PTTL(t.Context(), "pleat:1:{space}:r:a").Val()
		return left > 0 && left < 11*time.Minute
	})
	log := newJournal()
	s := open(t, Options{URL: "redis://" + set.Replica.Addr, Log: log.logger()})
	expect(t, s, "space", []string{"b", "a"}, 1, "a fold")
	_, err := s.PutIfAbsent(t.Context(), "space", "b", []byte("newer"), time.Hour)
	expectFault(t, err, ErrReadOnly)
	expectFault(t, s.Trouble(), ErrReadOnly)
	log.expect(t, "Redis takes no writes")
}

func TestLoading(t *testing.T) {
	server := redistest.Start(t, "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
	s := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "a", "a fold")
	for i := range 2000 {
		server.Client().Set(t.Context(), fmt.Sprintf("filler-%d", i), strings.Repeat("x", 100), time.Hour)
	}
	server.Do("SAVE")
	server.Kill()
	server.Launch()
	redistest.Eventually(t, "it is known to be loading", func() bool {
		return errors.Is(s.Ping(t.Context()), ErrLoading)
	})
	expectAway(t, s, "space", []string{"a"}, "a fold", ErrLoading)
	server.WaitFor("Ready to accept connections")
	expectBack(t, s)
}

func TestPassword(t *testing.T) {
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "default", "on", ">right", "~*", "+@all")
	for name, password := range map[string]string{"wrong": "wrong", "none": ""} {
		t.Run(name, func(t *testing.T) {
			log := newJournal()
			s := open(t, Options{URL: "redis://" + server.Addr, Password: password, Log: log.logger()})
			expectFault(t, s.Ping(t.Context()), ErrPassword)
			expectFault(t, s.Trouble(), ErrAway)
			log.expect(t, "Redis is away")
			if password != "" && strings.Contains(log.text(), password+"\"") {
				t.Errorf("the log holds the password: %s", log.text())
			}
		})
	}
	s := open(t, Options{URL: "redis://:later@" + server.Addr})
	server.Do("ACL", "SETUSER", "default", ">later")
	expectBack(t, s)
}

func TestDenied(t *testing.T) {
	server := redistest.Start(t)
	grant(t, server, "reader", "pw", []string{"~PREFIX:*", "+@read", "+evalsha", "+eval", "+ping"})
	grant(t, server, "nobody", "pw", []string{"~PREFIX:*", "+@read", "+ping"})
	grant(t, server, "stranger", "pw", []string{"~other:*", "+@all"})
	writer := open(t, Options{URL: "redis://" + server.Addr})
	put(t, writer, "space", "a", "a fold")
	age(t, server.Client(), 50*time.Minute)

	reader := open(t, Options{URL: "redis://reader:pw@" + server.Addr})
	expect(t, reader, "space", []string{"a"}, 0, "a fold")
	_, err := reader.PutIfAbsent(t.Context(), "space", "b", []byte("b"), time.Hour)
	expectFault(t, err, ErrDenied)
	expectFault(t, reader.Trouble(), ErrDenied)

	for _, user := range []string{"nobody", "stranger"} {
		s := open(t, Options{URL: "redis://" + user + ":pw@" + server.Addr})
		_, _, err := s.Newest(t.Context(), "space", []string{"a"})
		expectFault(t, err, ErrDenied)
	}
}

func TestAnotherSchema(t *testing.T) {
	server := redistest.Start(t)
	server.Client().Set(t.Context(), "pleat:schema", "0", time.Hour)
	log := newJournal()
	s := open(t, Options{URL: "redis://" + server.Addr, Log: log.logger()})
	_, _, err := s.Newest(t.Context(), "space", []string{"a"})
	expectFault(t, err, ErrSchema)
	elsewhere := open(t, Options{URL: "redis://" + server.Addr, Prefix: "other"})
	expect(t, elsewhere, "space", []string{"a"}, -1, "")
	server.Client().Del(t.Context(), "pleat:schema")
	expectBack(t, s)
	log.expect(t, "Redis is away", "Redis is back")
}

func TestTooManyClients(t *testing.T) {
	server := redistest.Start(t)
	server.Do("PING") // the test has its connection
	server.Do("CONFIG", "SET", "maxclients", "1")
	s := open(t, Options{URL: "redis://" + server.Addr})
	expectFault(t, s.Trouble(), ErrAway) // ErrBusy, unless the server closed before it was heard
	server.Do("CONFIG", "SET", "maxclients", "100")
	expectBack(t, s)
}

func TestForgottenScripts(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{URL: "redis://" + server.Addr})
	put(t, s, "space", "a", "a fold")
	server.Do("SCRIPT", "FLUSH")
	expect(t, s, "space", []string{"a"}, 0, "a fold")
	put(t, s, "space", "b", "newer")
}
