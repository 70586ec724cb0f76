package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/results/series"
)

// figures draws the experiment's figures. A figure without records, or with too few, is left out with a note.
func figures(dir string, in Input) (drawn []*page.Figure, notes []string, err error) {
	if len(in.File.Figures) == 0 {
		return nil, nil, nil
	}
	folder, err := atomicfile.MakeFolderIn(dir, sweep.FiguresDir)
	if err != nil {
		return nil, nil, err
	}
	notes, err = eachChart(in, func(f experiment.Figure, chart plots.Chart, recs []records.Record) error {
		d, err := drawnOf(in, f, chart, recs)
		if err != nil {
			return err
		}
		shown := page.Drawn(d, sweep.FiguresDir)
		shown.Caption, shown.Alt = caption(chart, recs), altText(chart, recs)
		drawn = append(drawn, shown)
		return plots.Write(folder, d)
	})
	return drawn, notes, err
}

// drawnOf draws a figure of the experiment.
func drawnOf(in Input, f experiment.Figure, chart plots.Chart, recs []records.Record) (plots.Drawing, error) {
	if f.X != series.Time {
		return chart.Draw(recs)
	}
	figure := overTime(f)
	figure.Styles = chart.Styles
	return figure.Draw(recs, in.Series)
}

// undrawable returns the notes of figures without drawing them.
func undrawable(in Input) (notes []string, err error) {
	return eachChart(in, func(f experiment.Figure, chart plots.Chart, recs []records.Record) error {
		if f.X == series.Time {
			return overTime(f).Check(recs, in.Series)
		}
		return chart.Check(recs)
	})
}

type drawFunc func(experiment.Figure, plots.Chart, []records.Record) error

// eachChart calls a function with each figure of the experiment and its records, and notes which figures cannot be
// drawn.
func eachChart(in Input, draw drawFunc) (notes []string, err error) {
	for _, f := range in.File.Figures {
		all := in.Records
		if f.X != series.Time {
			all = byLabel(all, f.Y)
		}
		recs := selected(all, f.Only, in.File.Groups)
		if len(recs) == 0 {
			notes = append(notes, fmt.Sprintf("figure %s: there are no records for it", f.Name))
			continue
		}
		if f.X != series.Time {
			recs = append(recs, publishedAlone(in.File, f)...)
		}
		chart := chartOf(in.File, f)
		chart.Styles = plots.StylesOf(all, cmp.Or(f.Lines, records.DimPolicy))
		err := draw(f, chart, recs)
		if errors.As(err, new(*plots.UndrawableError)) {
			notes = append(notes, err.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// overTime is a figure of a series.
func overTime(f experiment.Figure) plots.OverTime {
	return plots.OverTime{Name: f.Y, File: f.Name, Labels: f.Only[series.Label], From: f.From,
		Title: cmp.Or(f.Title, capitalised(records.MetricName(f.Y))+" over time")}
}

func chartOf(f *experiment.File, figure experiment.Figure) plots.Chart {
	chart := plots.Chart{
		Name:   figure.Name,
		Title:  figure.Title,
		X:      figure.X,
		Y:      figure.Y,
		Along:  figure.Along,
		Lines:  figure.Lines,
		Panels: figure.Panels,
		LogX:   slices.Contains(figure.Log, "x"),
		LogY:   slices.Contains(figure.Log, "y"),
		XLabel: figure.XLabel,
		YLabel: figure.YLabel,
	}
	for _, name := range figure.References {
		if ref := reference(f, name); ref != nil {
			chart.Marks = append(chart.Marks, *ref)
		}
	}
	return chart
}

// caption describes what the figure shows in addition to its title, axes and legend.
func caption(c plots.Chart, recs []records.Record) string {
	lines := cmp.Or(c.Lines, records.DimPolicy)
	parts := []string{fmt.Sprintf("%s over %s by %s", capitalised(records.MetricName(c.Y)), records.MetricName(c.X),
		records.MetricName(lines))}
	if c.Along != "" {
		parts[0] += ", one point per " + records.MetricName(c.Along)
	}
	if c.Panels != "" {
		parts[0] += ", one panel per " + records.MetricName(c.Panels)
	}
	parts[0] += "."
	if n := seedsOf(recs); n > 1 {
		parts = append(parts, fmt.Sprintf("Means over %d seeds, with bands of 95%% confidence where they differ.", n))
	}
	for _, m := range c.Marks {
		if m.Metric == c.Y {
			parts = append(parts, fmt.Sprintf("Hollow marks: %s (%s).", m.Name, m.Source))
		}
	}
	return strings.Join(parts, " ")
}

func capitalised(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func seedsOf(recs []records.Record) int {
	seeds := map[uint64]bool{}
	for i := range recs {
		seeds[recs[i].Seed] = true
	}
	return len(seeds)
}

// altText replaces the drawing where it cannot be seen.
func altText(c plots.Chart, recs []records.Record) string {
	text := cmp.Or(c.Title, caption(c, nil))
	names := each(recs, func(r *records.Record) string {
		v, _ := r.Dim(cmp.Or(c.Lines, records.DimPolicy))
		return v.Text
	})
	return fmt.Sprintf("%s Lines: %s. The values are in the tables and in the records.", strings.TrimSuffix(text,
		".")+".", names)
}
