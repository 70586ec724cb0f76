package terminal

import (
	"cmp"
	"io"
	"os"
	"regexp"
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
// indented like it. A command on a line of its own, which is indented, is not broken, so that it can be copied; nor is
// cachesim NAME or --flag VALUE in a sentence, if there is another place.
func Wrap(s string, width int) []string { return wrapAll(s, width, 0) }

// WrapHanging is Wrap for notes and errors: lines that continue another are indented by two more columns.
func WrapHanging(s string, width int) []string { return wrapAll(s, width, len(hangingIndent)) }

const hangingIndent = "  "

func wrapAll(s string, width, hanging int) (lines []string) {
	for line := range strings.SplitSeq(s, "\n") {
		content := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(content)]
		if width <= 0 || indent != "" && strings.HasPrefix(content, programName) {
			lines = append(lines, line)
			continue
		}
		if len(indent) > width/2 {
			indent = ""
		}
		first, rest := wrapFirst(content, width-len(indent))
		lines = append(lines, strings.TrimRight(indent+first, " "))
		if rest == "" {
			continue
		}
		indent += strings.Repeat(" ", hanging)
		for _, part := range wrapLine(rest, width-len(indent)) {
			lines = append(lines, strings.TrimRight(indent+part, " "))
		}
	}
	return lines
}

// programName begins the commands that messages contain.
const programName = "cachesim "

func wrapLine(line string, width int) (lines []string) {
	for {
		first, rest := wrapFirst(line, width)
		lines = append(lines, first)
		if rest == "" {
			return lines
		}
		line = rest
	}
}

// wrapFirst returns the first of the lines of a text, and the text of the others.
func wrapFirst(line string, width int) (first, rest string) {
	end := lineEnd(line, width)
	if end == len(line) {
		return line, ""
	}
	return strings.TrimRight(line[:end], " "), strings.TrimLeft(line[end:], " ")
}

// glued matches a word that belongs to the next one: the name of the program, or of a flag.
var glued = regexp.MustCompile(`(?:^|[ ('"])(?:cachesim|--[a-z-]+[a-z])$`)

// lineEnd returns how many bytes of text the first of its lines takes.
func lineEnd(s string, width int) int {
	space, glue, mark, value, fits, used := 0, 0, 0, 0, 0, 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == ' ' && glued.MatchString(s[:i]):
			glue = i
		case r == ' ':
			space = i
		}
		used += text.RuneWidth(r)
		if used > width {
			return cmp.Or(space, glue, mark, value, fits, size)
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
