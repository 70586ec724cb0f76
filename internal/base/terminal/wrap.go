package terminal

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Width returns the width of the terminal w in columns, 0 if w is no terminal. The environment variable COLUMNS
// overrides what the terminal reports.
func Width(w io.Writer) int {
	if !Is(w) {
		return 0
	}
	file, _ := File(w)
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	return cmp.Or(columns(), width, defaultWidth)
}

const (
	defaultWidth = 80  // of terminals that do not know theirs: serial lines
	plainWidth   = 100 // of running text that does not go to a terminal
)

// TextWidth returns the width at which running text on w is broken.
func TextWidth(w io.Writer) int { return cmp.Or(Width(w), columns(), plainWidth) }

// columns returns the number in the environment variable COLUMNS, 0 if it has none.
func columns() int {
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// StringWidth returns how many columns a terminal needs for text, whose styles need none.
func StringWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }

// Wrapped returns text with its lines broken at width, as Wrap breaks them; 0 leaves it as it is.
func Wrapped(s string, width int) string { return strings.Join(Wrap(s, width), "\n") }

// Wrap breaks text into lines of at most width columns; 0 breaks only where the text itself does. A line ends at a
// space; if it has none, after punctuation, else before a value, else anywhere. Lines that continue an indented one are
// indented like it.
func Wrap(s string, width int) (lines []string) {
	for line := range strings.SplitSeq(s, "\n") {
		if width <= 0 {
			lines = append(lines, line)
			continue
		}
		content := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(content)]
		if len(indent) > width/2 {
			indent = ""
		}
		for _, part := range wrapLine(content, width-len(indent)) {
			lines = append(lines, strings.TrimRight(indent+part, " "))
		}
	}
	return lines
}

func wrapLine(line string, width int) (lines []string) {
	for {
		end := lineEnd(line, width)
		if end == len(line) {
			return append(lines, line)
		}
		lines = append(lines, strings.TrimRight(line[:end], " "))
		if line = strings.TrimLeft(line[end:], " "); line == "" {
			return lines
		}
	}
}

// lineEnd returns how many bytes of text the first of its lines takes.
func lineEnd(s string, width int) int {
	space, mark, value, fits, used := 0, 0, 0, 0, 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == ' ' {
			space = i
		}
		used += text.RuneWidth(r)
		if used > width {
			return cmp.Or(space, mark, value, fits, size)
		}
		i += size
		fits = i
		switch {
		case strings.ContainsRune(",;:/&_(", r):
			mark = i
		case r == '=' || r == '-':
			value = i
		}
	}
	return len(s)
}

// WrapLines puts the texts that are not empty below each other, each broken at width.
func WrapLines(width int, texts ...string) string {
	var lines []string
	for _, s := range texts {
		if s != "" {
			lines = append(lines, Wrap(s, width)...)
		}
	}
	return strings.Join(lines, "\n")
}
