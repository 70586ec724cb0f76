//go:build unix

package commands

import (
	"os"
	"os/signal"
	"syscall"
)

// hearFileSizeSignal catches the signal that would silently end the program when a file exceeds the limit of ulimit -f.
// The write then fails with an error. Other programs that this one starts still get the signal.
func hearFileSizeSignal() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
}
