// Package tabular lays out tables of texts, for a terminal or as Markdown, and prints what a command has in the format
// that its user chose.
package tabular

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Grid is a table of texts. All tables that people read are made by it: as Markdown, or as text that fits a terminal.
type Grid struct {
	Heads []Head
	Rows  [][]string // an empty one is a line between the others, which Markdown leaves out
	// Folds says that all columns matter: those that do not fit are in a second table below with the same first column.
	// Otherwise the least important columns are left out.
	Folds bool
	// InFolder says that all columns are also in the files of -o DIR.
	InFolder bool
}

// Head is the head of a column. Text starts at the left, numbers end at the right.
type Head struct {
	Name   string
	IsText bool
	// Weight says how important the column is. Where there is no room for all, the column of the least weight is left out
	// first; ties go to the last one. The first column and columns of the weight Key always stay.
	Weight int
	// Wrap is the least width at which long cells continue in further lines. 0 keeps them in one line as long as columns
	// can be left out.
	Wrap int
	// Beside keeps the column in the same table as the previous one, where the grid folds.
	Beside bool
	// Below writes the cells of the column on lines of their own below the rows of a terminal, without its name: for
	// sentences. It is for the last columns of a grid that does not fold.
	Below bool
}

// Column is a column of a grid whose rows are values of a type.
type Column[T any] struct {
	Head
	Cell func(row T) string
}

// GridOf returns the grid of rows.
func GridOf[T any](columns []Column[T], rows []T) (g Grid) {
	for _, c := range columns {
		g.Heads = append(g.Heads, c.Head)
	}
	for _, row := range rows {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.Cell(row))
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// Key is the weight of columns without which rows cannot be told apart.
const Key = 100

// In returns the table in a format: "markdown", or else as Text.
func (g Grid) In(format string, width int) string {
	if format == "markdown" {
		return g.Markdown()
	}
	return g.Text(width)
}

// Text returns the table for a terminal of width columns. With width 0, for a file or another program, every column
// stays and every row is one line, unless its cells have several; a cell that is far longer than usual moves those
// after it to the right.
func (g Grid) Text(width int) string {
	m := g.measure()
	if width <= 0 {
		return m.unlimited().render()
	}
	if g.Folds {
		return m.folded(width)
	}
	l, left := m.fitted(width)
	rendered := l.render()
	if len(left) > 0 {
		rendered += "\n" + terminal.Wrapped(g.leftOut(left), width)
	}
	return rendered
}

// Whole returns the table with all its columns, each row in one line, and whether that fits a terminal of width
// columns.
func (g Grid) Whole(width int) (text string, fits bool) {
	l := g.measure().unlimited()
	return l.render(), width <= 0 || total(l.natural) <= width
}

// leftOut names the columns that a terminal has no room for, and where they are.
func (g Grid) leftOut(columns []int) string {
	const most = 12
	var names []string
	for _, c := range columns {
		names = append(names, g.Heads[c].Name)
	}
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", n))
	}
	noun, them := "columns", "them"
	if len(columns) == 1 {
		noun, them = "column", "it"
	}
	elsewhere := "a wider terminal or --format csv"
	if g.InFolder {
		elsewhere = "a wider terminal, --format csv or -o DIR"
	}
	return fmt.Sprintf("%d %s left out: %s; %s has %s", len(columns), noun, strings.Join(names, ", "), elsewhere, them)
}

// gridCell is a cell as it is written: lines in a style.
type gridCell struct {
	style string // escape sequences before each line; "" for none
	lines []string
	width int // of the longest line
}

// styled matches text that is written in a style from its first to its last character.
var styled = regexp.MustCompile(`^((?:\x1b\[[0-9;]*m)+)([^\x1b]*?)(?:\x1b\[0m)+$`)

func (c gridCell) painted(line string) string {
	if c.style == "" {
		return line
	}
	return c.style + line + "\x1b[0m"
}

func newGridCell(s string) gridCell {
	c := gridCell{}
	if parts := styled.FindStringSubmatch(s); parts != nil {
		c.style, s = parts[1], parts[2]
	}
	for line := range strings.SplitSeq(s, "\n") {
		line = terminal.Printable(strings.ReplaceAll(line, "\t", " "))
		c.lines = append(c.lines, line)
		c.width = max(c.width, terminal.StringWidth(line))
	}
	return c
}

// measured is a table with the widths that its columns can have.
type measured struct {
	Grid
	heads []gridCell
	rows  [][]gridCell // nil for a line
	// the widths at which no line of a cell is broken, and the widths below which a column is not readable
	natural, least []int
}

