// Package programs starts the real programs that the readers of logs and the models of servers are compared with, and
// talks to them. It is for tests only. A test is skipped, with a message, where its program is not installed.
package programs

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// serversEnv is the environment variable that has tests start programs, if it is "1".
const serversEnv = "CACHESIM_SERVERS"

// Wanted skips a test that starts programs, unless they are asked for: what such a test sees depends on how busy the
// machine is.
func Wanted(t testing.TB) {
	t.Helper()
	if os.Getenv(serversEnv) != "1" {
		t.Skip("starts real programs: make servers runs it")
	}
}

// Requests returns how many requests a program is sent: many where tests run in full.
func Requests() int {
	if brief.InFull() {
		return 20000
	}
	return 500
}

// Find returns the path of the first of some programs that is installed. Without one it skips the test.
func Find(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", strings.TrimSpace(strings.Join(names, " or ")))
	return ""
}

// FreePort returns a port on which nothing listens.
func FreePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Process is a program that listens.
type Process struct {
	Port int
	end  func()
}

// End ends the program, and returns when it has written its logs. Another call does nothing.
func (p *Process) End() {
	if end := p.end; end != nil {
		p.end = nil
		end()
	}
}

// Start starts a program that is to listen on a port, and waits until it does. The test ends it. What it prints goes to
// a file of its own.
func Start(t testing.TB, port int, command ...string) *Process {
	t.Helper()
	return startInto(t, filepath.Join(t.TempDir(), "output"), port, command...)
}

// longestWait is how long a program may take to listen, to end, or to write its log.
const longestWait = 15 * time.Second

// startInto is Start with the path of the file for what the program prints.
func startInto(t testing.TB, path string, port int, command ...string) *Process {
	t.Helper()
	output, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must.Do(t, err)
	defer output.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Env = append(os.Environ(), "TZ=UTC") // some logs have local times without their zone
	must.Do(t, cmd.Start())
	p := &Process{port, ender(cmd)}
	t.Cleanup(p.End)
	for begin := time.Now(); time.Since(begin) < longestWait; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", address(port)); err == nil {
			_ = c.Close()
			return p
		}
	}
	p.End()
	text, _ := os.ReadFile(path)
	t.Fatalf("%s does not listen: %s", command[0], text)
	return nil
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// ender returns a function that asks a program to end, and makes it do so if it does not.
func ender(cmd *exec.Cmd) func() {
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(longestWait):
			_ = cmd.Process.Kill()
			<-done
		}
	}
}

// AwaitLog waits until a file has a text, which the last request made a server write.
func AwaitLog(t testing.TB, path, text string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < longestWait; time.Sleep(20 * time.Millisecond) {
		if log, err := os.ReadFile(path); err == nil && strings.Contains(string(log), text) {
			return
		}
	}
	t.Fatalf("%s has no %q after %v", path, text, longestWait)
}
