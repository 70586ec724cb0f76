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
	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Print writes s to w as table, csv (metric,value), json (one line) or markdown.
func (s *Summary) Print(w io.Writer, format string) error {
	return tabular.Printed{Table: s.printTable, CSV: s.encodeCSV, JSON: tabular.OneJSON(s)}.Print(w, format)
}

func (s *Summary) printTable(w io.Writer, format string) error {
	width := terminal.Width(w)
	title := fmt.Sprintf("%s: %s requests, %s samples, %d of %d trees kept", s.Trace, show.Count(s.Requests),
		show.Count(s.Samples), s.Trees, s.Grown)
	_, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s\n", terminal.Wrapped(title, width), s.fitTable().In(format, width),
		s.featureTable().In(format, width))
	return err
}

// fits returns the rows of the first table.
func (s *Summary) fits() (names []string, fits []Fit) {
	names, fits = []string{"trained on"}, []Fit{s.Trained}
	if s.Validation != nil {
		names, fits = append(names, "held back"), append(fits, *s.Validation)
	}
	return names, fits
}

func (s *Summary) fitTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "samples", IsText: true}, {Name: "number", Weight: 1},
		{Name: "RMSE of log time", Weight: 3}, {Name: "of the mean", Weight: 2}}}
	names, fits := s.fits()
	for i, f := range fits {
		t.Rows = append(t.Rows, []string{names[i], show.Count(int64(f.Rows)), fmt.Sprintf("%.3f", f.RMSE),
			fmt.Sprintf("%.3f", f.MeanRMSE)})
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
	out := csv.NewWriter(w)
	write := func(metric string, value any) { out.Write([]string{metric, fmt.Sprint(value)}) }
	write("metric", "value")
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
	out.Flush()
	return out.Error()
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
