package redisstore

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// halfDead is a server that answers what a probe asks and nothing else, as one
// that is swamped by slow commands of others.
func halfDead(t *testing.T) (addr string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { answerProbes(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// answerProbes reads commands, arrays of strings, until the client leaves.
func answerProbes(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	number := func() int {
		line, err := in.ReadString('\n')
		n, errNumber := strconv.Atoi(strings.Trim(line, "*$\r\n"))
		if err != nil || errNumber != nil {
			return -1
		}
		return n
	}
	for {
		var command string
		parts := number()
		if parts < 1 {
			return
		}
		for i := range parts {
			text := make([]byte, number()+len("\r\n"))
			if _, err := io.ReadFull(in, text); err != nil {
				return
			}
			if i == 0 {
				command = strings.ToUpper(string(text[:len(text)-2]))
			}
		}
		answer := map[string]string{
			"HELLO": "-ERR unknown command\r\n", "PING": "+PONG\r\n", "GET": "$-1\r\n", "SET": "+OK\r\n",
		}[command]
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

// TestHalfDead: a Redis that answers PING and no lookup costs a request its
// budget seldom, and ever more seldom.
func TestHalfDead(t *testing.T) {
	s := open(t, Options{URL: "redis://" + halfDead(t)})
	const watched = 3 * time.Second
	slow := 0
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < watched; <-tick.C {
		call := time.Now()
		_, _, err := s.Newest(t.Context(), "space", []string{"a"})
		expectFault(t, err, ErrAway)
		if time.Since(call) > defaultBudget/2 {
			slow++
		}
	}
	// Pauses of 0.1, 0.2, 0.4, 0.8 and 1.6 seconds, a budget between each. Were
	// they all of 0.1 there would be 15.
	if slow < 2 || slow > 9 {
		t.Errorf("%d requests paid the budget in %v, want about 5", slow, watched)
	}
}

// TestUnroutable has an address of RFC 5737, to which no packet comes: it takes
// as long as connecting may, once, and not out of a request's time.
func TestUnroutable(t *testing.T) {
	var s *Store
	within(t, 2*defaultTimeout, func() { s = open(t, Options{URL: "redis://192.0.2.1"}) })
	const calls = 20
	within(t, calls*defaultBudget/2, func() {
		for range calls {
			expectFault(t, s.Ping(t.Context()), ErrAway)
		}
	})
}
