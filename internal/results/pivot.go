package results

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/records"
)

// Pivot describes a table of one metric.
type Pivot struct {
	Title   string
	Rows    string // a dimension; "" for DimPolicy
	Columns string // a dimension; "" for DimCapacity
	Cells   string // a metric
	// Panels is the dimension with one table per place; "" for DimTrace, or for a single table if that dimension makes
	// rows or columns.
	Panels  string
	Against *Published // numbers to compare ours with, or nil
}

// Table is a pivot table.
type Table struct {
	Name    string // its panel: "oltp", "capacity 1%"; "" for the only one
	Place   string // of the panel, as in the records: "1%"
	Corner  string // the meaning of the rows: "policy"
	Columns []TableColumn
	Rows    []TableRow
}

// TableColumn is the header of a column.
type TableColumn struct {
	Name     string // "1,000", "1% (489)"
	Place    string // as in the records: "1000", "1%"
	Compared bool   // cells have published numbers and differences next to ours
}

// TableRow is a row; it has a cell for each column.
type TableRow struct {
	Name  string
	Kind  string // of the policy: online, offline or bound
	Cells []TableCell
}

// TableCell is a value as printed, and what it is made from. Text is "" if there is no value.
type TableCell struct {
	Text       string // "47.12%", with a margin if there are several seeds: "47.12% ± 0.03"
	Published  string // "47.10%", or "" where nothing was published
	Difference string // ours minus the published value: "+0.02", in points if the metric is a ratio
	Best       bool   // the best of the online policies, or of the rows, in its column
	Off        bool   // differs from the published value by more than the tolerance

	Estimate       Estimate
	PublishedValue float64 // if Published is not ""
}

// Tables are the tables of a pivot with their notes.
type Tables struct {
	Pivot
	Tables []Table
	Notes  []string // "* best online value of the column", "16 of 16 agree within 0.005 points"
}

// Tables creates the tables. Records are arranged as by Arrange.
func (p Pivot) Tables(recs []records.Record) (*Tables, error) {
	p = p.withDefaults()
	panels, err := Arrange(recs, Layout{Panels: p.Panels, Lines: p.Rows, Along: p.Columns, Metric: p.Cells})
	if err != nil {
		return nil, fmt.Errorf("table of %s: %w", p.Cells, err)
	}
	t := &Tables{Pivot: p}
	for _, panel := range panels {
		t.Tables = append(t.Tables, p.table(panel))
	}
	notes := []string{SampleNote(recs)}
	for _, k := range records.PartKinds {
		if k.Some {
			notes = append(notes, partNote(k, recs))
		}
	}
	notes = append(notes, show.Printable(FutureNote(recs)))
	t.Notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" })
	t.note()
	return t, nil
}

