package plots

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
)

// rowsOf is a series with a value for each time and label.
func rowsOf(cell string, times, labels []float64) (rows []series.Row) {
	for _, at := range times {
		for _, label := range labels {
			rows = append(rows, series.Row{Cell: cell, Time: at, Name: "query_cosines",
				Label: strconv.FormatFloat(label, 'g', -1, 64), Value: at + label/100})
		}
	}
	return rows
}

func TestLabelsOverTimeAreCells(t *testing.T) {
	f := LabelsOverTime{Name: "query_cosines", File: "f", Title: "Cosines"}
	rows := append(rowsOf("a", []float64{8, 4}, []float64{4, 12, 8}), series.Row{Cell: "a", Time: 1, Name: "recall"})
	m := must.Get(f.matrix(rows))(t)
	want := []float64{4.04, 8.04, 4.08, 8.08, 4.12, 8.12}
	if m.Columns != 2 || !slices.Equal(m.Values, want) || m.X.First != 4 || m.X.Step != 4 || m.Y.at(2) != 12 {
		t.Errorf("matrix %+v, want 2 columns of %v", m, want)
	}
	recs := []records.Record{{Trace: "x", Cell: "a"}, {Trace: "y", Cell: "b"}, {Trace: "z", Cell: "c"}}
	both := append(rows, rowsOf("b", []float64{1, 2, 3}, []float64{1, 2, 3})...)
	f.Rows = series.ByCell(both)
	d := must.Get(f.Draw(recs, canvas.SVG))(t)
	for _, text := range []string{"x", "y", "Cosines", "each panel has axes of its own"} {
		if svg := string(d.Files[0].Data); !strings.Contains(svg, ">"+text+"<") {
			t.Errorf("the figure lacks %q", text)
		}
	}
	uneven, named := rowsOf("a", []float64{1, 2, 4}, []float64{1}), slices.Clone(rows)
	named[0].Label = "web"
	for why, test := range map[string]struct {
		recs []records.Record
		rows []series.Row
	}{
		"no record has a series of query_cosines":        {recs, nil},
		"several records of x have the series":           {[]records.Record{recs[0], recs[0]}, rows},
		`has the label "web", which is not a number`:     {recs, named},
		"2 and 4 are 2 apart, others 1; want equal dist": {recs, uneven},
	} {
		f.Rows = series.ByCell(test.rows)
		if _, err := f.Draw(test.recs); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("error %v, want one with %q", err, why)
		}
	}
}
