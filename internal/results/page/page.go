// Package page builds the one page that commands write next to their files: a report that can be sent on. It is
// self-contained (styles and script are in it, nothing is loaded), is readable without scripts, and its bytes depend on
// its content alone. A Writer escapes texts and values of attributes, and so does what html/template would do; but that
// calls methods by their names, for which the linker keeps all methods of all libraries.
package page

import (
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// Name is the name of the file in an output folder.
const Name = "report.html"

// Page is the content of a page, from the top down. All texts may hold anything: they are escaped.
type Page struct {
	Title    string
	Source   string   // of what is shown, in one line; "" for none
	Notes    []string // what limits all that follows
	About    string   // a paragraph; "" for none
	Sections []Section
	Version  string // of the program
	Files    []Link // next to the page
	Command  string // makes the same again
}

// Section is a part of a page under a heading, to which links lead.
type Section struct {
	ID, Title string
	Parts     []Part
}

// Part is one thing in a section: exactly one field is set.
type Part struct {
	Text     string // a paragraph
	Answer   string // a paragraph that people came for
	Settings []records.Setting
	Table    *Table
	Pivot    *results.Tables
	Figure   *Figure
	HTML     HTML // written by the caller
}

// Link leads to a file next to the page.
type Link struct{ Path, Kind string }

// Figure is a drawing with the files that hold it.
type Figure struct {
	Name    string
	Alt     string // replaces the drawing if it cannot be seen
	Caption string
	SVG     HTML
	Narrow  HTML // the same, drawn for a small screen; "" if there is none
	Files   []Link
	Note    string // what its points do not show; "" for nothing
	Least   int    // width in rem on a small screen, where the drawing is scrolled within its frame
	LeftOut bool   // of the page, for its size: it is in the files alone
}

// Table is a table of texts. The first cell of a row is its heading.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]string
	// Lines has for each row the name of its line in figures; nil if rows are not lines.
	Lines []string
	Notes []string
}

// NewTable makes a table of a page from one of the terminal, whose rows are no lines of figures.
func NewTable(caption string, g tabular.Grid, notes ...string) *Table {
	t := &Table{Caption: caption, Notes: notes}
	for _, h := range g.Heads {
		column := Column{Name: h.Name, Class: Number}
		if h.IsText {
			column.Class = ""
		}
		t.Columns = append(t.Columns, column)
	}
	for _, row := range g.Rows {
		if len(row) > 0 {
			t.Rows = append(t.Rows, t.named(row))
		}
	}
	return t
}

// named returns the next row with the cells at its beginning that a terminal leaves out, since they are as in the row
// above: a page can sort its rows.
func (t *Table) named(row []string) []string {
	if len(t.Rows) == 0 || row[0] != "" {
		return row
	}
	above := t.Rows[len(t.Rows)-1]
	row = slices.Clone(row)
	for i := 0; i < len(row) && row[i] == ""; i++ {
		row[i] = above[i]
	}
	return row
}

// Answers returns the parts that show sentences that people came for.
func Answers(sentences []string) (parts []Part) {
	for _, sentence := range sentences {
		parts = append(parts, Part{Answer: sentence})
	}
	return parts
}

// FileLinks returns links to files next to the page, by their names.
func FileLinks(names ...string) (links []Link) {
	for _, name := range names {
		links = append(links, Link{Path: name, Kind: name})
	}
	return links
}

// Column is the head of a column.
type Column struct {
	Name  string
	Class string // of its cells: "" or one of these
}

// Classes of columns.
const (
	Number  = "number" // aligned to the right
	Wrapped = "wrap"   // long, may be broken anywhere
)

// Bounds of a page, so that it can be sent on.
const (
	longTable   = 30      // rows from which a table is folded away
	mostRows    = 2000    // of a table
	mostDrawing = 6 << 20 // bytes of all figures
)

// On a small screen a drawing is three quarters as large as on paper: its smallest texts can still be read, and as much
// of it as possible can be seen.
const (
	pointsPerRem = 12 / 0.75
	leastDrawing = 30 // rem
)

// Long reports whether the table is folded away.
func (t Table) Long() bool { return len(t.Rows) >= longTable }

// Line returns the name of the line of row i; "" if it is not a line.
func (t Table) Line(i int) string {
	if i < len(t.Lines) {
		return t.Lines[i]
	}
	return ""
}

// Drawn returns the figure of a drawing whose files are in a folder next to the page, or with "" in the page's own.
func Drawn(d plots.Drawing, folder string) *Figure {
	// package plots has escaped what is in its texts
	f := &Figure{Name: d.Name, Caption: d.Title + ".", SVG: HTML(d.SVG()), Narrow: HTML(d.Narrow())}
	f.Least = max(leastDrawing, int(math.Ceil(d.Width/pointsPerRem)))
	f.Alt = f.Caption + " The tables of this page and the files beside it have the numbers."
	if d.Told < d.Points {
		f.Note = fmt.Sprintf("%s of its %s points show their values: more would make the page too large.",
			show.Count(int64(d.Told)), show.Count(int64(d.Points)))
	}
	for _, file := range d.Files {
		kind := strings.ToUpper(strings.TrimPrefix(path.Ext(file.Name), "."))
		f.Files = append(f.Files, Link{path.Join(folder, file.Name), kind})
	}
	return f
}

// Drawings returns the parts that show drawings whose files are next to the page.
func Drawings(drawn []plots.Drawing) (parts []Part) {
	for _, d := range drawn {
		parts = append(parts, Part{Figure: Drawn(d, "")})
	}
	return parts
}

// Write writes the page. Tables and figures that are too large for a page are cut, with a note.
func (p Page) Write(w io.Writer) error {
	p.Sections = bounded(p.Sections)
	_, err := io.WriteString(w, string(p.html()))
	return err
}

// bounded returns copies of sections, cut to the bounds of a page.
func bounded(sections []Section) []Section {
	drawn := 0
	kept := make([]Section, len(sections))
	for i, s := range sections {
		kept[i] = s
		kept[i].Parts = make([]Part, len(s.Parts))
		for j, part := range s.Parts {
			switch {
			case part.Table != nil && len(part.Table.Rows) > mostRows:
				t := *part.Table
				t.Notes = append([]string{fmt.Sprintf("The first %s of %s rows; the files beside this page have all.",
					show.Count(mostRows), show.Count(int64(len(t.Rows))))}, t.Notes...)
				t.Rows = t.Rows[:mostRows]
				part.Table = &t
			case part.Figure != nil:
				// A figure that is left out counts, too: once one is, none of the later ones takes its place.
				drawn += len(part.Figure.SVG) + len(part.Figure.Narrow)
				if drawn > mostDrawing {
					f := *part.Figure
					f.SVG, f.Narrow, f.LeftOut = "", "", true
					part.Figure = &f
				}
			}
			kept[i].Parts[j] = part
		}
	}
	return kept
}