// partNote says which parts policies use if each policy uses a single one, because then their rows do not.
func partNote(k records.PartKind, recs []records.Record) string {
	asked := map[string]string{} // by label of the policy
	var policies, parts []string
	for i := range recs {
		r := &recs[i]
		part := *k.Field(r)
		if part == "" {
			continue
		}
		if before, ok := asked[r.Label]; !ok {
			asked[r.Label] = part
			policies = append(policies, r.Label)
		} else if before != part {
			return ""
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if len(parts) > 1 {
		for i, label := range policies {
			policies[i] = label + " " + asked[label]
		}
		return show.Printable(k.Plural + ": " + strings.Join(policies, ", "))
	}
	return show.Printable(fmt.Sprintf("%s of %s: %s", k.Name, strings.Join(policies, ", "), parts[0]))
}

func (p Pivot) withDefaults() Pivot {
	p.Rows, p.Columns = cmp.Or(p.Rows, records.DimPolicy), cmp.Or(p.Columns, records.DimCapacity)
	if p.Panels == "" && p.Rows != records.DimTrace && p.Columns != records.DimTrace {
		p.Panels = records.DimTrace
	}
	if p.Against != nil && p.Against.Metric != p.Cells {
		p.Against = nil
	}
	return p
}

func (p Pivot) table(panel Panel) Table {
	t := Table{Name: show.Printable(panel.Name), Place: panel.Place, Corner: records.MetricName(p.Rows)}
	for _, place := range placesOf(panel) {
		t.Columns = append(t.Columns, TableColumn{Name: p.heading(panel, place), Place: place})
	}
	for _, s := range panel.Lines {
		row := TableRow{Name: show.Printable(s.Name), Kind: s.Kind(), Cells: make([]TableCell, len(t.Columns))}
		for i, c := range t.Columns {
			point, ok := s.at(c.Place)
			if !ok {
				continue
			}
			row.Cells[i] = p.cell(point)
			if row.Cells[i].Published != "" {
				t.Columns[i].Compared = true
			}
		}
		t.Rows = append(t.Rows, row)
	}
	p.markBest(&t, panel)
	return t
}

// placesOf returns the texts of a panel's places, in the order of the records; a single one without a name if the panel
// has none.
func placesOf(panel Panel) (places []string) {
	for _, s := range panel.Lines {
		for _, point := range s.Points {
			if !point.Anywhere && !slices.Contains(places, point.Place.Text) {
				places = append(places, point.Place.Text)
			}
		}
	}
	if len(places) == 0 {
		return []string{""}
	}
	return places
}

func (s *Series) at(place string) (Point, bool) {
	for _, p := range s.Points {
		if p.Anywhere || p.Place.Text == place {
			return p, true
		}
	}
	return Point{}, false
}

// heading names a column. A capacity is shown with its number if that is the same in the whole table.
func (p Pivot) heading(panel Panel, place string) string {
	if place == "" {
		return "any " + records.MetricName(p.Columns)
	}
	if p.Columns != records.DimCapacity {
		return PlaceName(p.Columns, records.Value{Text: show.Printable(place)})
	}
	var first *records.Record
	for _, s := range panel.Lines {
		for _, point := range s.Points {
			switch {
			case point.Place.Text != place:
			case first == nil:
				first = point.Record
			case point.Record.Capacity != first.Capacity || point.Record.CapacityUnit != first.CapacityUnit:
				return place
			}
		}
	}
	number := show.Capacity(first.Capacity, first.CapacityUnit)
	if strings.HasSuffix(place, "%") {
		return place + " (" + number + ")"
	}
	return number
}

func (p Pivot) cell(point Point) TableCell {
	c := TableCell{Text: records.MetricText(p.Cells, point.Mean), Estimate: point.Estimate}
	if point.Record.Kind == records.Bound {
		c.Text = map[bool]string{true: "≥ ", false: "≤ "}[records.LowerIsBetter(p.Cells)] + c.Text
	}
	if point.Seeds > 1 {
		c.Text += " ± " + strings.TrimSuffix(records.MetricText(p.Cells, point.Margin), "%")
	}
	if p.Against == nil {
		return c
	}
	if x, ok := p.Against.For(point.Record); ok {
		c.Published, c.PublishedValue = records.MetricText(p.Cells, x), x
		c.Difference = records.DifferenceText(p.Cells, point.Mean-x)
		c.Off = !p.Against.Agrees(point.Mean, x)
	}
	return c
}

// markBest marks the best policies of each column, or of each row if policies are columns; for other rows the best
// value of each column. If all values are equal, none is marked.
func (p Pivot) markBest(t *Table, panel Panel) {
	if !records.HigherIsBetter(p.Cells) && !records.LowerIsBetter(p.Cells) {
		return
	}
	byRow := p.Columns == records.DimPolicy
	if !byRow && (p.Rows == records.DimTrace || p.Rows == records.DimCapacity || p.Rows == records.DimSeed) {
		return
	}
	compared := make([][]*TableCell, max(len(t.Rows), len(t.Columns)))
	for i := range t.Rows {
		for j, c := range t.Columns {
			group := j
			if byRow {
				group = i
			}
			if point, ok := panel.Lines[i].at(c.Place); ok && point.Record.Competes() {
				compared[group] = append(compared[group], &t.Rows[i].Cells[j])
			}
		}
	}
	for _, cells := range compared {
		markBestOf(cells, records.LowerIsBetter(p.Cells))
	}
}

func markBestOf(cells []*TableCell, lowest bool) {
	if len(cells) == 0 {
		return
	}
	best, worst := cells[0].Estimate.Mean, cells[0].Estimate.Mean
	for _, c := range cells {
		best, worst = max(best, c.Estimate.Mean), min(worst, c.Estimate.Mean)
	}
	if lowest {
		best, worst = worst, best
	}
	for _, c := range cells {
		c.Best = c.Estimate.Mean == best && best != worst
	}
}

// hasBest reports whether a cell in column j is marked.
func (t *Table) hasBest(j int) bool {
	return slices.ContainsFunc(t.Rows, func(r TableRow) bool { return r.Cells[j].Best })
}

// note explains the marks and says how many values agree with the published ones.
func (t *Tables) note() {
	var marked, margins bool
	compared, agree := 0, 0
	for c := range t.cells {
		marked = marked || c.Best
		margins = margins || c.Estimate.Seeds > 1
		if c.Published != "" {
			compared++
			if !c.Off {
				agree++
			}
		}
	}
	if marked {
		what := "column"
		if t.Pivot.Columns == records.DimPolicy {
			what = "row"
		}
		t.Notes = append(t.Notes, "* best online value of the "+what)
	}
	if margins {
		t.Notes = append(t.Notes, "±: 95% confidence interval of the mean over seeds")
	}
	if t.Against == nil {
		return
	}
	if compared == 0 {
		t.Notes = append(t.Notes, t.Against.Name+" has no number for any cell of this table")
		return
	}
	if agree < compared {
		t.Notes = append(t.Notes, "! differs by more than the tolerance")
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%d of %d agree with %s%s", agree, compared, t.Against.Name,
		t.Against.tolerance()))
}

// tolerance gives the difference up to which numbers agree: " within 0.005 points".
func (p *Published) tolerance() string {
	switch {
	case p.Within == 0:
		return " exactly"
	case records.IsShare(p.Metric):
		return " within " + show.Trimmed(p.Within*100, 4) + " points"
	}
	return " within " + show.Trimmed(p.Within, 4)
}

// Differs reports whether a value differs from what was published by more than it may.
func (t *Tables) Differs() (differs bool) {
	for c := range t.cells {
		differs = differs || c.Off
	}
	return differs
}

// cells yields the cells with values.
func (t *Tables) cells(yield func(*TableCell) bool) {
	for i := range t.Tables {
		for j := range t.Tables[i].Rows {
			for k := range t.Tables[i].Rows[j].Cells {
				if c := &t.Tables[i].Rows[j].Cells[k]; c.Text != "" && !yield(c) {
					return
				}
			}
		}
	}
}

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
			difference := p.dim(c.Difference)
			if c.Off { // too large
				difference = p.bold(c.Difference + " !")
			}
			row = append(row, quiet(c.Published), difference)
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

// Published contains published numbers to compare ours with.
type Published struct {
	Name   string // in figures and tables: "ARC paper"
	Source string
	Metric string
	Within float64 // the difference up to which ours agree
	Points []PublishedPoint
}

// PublishedPoint is one published number.
type PublishedPoint struct {
	At    map[string]string // dimension to place; a missing dimension may have any place
	Value float64
}

// For returns the published number for the measurement of r; if there are several, the most specific one.
func (p *Published) For(r *records.Record) (x float64, ok bool) {
	dims := -1
	for i := range p.Points {
		if point := &p.Points[i]; len(point.At) > dims && point.isAt(r, "") {
			x, dims = point.Value, len(point.At)
		}
	}
	return x, dims >= 0
}

// isAt reports whether r is at the point, ignoring the dimension except.
func (p *PublishedPoint) isAt(r *records.Record, except string) bool {
	for dim, place := range p.At {
		if v, ok := r.Dim(dim); ok && dim != except && !v.Is(place) {
			return false
		}
	}
	return true
}

// Agrees reports whether our number is within the tolerance of the published one.
func (p *Published) Agrees(ours, published float64) bool {
	const rounding = 1e-9 // 0.3846 written as 38.46% and 0.38460000000000005 are the same
	return math.Abs(ours-published) <= p.Within*(1+rounding)+rounding*max(1e-3, math.Abs(published))
}

// PointsOf returns the published numbers for a series: its policy, trace, panel and so on. Their places on the
// dimension along are first those of the series, in their order, then other numbers.
func (p *Published) PointsOf(s *Series, along string) (points []Point) {
	for _, ours := range s.Points {
		if x, ok := p.For(ours.Record); ok && !ours.Anywhere {
			points = append(points, Point{Place: ours.Place, Estimate: Estimate{Mean: x, Seeds: 1}, Record: ours.Record})
		}
	}
	for i := range p.Points {
		text, ok := p.Points[i].At[along]
		if !ok || !p.Points[i].isAt(s.Points[0].Record, along) {
			continue
		}
		place := records.ValueOf(text)
		if place.IsNumber && !s.has(text) {
			points = append(points, Point{Place: place, Estimate: Estimate{Mean: p.Points[i].Value, Seeds: 1},
				Record: s.Points[0].Record})
		}
	}
	return points
}

// has reports whether the series has a point at the place with this text.
func (s *Series) has(text string) bool {
	for _, p := range s.Points {
		if !p.Anywhere && p.Place.Is(text) {
			return true
		}
	}
	return false
}
