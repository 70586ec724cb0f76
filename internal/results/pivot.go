package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
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
