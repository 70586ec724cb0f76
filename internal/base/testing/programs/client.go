package programs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Client is a connection to a program.
type Client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	read int64 // bytes from the connection
}

// Dial connects to a program on this machine.
func Dial(t testing.TB, port int) *Client { return DialAt(t, "tcp", address(port)) }

// DialAt connects to an address of a network, which may be a socket of Unix.
func DialAt(t testing.TB, network, address string) *Client {
	t.Helper()
	conn, err := net.Dial(network, address)
	must.Do(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	c := &Client{t: t, conn: conn}
	c.in = bufio.NewReader(countedConn{c})
	return c
}

// countedConn counts what a client reads.
type countedConn struct{ c *Client }

func (r countedConn) Read(to []byte) (int, error) {
	n, err := r.c.conn.Read(to)
	r.c.read += int64(n)
	return n, err
}

// Close closes the connection.
func (c *Client) Close() { _ = c.conn.Close() }

// Say sends a text.
func (c *Client) Say(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, text)
	must.Do(c.t, err)
}

// Line reads a line, without its end.
func (c *Client) Line() string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	must.Do(c.t, err)
	return strings.TrimRight(line, "\r\n")
}

// Bytes reads a number of bytes.
func (c *Client) Bytes(n int) string {
	c.t.Helper()
	text := make([]byte, n)
	_, err := io.ReadFull(c.in, text)
	must.Do(c.t, err)
	return string(text)
}

// AwaitClose reads until the program closes the connection.
func (c *Client) AwaitClose() { _, _ = io.Copy(io.Discard, c.in) }

// Rest reads until the program closes the connection.
func (c *Client) Rest() string {
	c.t.Helper()
	text, err := io.ReadAll(c.in)
	must.Do(c.t, err)
	return string(text)
}

// CopyTo writes what the program sends from now on to a file, until end is called.
func (c *Client) CopyTo(path string) (end func()) {
	file, err := os.Create(path)
	must.Do(c.t, err)
	done := make(chan struct{})
	go func() { _, _ = io.Copy(file, c.in); close(done) }()
	return func() {
		time.Sleep(500 * time.Millisecond) // until the program has sent all
		c.Close()
		<-done
		must.Do(c.t, file.Close())
	}
}

// Response is what a web server answered.
type Response struct {
	Status      int
	Header      http.Header
	Body, Bytes int64 // sizes, of the body and of all
	Close       bool  // the server closes the connection
}

// HTTP sends a request with further lines of its header, and returns the response.
func (c *Client) HTTP(method, target string, header ...string) (Response, error) {
	before := c.read
	head := append([]string{method + " " + target + " HTTP/1.1"}, header...)
	if _, err := io.WriteString(c.conn, strings.Join(head, "\r\n")+"\r\n\r\n"); err != nil {
		return Response{}, err
	}
	r, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		return Response{}, err
	}
	n, err := io.Copy(io.Discard, r.Body)
	return Response{r.StatusCode, r.Header, n, c.read - before, r.Close}, err
}

// Redis sends a command to a Redis, and returns its reply: a string, a number, a list, an error, or nil.
func (c *Client) Redis(words ...string) any {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	c.Say(b.String())
	return c.redisReply()
}

// Monitor writes to a file what MONITOR of a Redis says from now on, as redis-cli prints it, until end is called.
func (c *Client) Monitor(path string) (end func()) {
	c.t.Helper()
	if c.Redis("MONITOR") != "OK" {
		c.t.Fatal("no MONITOR")
	}
	copied := c.CopyTo(path)
	return func() {
		copied()
		text, err := os.ReadFile(path)
		must.Do(c.t, err)
		text = bytes.TrimPrefix(bytes.ReplaceAll(text, []byte("\n+"), []byte("\n")), []byte("+"))
		must.Do(c.t, os.WriteFile(path, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), 0o600))
	}
}

func (c *Client) redisReply() any {
	line := c.Line()
	n, _ := strconv.Atoi(line[1:])
	switch {
	case line[0] == '+':
		return line[1:]
	case line[0] == '-':
		return errors.New(line[1:])
	case line[0] == ':':
		return n
	case n < 0:
		return nil
	case line[0] == '$':
		return c.Bytes(n + 2)[:n]
	}
	list := make([]any, n)
	for i := range list {
		list[i] = c.redisReply()
	}
	return list
}
