//go:build unix

package commands

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/testing/faults"
)

// Tests have the program send signals to itself, since it alone knows where it is: no other process could do so at the
// same place on a busy machine.
const (
	// interruptVariable names a function. The program interrupts itself while it is in it.
	interruptVariable = "CACHESIM_TEST_INTERRUPT_IN"
	// signalVariable has the name of a signal, a number of cells and perhaps an argument of the command. A program with
	// this argument sends itself the signal when it has finished as many cells.
	signalVariable = "CACHESIM_TEST_SIGNAL_AFTER"
)

func init() { began = signalItself }

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}

// signalItself arranges the signals that the environment names.
func signalItself() {
	if function := os.Getenv(interruptVariable); function != "" {
		go interruptIn(function)
	}
	words := strings.Fields(os.Getenv(signalVariable))
	if len(words) < 2 || len(words) == 3 && !slices.Contains(os.Args, words[2]) {
		return
	}
	cells, err := strconv.Atoi(words[1])
	if err != nil {
		panic(err)
	}
	signalAfter(signals[words[0]], cells)
}

// interruptIn waits until a goroutine is in the function.
func interruptIn(function string) {
	stacks := make([]byte, 1<<20)
	hung := time.After(5 * time.Minute)
	for {
		select {
		case <-hung:
			panic("the program is never in " + function)
		case <-time.After(5 * time.Millisecond):
		}
		if bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte(function+"(")) {
			syscall.Kill(os.Getpid(), syscall.SIGINT)
			return
		}
	}
}

// signalAfter sends the signal when the next result is about to appear.
func signalAfter(sent syscall.Signal, cells int) {
	var results atomic.Int64
	received := make(chan os.Signal, 1)
	if sent != syscall.SIGKILL {
		signal.Notify(received, sent)
	}
	faults.Inject(func(op filestate.Operation, path string) error {
		isResult := op == filestate.Link && filepath.Base(filepath.Dir(path)) == "cells"
		if isResult && results.Add(1) == int64(cells)+1 {
			syscall.Kill(os.Getpid(), sent)
			<-received                         // never, if it is killed
			time.Sleep(100 * time.Millisecond) // the program has received it, too, and may act on it
		}
		return nil
	})
}
