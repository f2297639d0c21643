package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

func TestWebSocket(t *testing.T) {
	up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) {
		conn, err := websocket.Accept(w, req, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		for {
			kind, message, err := conn.Read(req.Context())
			if err != nil {
				return
			}
			if conn.Write(req.Context(), kind, append([]byte("echo "), message...)) != nil {
				return
			}
		}
	})
	r := newRig(t, up.URL, nil)
	for _, path := range []string{"/v1/realtime?model=m", chatPath} {
		conn, res, err := websocket.Dial(t.Context(), r.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("status %d", res.StatusCode)
		}
		for i := range 3 {
			want := strings.Repeat("x", i*1000)
			if err := conn.Write(t.Context(), websocket.MessageBinary, []byte(want)); err != nil {
				t.Fatal(err)
			}
			if _, got, err := conn.Read(t.Context()); err != nil || string(got) != "echo "+want {
				t.Errorf("read %.20q, %v", got, err)
			}
		}
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
	r.Close()
}

// A POST that switches protocols on the chat route is not wrapped either.
func TestUpgradeOnTheChatRoute(t *testing.T) {
	base := rawUpstream(t, func(conn net.Conn, in *bufio.Reader) {
		_, _ = rawHead(in)
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := in.ReadString('\n')
		_, _ = io.WriteString(conn, "got "+line)
	})
	r := newRig(t, base, nil)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST "+chatPath+" HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: echo\r\nContent-Length: 0\r\n\r\n")
	in := bufio.NewReader(conn)
	if head, err := rawHead(in); err != nil || !strings.HasPrefix(head, "HTTP/1.1 101") {
		t.Fatalf("head %q, %v", head, err)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, _ := in.ReadString('\n'); line != "got hello\n" {
		t.Errorf("read %q", line)
	}
	_ = conn.Close()
	r.fake.waitEnd(t)
}

func TestExpectContinue(t *testing.T) {
	heads := make(chan string, 1)
	base := rawUpstream(t, func(conn net.Conn, in *bufio.Reader) {
		head, _ := rawHead(in)
		heads <- head
		_, _ = io.CopyN(io.Discard, in, 2)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	})
	r := newRig(t, base, nil)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST "+chatPath+" HTTP/1.1\r\nHost: p\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n")
	in := bufio.NewReader(conn)
	if head, err := rawHead(in); err != nil || !strings.HasPrefix(head, "HTTP/1.1 100") {
		t.Fatalf("first answer %q, %v", head, err)
	}
	_, _ = io.WriteString(conn, "{}")
	if rest, _ := io.ReadAll(in); !strings.HasPrefix(string(rest), "HTTP/1.1 200") {
		t.Errorf("answer %q", rest)
	}
	if head := <-heads; strings.Contains(head, "Expect") {
		t.Errorf("upstream saw %q", head)
	}
}
