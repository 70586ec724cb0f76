// Package terminal writes to the user: all of standard output and standard error passes through it. NewStdout and
// NewStderr wrap the two streams, Width measures the terminal, and Wrap breaks text at a width.
package terminal

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"

	"golang.org/x/term"
)

// Output is a stream to the user. It keeps the first error, as not all writers check theirs. To people it shows control
// characters instead of sending them: names of files, members of archives, keys of traces and answers of services may
// contain some that clear a terminal or overwrite it.
type Output struct {
	to     io.Writer
	hidden *regexp.Regexp // what is shown instead of sent, nil if all is sent

	mu  sync.Mutex
	err error
}

// NewStdout returns standard output, which people read on a terminal; elsewhere it may be any data.
func NewStdout(w io.Writer) *Output {
	if !Is(w) {
		return &Output{to: w}
	}
	return &Output{to: w, hidden: unstyled}
}

// NewStderr returns standard error, which people read on a terminal and in logs.
func NewStderr(w io.Writer) *Output { return &Output{to: w, hidden: controls} }

func (o *Output) Write(text []byte) (int, error) {
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

func (o *Output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// controls matches control characters except tab and line feed. unstyled first matches the styles of tables, which
// escaped leaves as they are.
var (
	controls = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}]`)
	unstyled = regexp.MustCompile(`\x1b\[(?:[012]|3[123])m|` + controls.String())
)

// Printable returns text with its control characters as Go writes them in quotes.
func Printable(text string) string { return string(escaped([]byte(text), controls)) }

func escaped(text []byte, hidden *regexp.Regexp) []byte {
	return hidden.ReplaceAllFunc(text, func(found []byte) []byte {
		if found[len(found)-1] == 'm' { // a style
			return found
		}
		quoted := fmt.Sprintf("%+q", found)
		return []byte(quoted[1 : len(quoted)-1])
	})
}

// File returns the file that w writes to; false if it is not a file.
func File(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*Output); ok {
		w = o.to
	}
	file, ok := w.(*os.File)
	return file, ok
}

func Is(w io.Writer) bool {
	file, ok := File(w)
	return ok && term.IsTerminal(int(file.Fd()))
}
