// Package lists shows the program's policies, caches, predictors, formats, metrics and experiments. Each is a List, and
// one printer prints them all, as tables, as data, or with full descriptions.
package lists

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/commands/commandline"
)

// List is a list of things that have names.
type List struct {
	Noun string // what an item is called in errors
	// Columns are the headers of the table. On a terminal only the first Kept of them stay, followed by a column with the
	// head Below, which has texts below each other. If Kept is 0, the columns are always the same.
	Columns []tabular.Head
	Kept    int
	Below   string
	// NarrowAlways says that the table is so without a terminal, too.
	NarrowAlways bool
	// Line are the columns of a list that has a line for each item, before the first of its texts; nil stands for the
	// first Kept. Whole is the command that prints all there is about some of them.
	Line  []int
	Whole string
	Note  string // below a table on a terminal or for pasting
	Items []Item
}

// Item is a row of a list.
type Item struct {
	Name    string
	Aliases []string
	Row     []string // of Columns
	Texts   []string // of the column List.Below; empty ones are left out
	About   []string // the full description, line by line, indented by blanks; nil if the row says everything
	JSON    any      // what is printed as JSON
}

func (l List) Names() []string {
	names := make([]string, len(l.Items))
	for i, item := range l.Items {
		names[i] = item.Name
	}
	return names
}

// Choose returns the list with only the items of these names, ignoring case, or the whole list if there are no names.
func (l List) Choose(names []string) (List, error) {
	if len(names) == 0 {
		return l, nil
	}
	var chosen []Item
	for _, name := range names {
		is := func(known string) bool { return strings.EqualFold(known, name) }
		i := slices.IndexFunc(l.Items, func(item Item) bool {
			return is(item.Name) || slices.ContainsFunc(item.Aliases, is)
		})
		if i < 0 {
			return l, suggest.Unknown(l.Noun, name, l.Names())
		}
		chosen = append(chosen, l.Items[i])
	}
	l.Items, l.Whole = chosen, ""
	return l, nil
}

// Print prints the list as table, csv, json (an item per line) or markdown.
func (l List) Print(w io.Writer, format string) error {
	rows := make([]any, len(l.Items))
	for i, item := range l.Items {
		rows[i] = item.JSON
	}
	return tabular.Printed{Table: l.printTable, CSV: l.wide().CSV, JSON: tabular.EachJSON(rows)}.Print(w, format)
}

func (l List) printTable(w io.Writer, format string) error {
	text, width := l.wide().In(format, terminal.Width(w)), l.narrowWidth(w, format)
	switch {
	case width > 0 && l.Whole != "":
		text = l.brief(width)
	case width > 0:
		t := tabular.Grid{Heads: append(slices.Clone(l.Columns[:l.Kept]), textHead(l.Below))}
		for _, item := range l.Items {
			texts := slices.DeleteFunc(slices.Clone(item.Texts), func(text string) bool { return text == "" })
			t.Rows = append(t.Rows, append(slices.Clone(item.Row[:l.Kept]), strings.Join(texts, "\n")))
		}
		text = t.Text(width)
	}
	if _, err := fmt.Fprintln(w, text); err != nil || l.Note == "" {
		return err
	}
	return tabular.PrintLines(w, format == "markdown", terminal.TextWidth(w), []string{l.Note})
}

// brief has a line for each item, no wider than width, below how many there are and how to learn more.
func (l List) brief(width int) string {
	columns := l.Line
	if columns == nil {
		columns = []int{0, 1, 2}[:l.Kept]
	}
	var g tabular.Grid
	room := width - len(" ") - len(" ")
	for _, at := range columns {
		head := l.Columns[at]
		g.Heads = append(g.Heads, tabular.Head{Name: head.Name, IsText: head.IsText, Weight: tabular.Key})
		widest := len(head.Name)
		for _, item := range l.Items {
			widest = max(widest, terminal.StringWidth(item.Row[at]))
		}
		room -= widest + len("  ")
	}
	what, _, _ := strings.Cut(l.Below, ", ")
	g.Heads = append(g.Heads, tabular.Head{Name: what, IsText: true, Weight: tabular.Key})
	for _, item := range l.Items {
		var row []string
		for _, at := range columns {
			row = append(row, item.Row[at])
		}
		g.Rows = append(g.Rows, append(row, commandline.Snipped(item.Texts[0], max(room, 20))))
	}
	title := fmt.Sprintf("%s. All about some: %s NAME...; about all: --format csv.",
		show.Counted(len(l.Items), l.Noun), l.Whole)
	return terminal.Wrapped(title, width) + "\n\n" + g.Text(width)
}

func (l List) wide() tabular.Grid {
	t := tabular.Grid{Heads: l.Columns}
	for _, item := range l.Items {
		t.Rows = append(t.Rows, item.Row)
	}
	return t
}

// narrowWidth returns the width of a narrow table, or 0 if it is to be a wide one.
func (l List) narrowWidth(w io.Writer, format string) int {
	switch {
	case format != "table" || l.Kept == 0:
		return 0
	case l.NarrowAlways:
		return terminal.TextWidth(w)
	}
	return terminal.Width(w)
}

func textHead(name string) tabular.Head {
	return tabular.Head{Name: name, IsText: true, Weight: tabular.Key, Wrap: 30}
}

func wordHead(name string) tabular.Head { return tabular.Head{Name: name, IsText: true} }

// Describes reports whether there is more to know of the items than their rows say.
func (l List) Describes() bool {
	return slices.ContainsFunc(l.Items, func(item Item) bool { return item.About != nil })
}

// Describe prints all there is to know of each item.
func (l List) Describe(w io.Writer) error {
	var s strings.Builder
	for i, item := range l.Items {
		if i > 0 {
			s.WriteString("\n")
		}
		for _, line := range item.About {
			s.WriteString(describedLine(line, terminal.Width(w)) + "\n")
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// describedLine breaks a line, or several, at width; what does not fit on the first is indented by two blanks more.
func describedLine(line string, width int) string {
	if width <= 0 {
		return line
	}
	var lines []string
	for part := range strings.SplitSeq(line, "\n") {
		margin := part[:len(part)-len(strings.TrimLeft(part, " "))]
		for i, broken := range terminal.Wrap(part[len(margin):], max(1, width-len(margin)-2)) {
			if i == 1 {
				margin += "  "
			}
			lines = append(lines, margin+broken)
		}
	}
	return strings.Join(lines, "\n")
}
