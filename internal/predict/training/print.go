package training

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/cachesim/cachesim/internal/records"
)

// Print writes s to w as table, csv (metric,value), json (one line) or markdown.
func (s *Summary) Print(w io.Writer, format string) error {
	switch format {
	case "csv":
		return s.encodeCSV(w)
	case "json":
		return json.NewEncoder(w).Encode(s)
	}
	for i, t := range []table.Writer{s.fitTable(), s.featureTable()} {
		rendered := t.Render
		if format == "markdown" {
			rendered = t.RenderMarkdown
		}
		if i == 0 {
			fmt.Fprintf(w, "%s: %s requests, %s samples, %d of %d trees kept\n", s.Trace, records.Count(s.Requests),
				records.Count(s.Samples), s.Trees, s.Grown)
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", rendered()); err != nil {
			return err
		}
	}
	return nil
}

// fits returns the rows of the first table.
func (s *Summary) fits() (names []string, fits []Fit) {
	names, fits = []string{"trained on"}, []Fit{s.Trained}
	if s.Validation != nil {
		names, fits = append(names, "held back"), append(fits, *s.Validation)
	}
	return names, fits
}

func (s *Summary) fitTable() table.Writer {
	t := newTable("samples", "number", "RMSE of log time", "of the mean")
	names, fits := s.fits()
	for i, f := range fits {
		t.AppendRow(table.Row{names[i], records.Count(int64(f.Rows)), fmt.Sprintf("%.3f", f.RMSE), fmt.Sprintf("%.3f",
			f.MeanRMSE)})
	}
	return t
}

// featureTable lists the features that are worth most first.
func (s *Summary) featureTable() table.Writer {
	t := newTable("feature", "splits", "gain")
	order := slices.Clone(s.Features)
	slices.SortStableFunc(order, func(a, b Feature) int { return cmp.Compare(b.GainShare, a.GainShare) })
	for _, f := range order {
		t.AppendRow(table.Row{f.Name, f.Splits, fmt.Sprintf("%.2f%%", 100*f.GainShare)})
	}
	return t
}

// newTable returns a table whose columns are numbers but for the first.
func newTable(header ...any) table.Writer {
	t := records.NewTable()
	t.AppendHeader(header)
	var configs []table.ColumnConfig
	for column := 2; column <= len(header); column++ {
		configs = append(configs, table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.SuppressTrailingSpaces()
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
