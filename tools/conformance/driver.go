package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// absent is the exit code of a build that lacks a tool or a package.
const absent = 77

// patience is how long a program may take for one answer. The slowest needs a tenth of it.
const patience = time.Minute

// patienceOfBuild is how long installing and compiling may take in the brief version; without end in the full one.
const patienceOfBuild = 5 * time.Minute

// absentError says that a driver cannot be built here.
type absentError struct{ why string }

var errSlow = fmt.Errorf("to build its driver takes more than %s", patienceOfBuild)

func (e *absentError) Error() string { return e.why }

// build builds a driver and returns the path of its program. In the brief version one that takes long is absent.
func build(ctx context.Context, folder, out string, brief bool) (string, error) {
	if brief {
		in, stop := context.WithTimeoutCause(ctx, patienceOfBuild, errSlow)
		defer stop()
		ctx = in
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "./build", out)
	cmd.Dir = folder
	cmd.WaitDelay = time.Second // what the script has started may hold its output
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == absent {
		return "", &absentError{lastLine(text, "a tool or a package is absent")}
	}
	if err := context.Cause(ctx); errors.Is(err, errSlow) {
		return "", &absentError{err.Error()}
	}
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, text)
	}
	return filepath.Join(out, "driver"), nil
}

// lastLine is the last line of a text that is not empty.
func lastLine(text []byte, otherwise string) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if last := string(bytes.TrimSpace(lines[len(lines)-1])); last != "" {
		return last
	}
	return otherwise
}

// counts are what one run counted.
type counts struct{ requests, hits, hitBytes int64 }

// driver is a program that answers questions about one trace.
type driver struct {
	program, trace string
	cmd            *exec.Cmd
	questions      io.WriteCloser
	answers        *bufio.Reader
}

// ask returns what a policy counts at a capacity. A program that does not answer, or ends, is started again for the next
// question: the error is its answer.
func (d *driver) ask(ctx context.Context, policy string, capacity int64, unit string) (c counts, err error) {
	if d.cmd == nil {
		if err := d.start(ctx); err != nil {
			return c, err
		}
	}
	slow := time.AfterFunc(patience, func() { d.cmd.Process.Kill() }) //nolint:errcheck // it may have ended
	defer slow.Stop()
	_, err = fmt.Fprintf(d.questions, "%s\t%d\t%s\n", policy, capacity, unit)
	var line string
	if err == nil {
		line, err = d.answers.ReadString('\n')
	}
	if err != nil {
		d.close()
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		return c, fmt.Errorf("no answer within %s, or the program ended: %w", patience, err)
	}
	return parseAnswer(strings.TrimSuffix(line, "\n"))
}

func (d *driver) start(ctx context.Context) (err error) {
	d.cmd = exec.CommandContext(ctx, d.program, d.trace)
	d.cmd.Stderr = io.Discard
	if d.questions, err = d.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	d.answers = bufio.NewReader(out)
	if err = d.cmd.Start(); err != nil {
		d.cmd = nil
	}
	return err
}

// close ends the program.
func (d *driver) close() {
	if d.cmd == nil {
		return
	}
	d.questions.Close()  //nolint:errcheck // the program may have ended
	d.cmd.Process.Kill() //nolint:errcheck // the same
	d.cmd.Wait()         //nolint:errcheck // it was killed
	d.cmd = nil
}

func parseAnswer(line string) (c counts, err error) {
	fields := strings.Split(line, "\t")
	if fields[0] == "error" {
		return c, errors.New(strings.Join(fields[1:], " "))
	}
	if len(fields) != 3 {
		return c, fmt.Errorf("answer %q, want requests, hits and bytes that hit, with tabs in between", line)
	}
	for i, into := range []*int64{&c.requests, &c.hits, &c.hitBytes} {
		if *into, err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return c, fmt.Errorf("answer %q: %w", line, err)
		}
	}
	return c, nil
}
