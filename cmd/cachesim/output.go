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

// output is a stream to the user. It keeps the first error, as not all that write look at theirs. Towards people it
// shows control characters instead of sending them: names of files, members of archives, keys of traces and what
// services answer may hold some that clear a terminal or write over it.
type output struct {
	to     io.Writer
	hidden *regexp.Regexp // what is shown instead of sent; nil: nothing

	mu  sync.Mutex
	err error
}

// newStdout returns standard output, which people read on a terminal; elsewhere it may be any data.
func newStdout(w io.Writer) *output {
	if !isTerminal(w) {
		return &output{to: w}
	}
	return &output{to: w, hidden: unstyled}
}

// newStderr returns standard error, which people read on a terminal and in logs.
func newStderr(w io.Writer) *output { return &output{to: w, hidden: controls} }

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	shown := text
	if o.hidden != nil {
		shown = escaped(text, o.hidden)
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

// Control characters except tab and line feed; and the same with the styles that tables are written in, which go first
// and stay.
var (
	controls = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}]`)
	unstyled = regexp.MustCompile(`\x1b\[(?:[012]|3[123])m|` + controls.String())
)

// printable returns text with its control characters as Go writes them in quotes.
func printable(text string) string { return string(escaped([]byte(text), controls)) }

func escaped(text []byte, hidden *regexp.Regexp) []byte {
	return hidden.ReplaceAllFunc(text, func(found []byte) []byte {
		if found[len(found)-1] == 'm' { // a style
			return found
		}
		quoted := fmt.Sprintf("%+q", found)
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
