package plots

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// mostTimes is the most points of a line over time; longer series are drawn as means of several windows.
const mostTimes = 400

// OverTime is a figure of series: the values of one name over the time of the replays.
type OverTime struct {
	Name  string // of the series: "hit_ratio"
	File  string // without its ending
	Title string
	// Labels are the labels of the rows to draw; nil for all. "" is the label of rows of everything together.
	Labels []string
	From   float64                 // windows that end by then are left out; requests or seconds, as the rows have them
	Styles Styles                  // the looks of the lines, to be the same in several figures
	Rows   map[string][]series.Row // by cell

	Options look.Options
}

// AllOverTime draws the series of records: for each name a figure with a panel for each capacity, and for each way in
// which the trace was replayed, and a line for each policy or, with one policy, for each label. Each trace has figures
// of its own. Long series are thinned: a note says how many windows make a point.
func AllOverTime(ctx context.Context, recs []records.Record, rows []series.Row,
	o look.Options) (all []Drawing, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	recs = results.NamedByParts(recs)
	byCell := series.ByCell(rows)
	styles := StylesOf(recs, records.DimPolicy)
	for _, of := range tracesOf(recs) {
		trace, drawn := of.groups[0].Name, of.groups[0].Records
		if len(of.groups) > 1 {
			trace, drawn = show.Printable(drawn[0].Trace), of.settled()
		}
		for _, name := range namesOf(drawn, byCell) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			f := OverTime{Name: name, File: "series_" + fileName(name) + of.suffix,
				Title: titleOverTime(name) + ": " + trace, Styles: styles, Rows: byCell, Options: o}
			d, err := f.Draw(drawn, canvas.SVG, canvas.PNG)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// Draw draws the series as FILE.svg and so on; without a format it only returns the error. Records without rows of that
// name are left out; it is an UndrawableError if all are.
func (f OverTime) Draw(recs []records.Record, usual ...canvas.Format) (Drawing, error) {
	s, err := f.sheet(recs)
	return drawn(f.File, f.Options, s, err, usual)
}

func sentence(metric string) string {
	name := records.MetricName(metric)
	return strings.ToUpper(name[:1]) + name[1:]
}

func titleOverTime(name string) string {
	m, _ := metric.Lookup(name)
	return cmp.Or(m.Figure.Title, sentence(name)) + " over time"
}

// axisOverTime returns the label of the vertical axis and the unit of its ticks. Seconds whose metric has a name for
// axes without a unit are written as people write times: 6 h, 2 d.
func axisOverTime(name string) (label string, unit axes.Unit) {
	if m, _ := metric.Lookup(name); m.Unit == metric.Seconds && m.Figure.Axis != "" {
		return m.Figure.Axis, axes.Seconds
	}
	return records.AxisName(name), unitOf(name)
}

// namesOf returns the names of the series that records have, in order of first appearance.
func namesOf(recs []records.Record, byCell map[string][]series.Row) (names []string) {
	for _, r := range recs {
		for _, row := range byCell[r.Cell] {
			if !slices.Contains(names, row.Name) {
				names = append(names, row.Name)
			}
		}
	}
	return names
}

type timeLine struct {
	name   string // in the legend
	x, y   []float64
	seeds  int // of which it is the mean
	merged int // windows that make a point
	record *records.Record
}

// timePanel is the lines of one trace at one capacity.
type timePanel struct {
	heading string
	lines   []timeLine
}

func (f OverTime) sheet(recs []records.Record) (*sheet, error) {
	panels := f.panels(recs, f.Rows)
	switch {
	case len(panels) == 0 && f.From > 0:
		return nil, fmt.Errorf("no record has a series of %s after from: %v", f.Name, f.From)
	case len(panels) == 0:
		return nil, fmt.Errorf("no record has a series of %s", f.Name)
	}
	s := &sheet{title: f.Title}
	clock, styles := axes.ClockOf(recs, lastOf(panels)), f.Styles.unmarked(panels)
	for _, p := range panels {
		for _, l := range p.lines {
			styles[l.name] = emphasised(f.Options, styles[l.name], l.name, l.record)
		}
	}
	wanted := f.Options.InLog("y", false)
	logY := wanted && !slices.ContainsFunc(panels, func(p timePanel) bool {
		return slices.ContainsFunc(p.lines, func(l timeLine) bool { return slices.Min(l.y) <= 0 })
	})
	label, _ := axisOverTime(f.Name)
	for _, p := range panels {
		title := f.Title
		if p.heading != "" {
			title += ", " + p.heading
		}
		figure := newPanel(f.Options, title, p.heading, clock.Label, label, len(panels))
		f.draw(figure, p, clock, styles, logY)
		s.panels = append(s.panels, figure)
	}
	s.share(false)
	s.note = joined(noteOf(panels), s.scalesNote())
	if f.onlyMedian(f.Rows) {
		s.note = joined("medians", s.note)
	}
	if wanted && !logY {
		s.note = joined(s.note, "some values are 0, so the vertical axis is not logarithmic")
	}
	return s, nil
}

// lastOf returns the last time of all lines.
func lastOf(panels []timePanel) (last float64) {
	for _, p := range panels {
		for _, l := range p.lines {
			last = max(last, l.x[len(l.x)-1])
		}
	}
	return last
}

// panels returns the lines of each trace and capacity, in the order of the records. Records that differ in their seeds
// alone are one line, their mean.
func (f OverTime) panels(recs []records.Record, byCell map[string][]series.Row) (panels []timePanel) {
	policies, traces := map[string]bool{}, map[string]bool{}
	var drawn []records.Record
	for _, r := range recs {
		if len(byCell[r.Cell]) > 0 {
			policies[r.Label], traces[r.Trace] = true, true
			drawn = append(drawn, r)
		}
	}
	axes, onlyMedian := differing(drawn), f.onlyMedian(byCell)
	for i := range recs {
		r := &recs[i]
		heading := "capacity " + cmp.Or(r.CapacityText, show.Capacity(r.Capacity, r.CapacityUnit))
		if len(traces) > 1 {
			heading = r.Trace + ", " + heading
		}
		for _, line := range f.linesOf(byCell[r.Cell]) {
			if onlyMedian {
				line.name = ""
			}
			line.name, line.record = lineName(r, line.name, len(policies) > 1, axes), r
			at := slices.IndexFunc(panels, func(p timePanel) bool { return p.heading == heading })
			if at < 0 {
				at = len(panels)
				panels = append(panels, timePanel{heading: heading})
			}
			panels[at].add(line)
		}
	}
	if f.Name == series.Requests {
		panels = once(panels)
	}
	for _, p := range panels {
		for i := range p.lines {
			p.lines[i].thin()
		}
	}
	return panels
}

// median is the label of rows that need none: a figure of medians alone says so in its note.
const median = "p50"

// onlyMedian reports whether all rows of the figure are medians.
func (f OverTime) onlyMedian(byCell map[string][]series.Row) bool {
	some := false
	for _, rows := range byCell {
		for _, row := range rows {
			if row.Name == f.Name && row.Label != median {
				return false
			}
			some = some || row.Name == f.Name
		}
	}
	return some
}

// once returns one panel with one line if all lines are equal, as where each policy replays the same windows.
func once(panels []timePanel) []timePanel {
	for _, p := range panels {
		for _, l := range p.lines {
			first := panels[0].lines[0]
			if !slices.Equal(l.x, first.x) || !slices.Equal(l.y, first.y) {
				return panels
			}
		}
	}
	if len(panels) == 0 {
		return nil
	}
	first := panels[0].lines[0]
	first.name = "" // there is nothing to tell apart
	return []timePanel{{lines: []timeLine{first}}}
}

// differing returns the names of the axes on which records have different places, or on which only some have one.
func differing(recs []records.Record) map[string]bool {
	differ := map[string]bool{}
	for _, name := range records.AxisNames(recs) {
		first, _ := recs[0].Dim(name)
		differ[name] = slices.ContainsFunc(recs, func(r records.Record) bool {
			place, _ := r.Dim(name)
			return place.Text != first.Text
		})
	}
	return differ
}

// lineName names the line of a label of a record: by its policy, unless there is only one, and by its places on the
// axes on which the records differ.
func lineName(r *records.Record, label string, severalPolicies bool, differ map[string]bool) string {
	var parts []string
	if severalPolicies || label == "" {
		parts = append(parts, r.Label)
	}
	axes := slices.DeleteFunc(strings.Split(r.Axes, ","), func(axis string) bool {
		name, _, _ := strings.Cut(axis, "=")
		return !differ[name]
	})
	if len(axes) > 0 {
		parts = append(parts, strings.Join(axes, ","))
	}
	if label != "" {
		parts = append(parts, label)
	}
	return strings.Join(parts, ", ")
}

// add adds a line or, if the line of that name has the same windows, averages the two.
func (p *timePanel) add(line timeLine) {
	at := slices.IndexFunc(p.lines, func(l timeLine) bool { return l.name == line.name && slices.Equal(l.x, line.x) })
	if at < 0 {
		p.lines = append(p.lines, line)
		return
	}
	mean := &p.lines[at]
	mean.seeds++
	for k := range mean.y {
		mean.y[k] += (line.y[k] - mean.y[k]) / float64(mean.seeds)
	}
}

// linesOf returns a line for each label of the rows of a record that have the name of the figure.
func (f OverTime) linesOf(rows []series.Row) (lines []timeLine) {
	for _, row := range rows {
		if row.Name != f.Name || row.Time <= f.From || f.Labels != nil && !slices.Contains(f.Labels, row.Label) {
			continue
		}
		at := slices.IndexFunc(lines, func(l timeLine) bool { return l.name == row.Label })
		if at < 0 {
			at = len(lines)
			lines = append(lines, timeLine{name: row.Label, seeds: 1})
		}
		lines[at].x = append(lines[at].x, row.Time)
		lines[at].y = append(lines[at].y, row.Value)
	}
	// The line of the only node or tenant repeats the line of everything together. Two tenants may be equal by chance:
	// both stay.
	ofAll := func(l timeLine) bool { return l.name == "" }
	if f.Labels == nil && len(lines) == 2 && slices.ContainsFunc(lines, ofAll) && slices.Equal(lines[0].x, lines[1].x) &&
		slices.Equal(lines[0].y, lines[1].y) {
		lines = slices.DeleteFunc(lines, func(l timeLine) bool { return !ofAll(l) })
	}
	return lines
}

// thin replaces the windows by means of several consecutive ones where there are more than mostTimes.
func (l *timeLine) thin() {
	l.merged = (len(l.x) + mostTimes - 1) / mostTimes
	if l.merged <= 1 {
		return
	}
	points := 0
	for from := 0; from < len(l.x); from += l.merged {
		to := min(from+l.merged, len(l.x))
		sum := 0.0
		for _, y := range l.y[from:to] {
			sum += y
		}
		l.x[points], l.y[points] = l.x[to-1], sum/float64(to-from) // the time of a row is the end of its window
		points++
	}
	l.x, l.y = l.x[:points], l.y[:points]
}

// unmarked returns the looks of all lines of panels. Lines over time have no marks, so those that differ in their marks
// alone get other dashes.
func (s Styles) unmarked(panels []timePanel) Styles {
	all := Styles{}
	for _, p := range panels {
		for i, l := range p.lines {
			style, ok := s[l.name]
			if !ok {
				style = SeriesStyle(i)
			}
			style.Marker = nil
			if _, ok := all[l.name]; !ok {
				all[l.name] = style
			}
		}
	}
	all.apart(slices.Collect(maps.Keys(all)))
	return all
}

// draw draws the lines of a panel.
func (f OverTime) draw(figure *Figure, p timePanel, c axes.Clock, styles Styles, logY bool) {
	_, unit := axisOverTime(f.Name)
	figure.SetY(axes.Linear, unit)
	figure.Plot.X.Tick.Marker = c.Ticker(figure.labelsAlong(&figure.Plot.X))
	if c.From != nil {
		figure.from = *c.From
	}
	inFront := slices.SortedStableFunc(slices.Values(p.lines), func(a, b timeLine) int {
		return styles[a.name].depth() - styles[b.name].depth()
	})
	for _, l := range inFront {
		x := make([]float64, len(l.x))
		for k := range l.x {
			x[k] = l.x[k] / c.Unit
		}
		figure.AddLine(Line{Label: l.name, X: x, Y: l.y, Style: styles[l.name]})
	}
	figure.Plot.X.Min = min(f.From/c.Unit, figure.Plot.X.Min) // windows begin before the times at which they end
	if logY {
		figure.SetY(axes.Log, unit)
		return
	}
	figure.Plot.Y.Min = min(0, figure.Plot.Y.Min)
	if low, high := figure.Plot.Y.Min, figure.Plot.Y.Max; high-low < 1e-12*math.Abs(high) || high == low {
		figure.Plot.Y.Max = low + 1
	}
}

// noteOf says how many windows and seeds a point is the mean of; "" if none is.
func noteOf(panels []timePanel) string {
	merged, seeds := 1, 1
	for _, p := range panels {
		for _, l := range p.lines {
			merged, seeds = max(merged, l.merged), max(seeds, l.seeds)
		}
	}
	var of []string
	if merged > 1 {
		of = append(of, fmt.Sprintf("up to %d windows", merged))
	}
	if seeds > 1 {
		of = append(of, fmt.Sprintf("up to %d seeds", seeds))
	}
	if len(of) == 0 {
		return ""
	}
	return "each point is the mean of " + strings.Join(of, " and ")
}
