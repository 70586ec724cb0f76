package results

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/records"
)

// Print writes the tables as table, markdown or csv. CSV has one line per value, with all digits.
func (t *Tables) Print(w io.Writer, format string, opt PrintOptions) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return t.print(w, opt.paint(format)) },
		CSV:   t.encodeCSV,
	}.Print(w, format)
}

func (t *Tables) print(w io.Writer, p paint) error {
	for i := range t.Tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintf(w, "%s\n\n%s\n", p.eachLine(t.Heading(i), p.bold), t.Tables[i].render(p)); err != nil {
			return err
		}
	}
	if len(t.Notes) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s", p.lines(t.Notes))
	return err
}

// Heading is the text above table i.
func (t *Tables) Heading(i int) string {
	title := cmp.Or(t.Title, records.MetricName(t.Pivot.Cells))
	if name := t.Tables[i].Name; name != "" {
		title += ": " + name
	}
	return show.Printable(title)
}

// render shows a compared column as three: ours, the published value and the difference.
func (t *Table) render(p paint) string {
	g := tabular.Grid{Folds: true, Heads: []tabular.Head{{Name: t.Corner, IsText: true, Wrap: 16}}}
	for _, c := range t.Columns {
		g.Heads = append(g.Heads, tabular.Head{Name: c.Name})
		if c.Compared {
			g.Heads = append(g.Heads, tabular.Head{Name: "published", Beside: true}, tabular.Head{Name: "difference",
				Beside: true})
		}
	}
	for _, r := range t.Rows {
		g.Rows = append(g.Rows, t.printedRow(r, p))
	}
	return p.grid(g)
}

func (t *Table) printedRow(r TableRow, p paint) []string {
	name := r.Name
	quiet := func(s string) string { return s }
	if r.Kind != records.Online {
		name += " (" + r.Kind + ")"
		quiet = p.dim
	}
	row := []string{quiet(name)}
	for i, c := range r.Cells {
		value := c.print(p)
		if t.hasBest(i) && !c.Best && !p.markdown {
			value += "  " // so that its digits align with the marked value's
		}
		row = append(row, quiet(value))
		if t.Columns[i].Compared {
			row = append(row, quiet(c.Published), c.printDifference(p))
		}
	}
	return row
}

// print marks the best value with a star, which is outside of Markdown's emphasis because it would end it.
func (c *TableCell) print(p paint) string {
	switch {
	case c.Best && p.markdown:
		return p.bold(c.Text) + ` \*`
	case c.Best:
		return p.bold(c.Text + " *")
	}
	return c.Text
}

// printDifference marks a difference that is too large.
func (c *TableCell) printDifference(p paint) string {
	if c.Off {
		return p.bold(c.Difference + " !")
	}
	return p.dim(c.Difference)
}

// encodeCSV writes one line per value.
func (t *Tables) encodeCSV(w io.Writer) error {
	header := []string{cmp.Or(t.Panels, "table"), t.Pivot.Rows, t.Pivot.Columns, t.Pivot.Cells, "margin", "seeds"}
	if t.Against != nil {
		header = append(header, "published", "agrees")
	}
	lines := [][]string{header}
	for i := range t.Tables {
		for _, r := range t.Tables[i].Rows {
			for j, c := range r.Cells {
				if c.Text == "" {
					continue
				}
				e := c.Estimate
				line := []string{t.Tables[i].Place, r.Name, t.Tables[i].Columns[j].Place, number(e.Mean), number(e.Margin),
					strconv.Itoa(e.Seeds)}
				switch {
				case c.Published != "":
					line = append(line, number(c.PublishedValue), strconv.FormatBool(!c.Off))
				case t.Against != nil:
					line = append(line, "", "")
				}
				lines = append(lines, line)
			}
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// lines writes notes below a table, one per line.
func (p paint) lines(notes []string) string {
	var s strings.Builder
	for i, line := range notes {
		if p.markdown {
			line = strings.ReplaceAll(line, "*", `\*`)
			if i < len(notes)-1 {
				line += "  " // a line break
			}
		}
		s.WriteString(p.eachLine(line, p.dim) + "\n")
	}
	return s.String()
}

// eachLine breaks a text at the width, and makes each of its lines stand out.
func (p paint) eachLine(s string, standOut func(string) string) string {
	lines := terminal.Wrap(s, p.width)
	for i := range lines {
		lines[i] = standOut(lines[i])
	}
	return strings.Join(lines, "\n")
}
