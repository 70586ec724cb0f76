// Package terminal writes to the user: all of standard output and standard error passes through it. NewStdout and
// NewStderr wrap the two streams, Width measures the terminal, Wrap breaks text at a width, and Status shows a line
// while work goes on. Errors quote their input in full; where they are shown, Shorten cuts what is longer than a person
// would read.
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Output is a stream to the user. It keeps the first error, as not all writers check theirs. To people it shows control
// characters instead of sending them: names of files, members of archives, keys of traces and answers of services may
// contain some that clear a terminal or overwrite it.
type Output struct {
	to     io.Writer
	hidden *regexp.Regexp // what is shown instead of sent, nil if all is sent
	defuse bool           // commands of GitHub's runner are written so that it does not recognise them
	wraps  bool           // lines are broken at the width of the terminal

	mu          sync.Mutex
	err         error
	statuses    []*status
	drawn       string        // the status on the screen
	stopDrawing chan struct{} // of the statuses
}

// NewStdout returns standard output, which people read on a terminal; elsewhere it may be any data.
func NewStdout(w io.Writer) *Output {
	o := &Output{to: w}
	if Is(w) {
		o.hidden = unstyled
	}
	return o
}

// NewStderr returns standard error, which people read on a terminal and in logs. On a terminal its lines are broken at
// words; in a log each stays a line, so that it can be searched.
func NewStderr(w io.Writer) *Output {
	return &Output{to: w, hidden: controls, defuse: true, wraps: Is(w)}
}

func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	shown := text
	if o.hidden != nil {
		shown = escaped(text, o.hidden)
	}
	if o.defuse {
		shown = defused(shown)
	}
	if o.wraps {
		shown = []byte(strings.Join(WrapHanging(string(shown), Width(o)), "\n"))
	}
	o.erase()
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

// Characters that are shown and not sent: controls are all but tab and line feed, and those that change the direction
// of the text around them (Unicode Standard Annex 9) or end a line. unstyled first matches the styles of tables, which
// escaped leaves as they are. breaking also has line feeds.
const controlClass = `\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}`

var (
	controls = regexp.MustCompile(`[` + controlClass + `]`)
	unstyled = regexp.MustCompile(`\x1b\[(?:[012]|3[123])m|` + controls.String())
	breaking = regexp.MustCompile(`[\n` + controlClass + `]`)
)

// Printable returns text with its control characters as Go writes them in quotes.
func Printable(text string) string { return string(escaped([]byte(text), controls)) }

// InLine returns a text that belongs in a line, such as the name of a file, with its control characters and line breaks
// as Go writes them in quotes.
func InLine(text string) string {
	if !breaking.MatchString(text) {
		return text
	}
	return string(escaped([]byte(text), breaking))
}

// InLines returns a message of several lines with names in it, each of which stays in its line.
func InLines(message string, names []string) string {
	for _, name := range names {
		if shown := InLine(name); shown != name {
			message = strings.ReplaceAll(message, name, shown)
		}
	}
	return message
}

// command is how GitHub's runner recognises a command in the log of a job. Names of files and keys may look like one.
var command = regexp.MustCompile(`(?m)^([ \t]*):(:[A-Za-z])|##\[`)

// defused returns a text for standard error, where no command is written on purpose, in which none is recognised.
func defused(text []byte) []byte {
	return command.ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == '#' {
			return []byte("# #[")
		}
		at := bytes.IndexByte(found, ':')
		return slices.Concat(found[:at], []byte(": :"), found[at+2:])
	})
}

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
