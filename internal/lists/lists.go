// Package lists shows what the program has: policies, caches, predictors, formats, metrics, experiments. Each is a
// List, and one printer prints them all, as tables, as data, or with all there is to know of some.
package lists

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/suggest"
	"github.com/cachesim/cachesim/internal/terminal"
)

// List is a list of things that have names.
type List struct {
	Noun string // what an item is called in errors
	// Columns are the heads of the table. On a terminal, where its rows would not fit, Narrow takes their place, whose
	// last column holds texts below each other; nil: the table is the same everywhere.
	Columns, Narrow table.Row
	// Beside is what the columns before the last one of Narrow take, with the gaps; Least is how wide the last one is
	// on the narrowest of terminals, 40 if nothing is said.
	Beside, Least int
	// NarrowAlways says that the table is narrow also where there is no terminal.
	NarrowAlways bool
	// Wrapped says that descriptions are broken at the width of the terminal.
	Wrapped bool
	Items   []Item
}

// Item is a row of a list.
type Item struct {
	Name    string
	Aliases []string
	Row     table.Row // of Columns
	Narrow  table.Row // of all columns of List.Narrow but the last
	Texts   []string  // of the last column of List.Narrow; those that are empty are left out
	About   []string  // all there is to know, a line each, indented by blanks; nil: no more than the row
	JSON    any       // what is printed as JSON
}

// Names returns the names of the items, in their order.
func (l List) Names() []string {
	names := make([]string, len(l.Items))
	for i, item := range l.Items {
		names[i] = item.Name
	}
	return names
}

// Choose returns the list with the items of these names alone, in any case, or the whole list if there are no names.
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
	l.Items = chosen
	return l, nil
}

// Print prints the list as table, csv, json (an item per line) or markdown.
func (l List) Print(w io.Writer, format string) error {
	if format == "json" {
		rows := make([]any, len(l.Items))
		for i, item := range l.Items {
			rows[i] = item.JSON
		}
		return jsonlines.Write(w, rows)
	}
	t := records.NewTable()
	if width := l.narrowWidth(w, format); width > 0 {
		t.AppendHeader(l.Narrow)
		for _, item := range l.Items {
			texts := terminal.WrapLines(max(width-l.Beside, cmp.Or(l.Least, 40)), item.Texts...)
			t.AppendRow(append(slices.Clone(item.Narrow), texts))
		}
		return printTable(w, t, format)
	}
	t.AppendHeader(l.Columns)
	for _, item := range l.Items {
		t.AppendRow(item.Row)
	}
	return printTable(w, t, format)
}

// narrowWidth returns the width of a narrow table, or 0 if it is to be a wide one.
func (l List) narrowWidth(w io.Writer, format string) int {
	switch {
	case format != "table" || l.Narrow == nil:
		return 0
	case l.NarrowAlways:
		return terminal.TextWidth(w)
	}
	return terminal.Width(w)
}

// printTable prints a table as table, csv or markdown.
func printTable(w io.Writer, t table.Writer, format string) error {
	render := map[string]func() string{"table": t.Render, "csv": t.RenderCSV, "markdown": t.RenderMarkdown}
	_, err := fmt.Fprintln(w, render[format]())
	return err
}

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
			if l.Wrapped {
				line = wrapIndented(line, terminal.TextWidth(w))
			}
			s.WriteString(line + "\n")
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// wrapIndented breaks a line at width; what does not fit on its first line is indented by two blanks more.
func wrapIndented(line string, width int) string {
	sentence := strings.TrimLeft(line, " ")
	indent := len(line) - len(sentence)
	margin := strings.Repeat(" ", indent)
	broken := strings.Split(text.WrapSoft(sentence, width-indent-2), "\n")
	for i, part := range broken {
		broken[i] = margin + strings.TrimRight(part, " ")
		if i == 0 {
			margin += "  "
		}
	}
	return strings.Join(broken, "\n")
}