func (g Grid) measure() *measured {
	m := &measured{Grid: g, natural: make([]int, len(g.Heads)), least: make([]int, len(g.Heads))}
	for i, h := range g.Heads {
		head := newGridCell(h.Name)
		m.heads = append(m.heads, head)
		for word := range strings.FieldsSeq(h.Name) {
			m.least[i] = max(m.least[i], terminal.StringWidth(word))
		}
		m.natural[i] = head.width
	}
	for _, texts := range g.Rows {
		var row []gridCell
		for i, s := range texts {
			c := newGridCell(s)
			row = append(row, c)
			m.natural[i] = max(m.natural[i], c.width)
			if wrap := g.Heads[i].Wrap; wrap > 0 {
				m.least[i] = max(m.least[i], min(wrap, c.width))
			} else {
				m.least[i] = max(m.least[i], c.width)
			}
		}
		m.rows = append(m.rows, row)
	}
	return m
}

// gap is what a column needs besides its text: a blank on both sides.
const gap = 2

// layout is a table as it is written: which columns, and how wide.
type layout struct {
	*measured
	columns []int
	widths  []int // of these columns
	rule    int   // width of lines between rows
	fits    bool  // whether cells that are longer are broken
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		sum += w + gap
	}
	return sum
}

// Widths where nothing limits a table: of the text of a column, beyond which longer cells move those after them, and of
// lines between rows.
const (
	widestText = 40
	widestRule = 100
)

// unlimited returns the table for a file or another program.
func (m *measured) unlimited() layout {
	l := layout{measured: m, columns: m.all(), widths: slices.Clone(m.natural)}
	for i, h := range m.Heads {
		if h.IsText && h.Wrap > 0 {
			l.widths[i] = min(l.widths[i], widestText)
		}
	}
	l.rule = total(l.widths)
	if total(m.natural) > l.rule {
		l.rule = min(l.rule, widestRule)
	}
	return l
}

func (m *measured) all() []int {
	columns := make([]int, len(m.Heads))
	for i := range columns {
		columns[i] = i
	}
	return columns
}

// fitted returns the table for a terminal of width columns, and the columns that it has no room for.
func (m *measured) fitted(width int) (l layout, left []int) {
	columns := slices.DeleteFunc(m.all(), func(c int) bool { return m.Heads[c].Below })
	for total(pick(m.least, columns)) > width {
		lightest := -1
		for place, c := range columns {
			if place > 0 && m.Heads[c].Weight < Key &&
				(lightest < 0 || m.Heads[c].Weight <= m.Heads[columns[lightest]].Weight) {
				lightest = place
			}
		}
		if lightest < 0 {
			break
		}
		left = append(left, columns[lightest])
		columns = slices.Delete(columns, lightest, lightest+1)
	}
	slices.Sort(left)
	return m.spread(columns, width), left
}

// folded returns the table in as many parts as a terminal of width columns needs.
func (m *measured) folded(width int) string {
	if len(m.Heads) == 1 || total(m.natural) <= width {
		return m.spread(m.all(), width).render()
	}
	var parts []string
	for from := 1; from < len(m.Heads); {
		columns := []int{0}
		for from < len(m.Heads) {
			next := from + 1
			for next < len(m.Heads) && m.Heads[next].Beside {
				next++
			}
			more := slices.Clone(columns)
			for c := from; c < next; c++ {
				more = append(more, c)
			}
			if len(columns) > 1 && total(pick(m.least, more)) > width {
				break
			}
			columns, from = more, next
		}
		parts = append(parts, m.spread(columns, width).render())
	}
	return strings.Join(parts, "\n\n")
}

// spread shares the width among columns. Those with text to break grow from their least widths, the narrowest first. If
// even the least widths are too much, the widest texts shrink.
func (m *measured) spread(columns []int, width int) layout {
	l := layout{measured: m, columns: columns, widths: pick(m.least, columns)}
	for total(l.widths) < width {
		grows := -1
		for i, c := range columns {
			if l.widths[i] < m.natural[c] && (grows < 0 || l.widths[i] < l.widths[grows]) {
				grows = i
			}
		}
		if grows < 0 {
			break
		}
		l.widths[grows]++
	}
	for total(l.widths) > width {
		const narrowest = 8
		shrinks := -1
		for i, c := range columns {
			if m.Heads[c].IsText && l.widths[i] > narrowest && (shrinks < 0 || l.widths[i] > l.widths[shrinks]) {
				shrinks = i
			}
		}
		if shrinks < 0 {
			break
		}
		l.widths[shrinks]--
	}
	l.fits = true // before tighten, which measures broken lines
	l.tighten()
	l.rule = total(l.widths)
	return l
}

