package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

// echo is an upstream that switches every connection to a protocol of its own
// and sends back what it receives.
func echo(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, conn)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// TestServeEndsUpgrades: a connection that a client took over does not keep
// Pleat running, and nothing of it stays behind.
func TestServeEndsUpgrades(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		p := startPleat(t, echo(t))
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.public.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprint(conn, "GET /v1/realtime HTTP/1.1\r\nHost: pleat\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		answers := bufio.NewReader(conn)
		if res, err := http.ReadResponse(answers, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v, %v", res, err)
		}
		fmt.Fprint(conn, "ping\n")
		if line, err := answers.ReadString('\n'); line != "ping\n" {
			t.Fatalf("%q, %v", line, err)
		}

		p.stopAndWait()
		if _, err := answers.ReadString('\n'); err == nil {
			t.Error("the connection lives on")
		}
	})
}

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r requests
		for range 2 {
			if !r.enter() {
				t.Fatal("refused before close")
			}
		}
		r.leave()
		none := r.close()
		synctest.Wait()
		select {
		case <-none:
			t.Error("none runs, though one does")
		default:
		}
		if r.enter() {
			t.Error("let in after close")
		}
		r.leave()
		<-none
	})
	var unused requests
	<-unused.close()
}
