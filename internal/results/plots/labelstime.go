package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
)

// LabelsOverTime is a heat map of a series whose labels are numbers: a column for each time and a row for each label.
type LabelsOverTime struct {
	Name           string // of the series: "query_cosines"
	File           string // without its ending
	Title          string
	XLabel, YLabel string                  // "" for what the rows count
	Rows           map[string][]series.Row // by cell
}

// Draw draws the series as FILE.svg and so on, a panel for each record; without a format it only returns the error.
// Records without rows of that name are left out. It is an UndrawableError if all are, if a label is not a number, or
// if several records are of one trace.
func (f LabelsOverTime) Draw(recs []records.Record, formats ...Format) (Drawing, error) {
	s, err := f.sheet(recs)
	return drawn(f.File, s, err, formats)
}

func (f LabelsOverTime) sheet(recs []records.Record) (*sheet, error) {
	var found []Matrix
	var traces []string
	var values []float64
	for i := range recs {
		m, err := f.matrix(f.Rows[recs[i].Cell])
		switch {
		case err != nil:
			return nil, err
		case m.Columns == 0:
			continue
		case slices.Contains(traces, recs[i].Trace):
			return nil, fmt.Errorf("several records of %s have the series; choose one with only", recs[i].Trace)
		}
		m.X.Label, m.Y.Label, m.Label = f.XLabel, f.YLabel, records.AxisName(f.Name)
		if m.X.Label == "" {
			m.X.Label = clockOf(recs).label
		}
		found, traces, values = append(found, m), append(traces, recs[i].Trace), append(values, m.Values...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no record has a series of %s", f.Name)
	}
	colors := newColorScale(Linear, values)
	s := &sheet{title: f.Title, bar: &colorBar{colors, unitOf(f.Name), records.AxisName(f.Name)}}
	var all []*cells
	for i, m := range found {
		figure, c := m.figure(f.Title+": "+traces[i], traces[i], colors, len(found) > 1)
		s.panels, all = append(s.panels, figure), append(all, c)
	}
	s.note = joined(missingNote(all...), s.scalesNote())
	return s, nil
}

// matrix returns the values of the rows that have the figure's name; one without columns for none.
func (f LabelsOverTime) matrix(rows []series.Row) (m Matrix, err error) {
	var times, labels []float64
	for _, row := range rows {
		if row.Name != f.Name {
			continue
		}
		label, err := strconv.ParseFloat(row.Label, 64)
		if err != nil {
			return m, fmt.Errorf("the series %s has the label %q, which is not a number", f.Name, row.Label)
		}
		times, labels = append(times, row.Time), append(labels, label)
	}
	columns, onX, err := evenly(times)
	if err != nil {
		return m, fmt.Errorf("times of %s: %w", f.Name, err)
	}
	lines, onY, err := evenly(labels)
	if err != nil {
		return m, fmt.Errorf("labels of %s: %w", f.Name, err)
	}
	m = Matrix{X: onX, Y: onY, Columns: len(columns)}
	m.Values = slices.Repeat([]float64{math.NaN()}, len(columns)*len(lines))
	at := 0
	for _, row := range rows {
		if row.Name == f.Name {
			column, _ := slices.BinarySearch(columns, times[at])
			line, _ := slices.BinarySearch(lines, labels[at])
			m.Values[line*len(columns)+column] = row.Value
			at++
		}
	}
	return m, nil
}

// evenly returns the different numbers in ascending order, which are to be equally far apart.
func evenly(numbers []float64) (ascending []float64, on Places, err error) {
	ascending = slices.Clone(numbers)
	slices.Sort(ascending)
	ascending = slices.Compact(ascending)
	on.Step = 1
	if len(ascending) > 1 {
		on.Step = ascending[1] - ascending[0]
	}
	for i, x := range ascending {
		if i == 0 {
			on.First = x
		} else if step := x - ascending[i-1]; step != on.Step {
			return nil, on, fmt.Errorf("%v and %v are %v apart, others %v; want equal distances", ascending[i-1], x, step,
				on.Step)
		}
	}
	return ascending, on, nil
}