// tighten narrows each column to its longest line after breaking.
func (l *layout) tighten() {
	for i, c := range l.columns {
		needed := 0
		of := func(cell gridCell) {
			for _, line := range l.broken(cell, i).lines {
				needed = max(needed, terminal.StringWidth(line))
			}
		}
		of(l.heads[c])
		for _, row := range l.rows {
			if c < len(row) {
				of(row[c])
			}
		}
		l.widths[i] = min(l.widths[i], needed)
	}
}

func pick(values, places []int) []int {
	picked := make([]int, len(places))
	for i, place := range places {
		picked[i] = values[place]
	}
	return picked
}

// render writes the table, without a line break at its end.
func (l layout) render() string {
	var s strings.Builder
	l.writeHeads(&s)
	rule := "\n" + strings.Repeat("─", l.rule)
	s.WriteString(rule)
	for _, row := range l.rows {
		if row == nil {
			s.WriteString(rule)
			continue
		}
		s.WriteString("\n")
		l.writeRow(&s, row)
		if l.fits {
			l.writeBelow(&s, row)
		}
	}
	return s.String()
}

// writeBelow writes the cells that are below a row, indented.
func (l layout) writeBelow(s *strings.Builder, row []gridCell) {
	const indent = 3
	for c, cell := range row {
		if !l.Heads[c].Below {
			continue
		}
		for _, line := range cell.lines {
			for _, part := range terminal.Wrap(line, max(l.rule-indent, 1)) {
				if part != "" {
					s.WriteString("\n" + strings.Repeat(" ", indent) + cell.painted(part))
				}
			}
		}
	}
}

// writeHeads writes the names of the columns. Names with fewer lines than others end at the bottom, above the rule.
func (l layout) writeHeads(s *strings.Builder) {
	heads := slices.Clone(l.heads)
	height := 0
	for i, c := range l.columns {
		heads[c] = l.broken(heads[c], i)
		height = max(height, len(heads[c].lines))
	}
	for c := range heads {
		missing := max(0, height-len(heads[c].lines))
		heads[c].lines = append(make([]string, missing), heads[c].lines...)
	}
	l.writeRow(s, heads)
}

// broken breaks the lines of a cell that are wider than the column at this place of the layout, if they must fit.
func (l layout) broken(c gridCell, place int) gridCell {
	if !l.fits || c.width <= l.widths[place] {
		return c
	}
	var lines []string
	for _, line := range c.lines {
		lines = append(lines, terminal.Wrap(line, l.widths[place])...)
	}
	c.lines = lines
	return c
}

func (l layout) writeRow(s *strings.Builder, row []gridCell) {
	cells := make([]gridCell, len(l.columns))
	height := 1
	for i, c := range l.columns {
		if c < len(row) {
			cells[i] = l.broken(row[c], i)
		}
		height = max(height, len(cells[i].lines))
	}
	for n := range height {
		if n > 0 {
			s.WriteString("\n")
		}
		var line strings.Builder
		start, used := 1, 0 // where the column begins, and where the text before it ends
		for i, c := range l.columns {
			if n < len(cells[i].lines) && cells[i].lines[n] != "" {
				text := cells[i].lines[n]
				width := terminal.StringWidth(text)
				blanks := start - used
				if !l.Heads[c].IsText {
					blanks += l.widths[i] - width
				}
				blanks = max(blanks, min(used, gap)) // more than there is room for before it moves the cell to the right
				line.WriteString(strings.Repeat(" ", blanks) + cells[i].painted(text))
				used += blanks + width
			}
			start += l.widths[i] + gap
		}
		s.WriteString(strings.TrimRight(line.String(), " "))
	}
}

func (g Grid) Markdown() string {
	var s strings.Builder
	row := func(cells []string) {
		s.WriteString("|")
		for i := range g.Heads {
			text := ""
			if i < len(cells) {
				text = inMarkdown.Replace(cells[i])
			}
			s.WriteString(" " + text + " |")
		}
	}
	row(g.names())
	s.WriteString("\n|")
	for _, h := range g.Heads {
		if h.IsText {
			s.WriteString(":--- |")
		} else {
			s.WriteString(" ---:|")
		}
	}
	for _, cells := range g.Rows {
		if len(cells) > 0 {
			s.WriteString("\n")
			row(cells)
		}
	}
	return s.String()
}

// inMarkdown keeps a cell in its cell.
var inMarkdown = strings.NewReplacer("|", `\|`, "\n", "<br/>")

func (g Grid) CSV(w io.Writer) error {
	lines := [][]string{g.names()}
	for _, cells := range g.Rows {
		if len(cells) > 0 {
			lines = append(lines, cells)
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func (g Grid) names() (names []string) {
	for _, h := range g.Heads {
		names = append(names, h.Name)
	}
	return names
}
