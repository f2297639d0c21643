// Package redistest starts real Redis servers for tests: processes of their own
// on free ports of the loopback interface, which end with the test. Where no
// redis-server is installed, the test is skipped and says so.
package redistest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	program = "redis-server"
	host    = "127.0.0.1"

	// ready is logged by a server once it serves, and monitors by a Sentinel.
	ready    = "Ready to accept connections"
	monitors = "+monitor master"

	// patience bounds the wait for anything that a server is to do.
	patience = 30 * time.Second
)

// Server is one process. Its methods fail the test that it was started for.
type Server struct {
	Addr string // host:port

	t      testing.TB
	args   []string
	await  string // what it logs when it serves
	client *redis.Client

	mu      sync.Mutex // protects all below
	process *exec.Cmd
	output  bytes.Buffer
	ended   chan struct{}
}

// Start starts a server with further arguments, such as "--maxmemory", "10mb".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	port := freePort(t)
	return start(t, port, ready, nil, append([]string{"--port", port}, args...))
}

// start runs a server that is to listen on port; secure is for its own client.
func start(t testing.TB, port, await string, secure *tls.Config, args []string) *Server {
	t.Helper()
	args = append([]string{"--bind", host, "--save", "", "--dir", t.TempDir()}, args...)
	s := &Server{Addr: net.JoinHostPort(host, port), t: t, args: args, await: await}
	s.client = redis.NewClient(&redis.Options{Addr: s.Addr, TLSConfig: secure, Protocol: 2})
	t.Cleanup(func() {
		s.Kill()
		_ = s.client.Close()
	})
	s.Start()
	return s
}

// Ports of test servers, below those that systems give to outgoing connections
// (Linux: from 32768 on): one that a test's client has just been given could
// not be listened on.
const (
	firstPort = 10_000
	ports     = 22_000
)

// freePort returns a port that was free a moment ago.
func freePort(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed (Debian: apt-get install redis-server): this test needs it", program)
	}
	for range 100 {
		port := strconv.Itoa(firstPort + rand.IntN(ports)) //nolint:gosec // any port will do
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Start starts the server again after Kill, with an empty memory, and waits
// until it serves.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	s.WaitFor(s.await)
}

// Launch starts the server again after Kill and does not wait.
func (s *Server) Launch() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	//nolint:gosec,noctx // the arguments are the test's; cleanup ends it, after the test's context has
	p := exec.Command(program, s.args...)
	out, err := p.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	p.Stderr = p.Stdout
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.output.Reset()
	s.process, s.ended = p, make(chan struct{})
	go s.read(p, out, s.ended)
}

// read takes what a process prints until it ends; Kill waits for it.
func (s *Server) read(p *exec.Cmd, out io.Reader, ended chan struct{}) {
	defer close(ended)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.mu.Lock()
		s.output.Write(lines.Bytes())
		s.output.WriteByte('\n')
		s.mu.Unlock()
	}
	_ = p.Wait() // it is killed: that is no news
}

// WaitFor waits until the server has logged a text since it was launched.
func (s *Server) WaitFor(text string) {
	s.t.Helper()
	Eventually(s.t, "the server logs "+text, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-s.ended:
			s.t.Fatalf("%s has ended:\n%s", program, s.output.String())
		default:
		}
		return strings.Contains(s.output.String(), text)
	})
}

// Kill ends the process as a crash would, and waits until it has.
func (s *Server) Kill() {
	s.signal(syscall.SIGKILL)
	<-s.ended
}

// Pause stops the process: it keeps its connections and answers nothing.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.process.Process.Signal(sig) // it may have ended already
}

// Client is a connection of the test's own.
func (s *Server) Client() *redis.Client { return s.client }

// WithDB returns the same server, seen through another of its databases.
func (s *Server) WithDB(db int) *Server {
	options := *s.client.Options()
	options.DB = db
	other := &Server{Addr: s.Addr, t: s.t, client: redis.NewClient(&options)}
	s.t.Cleanup(func() { _ = other.client.Close() })
	return other
}

// Do sends a command and returns its answer.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	answer, err := s.client.Do(s.t.Context(), args...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", args[0], err)
	}
	return answer
}

// Port is the port of Addr.
func (s *Server) Port() int {
	_, port, _ := strings.Cut(s.Addr, ":")
	n, err := strconv.Atoi(port)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Eventually waits until done reports true; what says for what.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	const often = 5 * time.Millisecond
	tick := time.NewTicker(often)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain until %s", patience, what)
		}
		<-tick.C
	}
}

// write writes a file into a directory of the test's and returns its path.
func write(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(fmt.Errorf("writing %s: %w", name, err))
	}
	return path
}
