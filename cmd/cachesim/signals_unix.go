//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hearFileSizeSignal takes the signal that would end the program without a word where a file grows beyond the limit of
// ulimit -f. The write then fails with an error. Other programs that this one starts get the signal as ever.
func hearFileSizeSignal() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
}
