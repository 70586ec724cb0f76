package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
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
	notes, err = eachFigure(in, func(f drawable) error {
		d, err := f.draw(canvas.SVG, canvas.PNG, canvas.PDF)
		if err != nil {
			return err
		}
		shown := page.Drawn(d, sweep.FiguresDir)
		shown.Caption, shown.Alt = f.caption, f.alt
		drawn = append(drawn, shown)
		return plots.Write(folder, d)
	})
	return drawn, notes, err
}

type drawable struct {
	figure interface {
		Draw([]records.Record, ...canvas.Format) (plots.Drawing, error)
	}
	recs         []records.Record
	caption, alt string
}

func (d drawable) draw(formats ...canvas.Format) (plots.Drawing, error) {
	return d.figure.Draw(d.recs, formats...)
}

// eachFigure calls a function with each figure of the experiment that has records, and notes which figures cannot be
// drawn.
func eachFigure(in Input, use func(drawable) error) (notes []string, err error) {
	for _, f := range in.File.Figures {
		in, all := in, in.Records
		switch {
		case len(f.Values) > 0:
			in.Records = selected(in.Records, f.Only, in.File.Groups)
			var absent []string
			if f, all, absent, err = computedFor(in, f); err != nil {
				return nil, err
			}
			notes = append(notes, absent...)
		case f.X != series.Time:
			all = byLabel(all, f.Metric())
		}
		recs := selected(all, f.Only, in.File.Groups)
		if len(recs) == 0 {
			notes = append(notes, fmt.Sprintf("figure %s: there are no records for it", f.Name))
			continue
		}
		err := use(figureOf(in, f, recs, plots.StylesOf(all, cmp.Or(f.Lines, records.DimPolicy))))
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

// figureOf returns a figure of the kind that its keys ask for.
func figureOf(in Input, f experiment.Figure, recs []records.Record, styles plots.Styles) drawable {
	heat, chart := heatOf(f), chartOf(in.File, f)
	o := optionsOf(in, f)
	heat.Options, chart.Options, chart.Styles = o, o, styles
	switch {
	case f.Color != "" && f.X == series.Time:
		figure := plots.LabelsOverTime{Name: f.Color, File: f.Name, XLabel: f.XLabel, YLabel: f.YLabel,
			Title: cmp.Or(f.Title, capitalised(records.MetricName(f.Color))), Rows: series.ByCell(in.Series), Options: o}
		return drawable{figure, recs, heatCaption(heat, recs), heatAltText(heat, recs)}
	case f.Color != "":
		return drawable{heat, recs, joined(heatCaption(heat, recs), valuesCaption(in, f)), heatAltText(heat, recs)}
	case f.X == series.Time:
		figure := overTime(f)
		figure.Styles, figure.Rows, figure.Options = styles, series.ByCell(in.Series), o
		return drawable{figure, recs, caption(chart, recs), altText(chart, recs)}
	}
	recs = append(recs, publishedAlone(in.File, f)...)
	return drawable{chart, recs, joined(caption(chart, recs), valuesCaption(in, f)), altText(chart, recs)}
}

// optionsOf returns how a figure looks: as the user of the command says, and otherwise as the experiment does.
func optionsOf(in Input, f experiment.Figure) look.Options {
	var o look.Options
	if f.Style != "" {
		o, _ = look.Parse(f.Style) // already checked
	}
	o.Highlight = f.Highlight
	return in.Figures.Over(o)
}

func overTime(f experiment.Figure) plots.OverTime {
	return plots.OverTime{Name: f.Y, File: f.Name, Labels: f.Only[series.Label], From: f.From,
		Title: cmp.Or(f.Title, capitalised(records.MetricName(f.Y))+" over time")}
}

func heatOf(f experiment.Figure) plots.Heat {
	return plots.Heat{Name: f.Name, Title: f.Title, X: f.X, Y: f.Y, Color: f.Color, Panels: f.Panels,
		Log: len(f.Log) > 0, XLabel: f.XLabel, YLabel: f.YLabel, ColorLabel: onlyName(f.Values)}
}

// onlyName returns the name of the value of a heat map, "" if it shows a metric.
func onlyName(values map[string]string) string {
	for name := range values {
		return name
	}
	return ""
}

func chartOf(f *experiment.File, figure experiment.Figure) plots.Chart {
	chart := plots.Chart{Name: figure.Name, Title: figure.Title, X: figure.X, Y: figure.Y, Along: figure.Along,
		Lines: figure.Lines, Panels: figure.Panels, LogX: slices.Contains(figure.Log, "x"),
		LogY: slices.Contains(figure.Log, "y"), XLabel: figure.XLabel, YLabel: figure.YLabel}
	for _, name := range figure.References {
		if ref := reference(f, name); ref != nil {
			chart.Marks = append(chart.Marks, *ref)
		}
	}
	return chart
}

// caption describes what the figure shows in addition to its title, axes and legend.
func caption(c plots.Chart, recs []records.Record) string {
	lines := records.MetricName(cmp.Or(c.Lines, records.DimPolicy))
	shown := records.MetricName(c.Y)
	if isComputed(c.Y) {
		lines, shown = "value", c.YLabel
	}
	parts := []string{fmt.Sprintf("%s over %s by %s", capitalised(shown), records.MetricName(c.X), lines)}
	if len(c.Along) > 0 {
		var names []string
		for _, dimension := range c.Along {
			names = append(names, records.MetricName(dimension))
		}
		parts[0] += ", one point per " + strings.Join(names, " or ")
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

// heatCaption describes what a heat map shows in addition to its title, axes and colours.
func heatCaption(h plots.Heat, recs []records.Record) string {
	shown := cmp.Or(h.ColorLabel, records.MetricName(h.Color))
	text := fmt.Sprintf("%s at each %s and %s", capitalised(shown), records.MetricName(h.X), records.MetricName(h.Y))
	if h.Panels != "" {
		text += ", one panel per " + records.MetricName(h.Panels) + ", all in the same colours"
	}
	text += "."
	if n := seedsOf(recs); n > 1 {
		text += fmt.Sprintf(" Means over %d seeds.", n)
	}
	return text
}

func capitalised(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func seedsOf(recs []records.Record) int {
	return len(records.Distinct(recs, func(r records.Record) uint64 { return r.Seed }))
}

// altText replaces the drawing where it cannot be seen.
func altText(c plots.Chart, recs []records.Record) string {
	text := cmp.Or(c.Title, caption(c, nil))
	names := placesOn(cmp.Or(c.Lines, records.DimPolicy), recs)
	return fmt.Sprintf("%s Lines: %s. The values are in the tables and in the records.", strings.TrimSuffix(text,
		".")+".", names)
}

// heatAltText replaces a heat map where it cannot be seen.
func heatAltText(h plots.Heat, recs []records.Record) string {
	return fmt.Sprintf("%s. Columns: %s. Rows: %s. The values are in the records.",
		strings.TrimSuffix(cmp.Or(h.Title, heatCaption(h, nil)), "."), placesOn(h.X, recs), placesOn(h.Y, recs))
}

// What figures show that is computed from metrics of several policies.
var (
	computed      = metric.Metric{Name: "computed", Unit: metric.Ratio, Digits: 3, Doc: "a value of a figure (key values)"}
	computedShare = metric.Metric{Name: "computed_share", Unit: metric.Share, Digits: 1,
		Doc: "a value of a figure (key values) that is a share or a difference of shares"}
)

func init() { metric.Register("figures", computed, computedShare) }

func isComputed(metric string) bool { return metric == computed.Name || metric == computedShare.Name }

// computedFor returns a record for each value of a figure at each point, named by the value, the figure that shows
// them, and notes on values without any point. Values are computed as in claims: from means over the seeds. The records
// are those that the figure selects.
func computedFor(in Input, f experiment.Figure) (shown experiment.Figure, all []records.Record, notes []string,
	err error) {
	data := indexedOf(in.File, in.Records)
	shows := computedShare
	var values []*claims.Value
	names := slices.Sorted(maps.Keys(f.Values))
	for _, name := range names {
		v, err := claims.ParseValue(f.Values[name])
		if err != nil {
			return f, nil, nil, fmt.Errorf("figure %s: %s: %w", f.Name, name, err)
		}
		values = append(values, v)
		if !v.IsShare() {
			shows = computed
		}
	}
	for i, v := range values {
		points, reason := v.At(data.of(v))
		if len(points) == 0 && len(in.Records) > 0 {
			notes = append(notes, fmt.Sprintf("figure %s: %s has no value: %s", f.Name, names[i], reason))
		}
		for _, p := range points {
			all = append(all, computedRecord(names[i], p, shows))
		}
	}
	f.Only = nil
	if f.Y != "" {
		f.Color = shows.Name
		return f, all, notes, nil
	}
	f.Y = shows.Name
	return f, all, notes, nil
}

// computedRecord returns the record of a value at a point. It has only what figures look at: where it is.
func computedRecord(name string, p claims.ValuePoint, shows metric.Metric) records.Record {
	r := records.Record{
		Trace: p.Record.Trace, Policy: name, Label: name, Kind: records.Online, Capacity: p.Record.Capacity,
		CapacityUnit: p.Record.CapacityUnit, CapacityText: p.Record.CapacityText, CapacityShare: p.Record.CapacityShare,
		Axes: p.Axes}
	if slices.Contains(p.Over, records.DimTrace) {
		r.Trace = "all traces"
	}
	r.Set(shows, p.X)
	return r
}

// valuesCaption says how the values of a figure are computed, from the records that it selects; "" if it shows a
// metric.
func valuesCaption(in Input, f experiment.Figure) string {
	if len(f.Values) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		parts = append(parts, fmt.Sprintf("%s is %s", name, strings.Join(strings.Fields(f.Values[name]), " ")))
	}
	text := capitalised(strings.Join(parts, "; ")) + "."
	if n := seedsOf(in.Records); n > 1 {
		text += fmt.Sprintf(" Computed from means over %d seeds.", n)
	}
	return text
}

func joined(a, b string) string { return strings.TrimSpace(a + " " + b) }
