package trees

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
)

// Print writes s to w as table, csv (metric,value), json (one line) or markdown.
func (s *Summary) Print(w io.Writer, format string) error {
	return tabular.Printed{Table: s.printTable, CSV: s.encodeCSV, JSON: tabular.OneJSON(s)}.Print(w, format)
}

func (s *Summary) printTable(w io.Writer, format string) error {
	title := fmt.Sprintf("%s: %s requests, %s samples, %d of %d trees kept", s.Trace, show.Count(s.Requests),
		show.Count(s.Samples), s.Trees, s.Grown)
	return tabular.PrintTables(w, format, title, s.fitTable(), s.featureTable())
}

func (s *Summary) fitTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "samples", IsText: true}, {Name: "number", Weight: 1},
		{Name: "RMSE of log time", Weight: 3}, {Name: "of the mean", Weight: 2}}}
	add := func(name string, f Fit) {
		t.Rows = append(t.Rows, []string{name, show.Count(int64(f.Rows)), fmt.Sprintf("%.3f", f.RMSE),
			fmt.Sprintf("%.3f", f.MeanRMSE)})
	}
	add("trained on", s.Trained)
	if s.Validation != nil {
		add("held back", *s.Validation)
	}
	return t
}

// featureTable lists the features, the most useful first.
func (s *Summary) featureTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "feature", IsText: true, Wrap: 16}, {Name: "splits", Weight: 1},
		{Name: "gain", Weight: 2}}}
	order := slices.Clone(s.Features)
	slices.SortStableFunc(order, func(a, b Feature) int { return cmp.Compare(b.GainShare, a.GainShare) })
	for _, f := range order {
		t.Rows = append(t.Rows, []string{f.Name, fmt.Sprint(f.Splits), fmt.Sprintf("%.2f%%", 100*f.GainShare)})
	}
	return t
}

func (s *Summary) encodeCSV(w io.Writer) error {
	lines := [][]string{{"metric", "value"}}
	write := func(metric string, value any) { lines = append(lines, []string{metric, fmt.Sprint(value)}) }
	write("requests", s.Requests)
	write("samples", s.Samples)
	write("trees", s.Trees)
	write("grown", s.Grown)
	fit := func(name string, f Fit) {
		write(name+".rows", f.Rows)
		write(name+".rmse", exact(f.RMSE))
		write(name+".rmse_of_mean", exact(f.MeanRMSE))
	}
	fit("trained", s.Trained)
	if s.Validation != nil {
		fit("validation", *s.Validation)
	}
	for _, f := range s.Features {
		write("splits."+f.Name, f.Splits)
		write("gain_share."+f.Name, exact(f.GainShare))
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
