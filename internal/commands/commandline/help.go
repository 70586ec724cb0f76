package commandline

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

const (
	widestHelp = 120 // columns, also on a wider terminal
	brokenFrom = 80  // columns at which lines of help texts are broken in the source at the earliest
)

// fitted breaks the lines of a help text at width, after joining the lines of a paragraph. Commands stay on one line,
// so that they can be copied.
func fitted(help string, width int) string {
	var text strings.Builder
	for _, line := range paragraphs(help) {
		if !strings.HasPrefix(line, "  cachesim ") || inColumns.MatchString(line) {
			line = strings.Join(hanging(line, width), "\n")
		}
		fmt.Fprintln(&text, line)
	}
	return text.String()
}

// paragraphs returns the lines of a help text, where those that are one sentence after another in the source are one.
func paragraphs(help string) (lines []string) {
	last := "" // line of the source
	for line := range strings.SplitSeq(strings.TrimRight(help, "\n"), "\n") {
		word, _, _ := strings.Cut(line, " ")
		if word != "" && last != "" && last[0] != ' ' && len(last)+len(" ")+len(word) > brokenFrom {
			lines[len(lines)-1] += " " + line
		} else {
			lines = append(lines, line)
		}
		last = line
	}
	return lines
}

// inColumns matches a line of a list: a name, and what it means in a second column.
var inColumns = regexp.MustCompile(`^( +\S.*?\S {2,})(\S.*)$`)

// hanging breaks a line at width. What describes a name continues in its own column, if that has room.
func hanging(line string, width int) []string {
	parts := inColumns.FindStringSubmatch(line)
	if parts == nil || terminal.StringWidth(parts[1]) > width*2/3 {
		return terminal.Wrap(line, width)
	}
	indent := terminal.StringWidth(parts[1])
	lines := terminal.Wrap(parts[2], width-indent)
	for i := range lines {
		lines[i] = strings.Repeat(" ", indent) + lines[i]
	}
	lines[0] = parts[1] + strings.TrimLeft(lines[0], " ")
	return lines
}
