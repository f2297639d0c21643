package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func TestBufferReads(t *testing.T) {
	var pool bufferPool
	text := strings.Repeat("0123456789", 10_000)
	for _, length := range []int64{-1, 0, 5, int64(len(text)), 1 << 40} {
		for name, reader := range map[string]io.Reader{
			"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
			"data and EOF": iotest.DataErrReader(strings.NewReader(text)),
		} {
			b, err := pool.read(reader, length, int64(len(text)))
			if err != nil || string(b.data) != text {
				t.Fatalf("%s, length %d: %d bytes, %v", name, length, len(b.data), err)
			}
			if cap(b.data) > maxPooled {
				t.Errorf("%s, length %d: %d bytes of room", name, length, cap(b.data))
			}
			b.release()
		}
	}
	if _, err := pool.read(strings.NewReader(text), -1, int64(len(text)-1)); !errors.Is(err, errTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	lost := errors.New("lost")
	if _, err := pool.read(iotest.ErrReader(lost), -1, 10); !errors.Is(err, lost) {
		t.Errorf("broken reader: %v", err)
	}
}

func TestBufferLivesAsLongAsItIsHeld(t *testing.T) {
	var pool bufferPool
	b, _ := pool.read(strings.NewReader("text"), -1, 10)
	first, _ := b.open(b.data)
	second, _ := b.open(b.data[2:])
	b.release()
	_ = first.Close()
	_ = first.Close() // more than once is once
	if got, err := io.ReadAll(second); string(got) != "xt" || err != nil {
		t.Errorf("held reader gave %q, %v", got, err)
	}
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, errClosed) {
		t.Errorf("closed reader: %v", err)
	}
	_ = second.Close()
	if b.data != nil {
		t.Error("the array was not given back")
	}
	if _, err := b.open(nil); !errors.Is(err, errReleased) {
		t.Errorf("open after the last release: %v", err)
	}
}

// Readers are closed while others read, and arrays are reused at once: under
// the race detector this fails if a reader outlives its hold.
func TestBufferUnderRace(t *testing.T) {
	var pool bufferPool
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			want := bytes.Repeat([]byte{byte('a' + i)}, 10_000)
			for range 200 {
				b, err := pool.read(bytes.NewReader(want), 10_000, 10_000)
				if err != nil {
					t.Error(err)
					return
				}
				in, _ := b.open(b.data)
				closed := make(chan struct{})
				go func() { _ = in.Close(); close(closed) }()
				b.release()
				got, err := io.ReadAll(in)
				if !bytes.HasPrefix(want, got) || err != nil && !errors.Is(err, errClosed) {
					t.Errorf("read %.10q, %v", got, err)
				}
				<-closed
			}
		})
	}
	all.Wait()
}

// An upstream that answers without reading leaves the transport with the body
// in hand after the handler is done. The next requests must not get the same
// array while it still reads.
func TestEarlyAnswer(t *testing.T) {
	base := rawUpstream(t, func(conn net.Conn, in *bufio.Reader) {
		_, _ = rawHead(in)
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		rest := make([]byte, 64<<10)
		var first byte
		for {
			n, err := in.Read(rest)
			for _, c := range rest[:n] {
				if first == 0 {
					first = c
				}
				if c != first {
					t.Errorf("two bodies on one connection: %q and %q", first, c)
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	r := newRig(t, base, nil)
	for i := range 12 {
		body := strings.Repeat(string(rune('a'+i%26)), 3<<20)
		res, _ := r.post(t, body)
		if res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusBadGateway {
			t.Errorf("status %d", res.StatusCode)
		}
	}
}

// A body of a declared length needs no array twice as large.
func TestBodyTakesNoMoreThanDeclared(t *testing.T) {
	var pool bufferPool
	for _, size := range []int{1<<20 + 1, 5 << 20, 20 << 20} {
		b, err := pool.read(bytes.NewReader(make([]byte, size)), int64(size), 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		if c := cap(b.data); c > size+size/8 {
			t.Errorf("%d bytes were declared, the array has %d (%.1f times)", size, c, float64(c)/float64(size))
		}
		b.release()
	}
}
