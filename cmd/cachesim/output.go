package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cachesim/cachesim/internal/quote"
)

// output is a stream to the user. It keeps the first error, as not all that write look at theirs. Towards people it shows control
// characters instead of sending them: names of files, members of archives, keys of traces and what services answer may hold some
// that clear a terminal or write over it.
type output struct {
	to     io.Writer
	people bool

	mu  sync.Mutex
	err error
}

// newStdout returns standard output, which people read on a terminal; elsewhere it may be any data.
func newStdout(w io.Writer) *output { return &output{to: w, people: isTerminal(w)} }

// newStderr returns standard error, which people read on a terminal and in logs.
func newStderr(w io.Writer) *output { return &output{to: w, people: true} }

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	shown := text
	if o.people {
		shown = printable(text)
	}
	_, err := o.to.Write(shown)
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		return 0, err
	}
	return len(text), nil
}

// failed returns the first error of a Write.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// controls are the control characters except tab and line feed, and the styles that tables are written in, which stay.
var controls = regexp.MustCompile(`\x1b\[(?:[012]|3[123])m|[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}]`)

// printable returns text with its control characters as Go writes them in quotes.
func printable(text []byte) []byte {
	return controls.ReplaceAllFunc(text, func(control []byte) []byte {
		if control[len(control)-1] == 'm' {
			return control
		}
		quoted := fmt.Sprintf("%+q", control)
		return []byte(quoted[1 : len(quoted)-1])
	})
}

// fileOf returns the file that w writes to; false where it is none.
func fileOf(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	file, ok := w.(*os.File)
	return file, ok
}

// note writes a line for the user, unless quiet is set.
func note(cmd *cobra.Command, quiet bool, text string) {
	if !quiet && text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), quote.Shorten(text))
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := fileOf(w)
	return ok && term.IsTerminal(int(file.Fd()))
}

// terminalWidth returns the width of the terminal that w is, or 0 where it is none.
func terminalWidth(w io.Writer) int {
	file, ok := fileOf(w)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}
