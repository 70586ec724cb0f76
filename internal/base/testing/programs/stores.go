package programs

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Redis starts a Redis, or another program with its protocol, that saves nothing, with further arguments.
func Redis(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	port := FreePort(t)
	return Start(t, port, append([]string{program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "",
		"--dir", t.TempDir()}, args...)...)
}

// Memcached starts memcached with further arguments.
func Memcached(t testing.TB, args ...string) *Process {
	t.Helper()
	port := FreePort(t)
	return Start(t, port, append([]string{Find(t, "memcached"), "-p", strconv.Itoa(port), "-l", "127.0.0.1", "-U", "0",
		"-u", "nobody"}, args...)...)
}

// Info returns a number that INFO of a Redis states.
func (c *Client) Info(name string) int64 {
	c.t.Helper()
	_, after, _ := strings.Cut(c.Redis("INFO").(string), "\n"+name+":")
	text, _, _ := strings.Cut(after, "\r")
	return c.number(text)
}

// Stats returns a number that a command of memcached states, such as stats.
func (c *Client) Stats(command, name string) (n int64) {
	c.t.Helper()
	c.Say(command + "\r\n")
	for line := c.Line(); line != "END"; line = c.Line() {
		if text, ok := strings.CutPrefix(line, "STAT "+name+" "); ok {
			n = c.number(text)
		}
	}
	return n
}

func (c *Client) number(text string) int64 {
	c.t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	must.Do(c.t, err)
	return n
}

// VarnishStats returns a counter of the Varnish that was started in a folder.
func VarnishStats(t testing.TB, w Web, name string) int64 {
	t.Helper()
	out, err := exec.Command(Find(t, "varnishstat"), "-n", filepath.Join(w.Dir, "state"), "-1", "-f", name).Output()
	must.Do(t, err)
	words := strings.Fields(string(out))
	if len(words) < 2 {
		t.Fatalf("varnishstat: %q has no %s", out, name)
	}
	return must.Get(strconv.ParseInt(words[1], 10, 64))(t)
}
