package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// talk sends raw bytes on one connection and returns all that comes back until
// the connection ends or wait has passed without a byte.
func (r *rig) talk(t *testing.T, wait time.Duration, request string) (answer string, open bool) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	buf := make([]byte, 4096)
	for {
		_ = c.SetReadDeadline(time.Now().Add(wait))
		n, err := c.Read(buf)
		got.Write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return got.String(), true
		}
		if err != nil {
			return got.String(), false
		}
	}
}

// waitForLog returns the log's first line that holds the text, once it is there.
func (r *rig) waitForLog(t *testing.T, text string) string {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		for line := range strings.SplitSeq(r.log.String(), "\n") {
			if strings.Contains(line, text) {
				return line
			}
		}
	}
	t.Fatalf("the log never says %s:\n%s", text, r.log)
	return ""
}

// What stands behind a body whose framing is broken must not be read as a
// request: net/http sees to it, but not once full duplex is enabled.
func TestNothingBehindABrokenBodyIsARequest(t *testing.T) {
	const behind = "GET /v1/smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, path := range []string{chatPath, "/v1/files"} {
		for name, body := range map[string]string{
			"chunk length":     "zz\r\n",
			"bare line feed":   "3;x=1\n",
			"chunk terminator": "3\r\nabcX\r\n",
			"trailer":          "3\r\nabc\r\n0\r\nno trailer\r\n\r\n",
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				paths := make(chan string, 10)
				up := newUpstreamServer(t, func(_ http.ResponseWriter, r *http.Request) {
					paths <- r.URL.Path
					_, _ = io.Copy(io.Discard, r.Body)
				})
				r := newRig(t, up.URL+"/v1", nil)
				answer, open := r.talk(t, time.Second,
					"POST "+path+" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"+body+behind)
				if open {
					t.Error("the connection stays open")
				}
				if n := strings.Count(answer, "HTTP/1.1 "); n != 1 {
					t.Errorf("%d answers to one request:\n%s", n, answer)
				}
				for len(paths) > 0 {
					if p := <-paths; strings.HasSuffix(p, "/smuggled") {
						t.Error("bytes of the broken body reached the upstream as a request of their own")
					}
				}
			})
		}
	}
}

// An upstream that answers early leaves the rest of a good upload on the
// connection. net/http gives up reading it when it is chunked (its reader keeps
// the error of the read that was broken off), and takes it for a request.
func TestRestOfUploadIsNoRequest(t *testing.T) {
	const inside = "GET /v1/smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	up := rawUpstream(t, func(c net.Conn, in *bufio.Reader) {
		_, _ = rawHead(in)
		fmt.Fprint(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
		_, _ = io.Copy(io.Discard, in)
	})
	for name, c := range map[string]struct{ begin, rest string }{
		"chunked": {"Transfer-Encoding: chunked\r\n\r\n30\r\n0123456789", inside + "\r\n0\r\n\r\n"},
		"length":  {fmt.Sprintf("Content-Length: %d\r\n\r\n0123456789", 10+len(inside)), inside},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, up, nil)
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			fmt.Fprint(conn, "POST /v1/files HTTP/1.1\r\nHost: a\r\n"+c.begin)
			in := bufio.NewReader(conn)
			if _, err := rawHead(in); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(in, make([]byte, 2)); err != nil {
				t.Fatal(err)
			}
			r.waitForLog(t, `"msg":"request"`)  // the handler has ended
			_, _ = io.WriteString(conn, c.rest) // may fail: the connection may be gone, and should be
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			after, err := io.ReadAll(in)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection stays open")
			}
			if len(after) > 0 {
				t.Errorf("a second answer: %q", after)
			}
			if strings.Contains(r.log.String(), "smuggled") {
				t.Errorf("part of the upload was taken for a request:\n%s", r.log)
			}
		})
	}
}
