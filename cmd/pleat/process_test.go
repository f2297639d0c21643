package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// process is a Pleat in a process of its own.
type process struct {
	cmd   *exec.Cmd
	base  string // its base URL for clients
	ended chan struct{}
}

// startProcess runs `pleat serve` before the upstream with further flags, until
// the test ends or kills it.
func startProcess(t *testing.T, upstream string, args ...string) *process {
	t.Helper()
	args = append([]string{"serve", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--upstream=" + upstream}, args...)
	//nolint:gosec // it is this program, with the test's arguments
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), actAsPleat+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go p.read(stderr, address)
	t.Cleanup(p.kill)
	select {
	case a := <-address:
		p.base = "http://" + a + "/v1"
	case <-p.ended:
		t.Fatal("the process ended before it listened")
	}
	return p
}

// read takes what the process logs until it ends; kill waits for it.
func (p *process) read(stderr io.Reader, address chan<- string) {
	defer close(p.ended)
	listening := regexp.MustCompile(` msg=listening listen=(\S+)`)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			address <- m[1]
		}
	}
	_ = p.cmd.Wait() // it is killed: that is no news
}

// kill ends the process as kill -9 does: nothing of it gets a say.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}
