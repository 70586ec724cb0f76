package plots

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/records"
	timeseries "github.com/cachesim/cachesim/internal/series"
)

// mostTimes is how many points a line over time has at most; longer series are drawn as means of several windows.
const mostTimes = 400

// OverTime is a figure of series: the values of one name over the time of the replays.
type OverTime struct {
	Name  string // of the series: "hit_ratio"
	File  string // without its ending
	Title string
}

// WriteOverTime draws the series of records into dir: for each name a figure with a panel for each capacity and a line
// for each policy, or for each label where there is one policy. Records of several traces, or replayed in several ways,
// give figures of their own, as with WriteAll. Long series are thinned: a note says how many windows make a point.
func WriteOverTime(ctx context.Context, dir string, recs []records.Record, rows []timeseries.Row) error {
	if len(rows) == 0 {
		return nil
	}
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	recs = namedByPredictor(recs)
	byCell := timeseries.ByCell(rows)
	groups := records.Groups(recs)
	suffixes := fileSuffixes(groups)
	styles := StylesOf(recs, records.DimPolicy)
	styles.apart(slices.Collect(maps.Keys(styles)))
	for i, g := range groups {
		for _, name := range namesOf(g, byCell) {
			if err := ctx.Err(); err != nil {
				return err
			}
			f := OverTime{Name: name, File: "series_" + fileName(name) + suffixes[i],
				Title: sentence(name) + " over time: " + g.Name}
			if _, err := f.draw(dir, g.Records, byCell, styles, asSVG, asPNG); err != nil {
				return err
			}
		}
	}
	return nil
}

// DrawOverTime draws one figure of series as SVG, PNG and PDF and returns the names of the files. Records without rows
// of that name are left out; it is an UndrawableError if all are.
func DrawOverTime(dir string, f OverTime, recs []records.Record, rows []timeseries.Row) (files []string, err error) {
	return f.draw(dir, recs, timeseries.ByCell(rows), StylesOf(recs, records.DimPolicy), asSVG, asPNG, asPDF)
}

func sentence(metric string) string {
	name := records.MetricName(metric)
	return strings.ToUpper(name[:1]) + name[1:]
}

// namesOf returns the names of the series that the records of a group have, in order of first appearance.
func namesOf(g records.Group, byCell map[string][]timeseries.Row) (names []string) {
	for _, r := range g.Records {
		for _, row := range byCell[r.Cell] {
			if !slices.Contains(names, row.Name) {
				names = append(names, row.Name)
			}
		}
	}
	return names
}

// timeLine is one line of a panel.
type timeLine struct {
	name   string // in the legend
	record *records.Record
	x, y   []float64
	merged int // windows that make a point
}

// timePanel is the lines at one capacity.
type timePanel struct {
	heading string
	lines   []timeLine
}

func (f OverTime) draw(dir string, recs []records.Record, byCell map[string][]timeseries.Row, styles Styles,
	formats ...format) (files []string, err error) {
	panels := f.panels(recs, byCell)
	if len(panels) == 0 {
		return nil, &UndrawableError{f.File, fmt.Errorf("no record has a series of %s", f.Name)}
	}
	clock := clockOf(recs)
	var figures []*Figure
	for _, p := range panels {
		figure, err := f.panel(p, clock, styles, len(panels) > 1)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure)
	}
	note := noteOf(panels)
	if len(figures) == 1 {
		figures[0].Plot.Title.Text = shorten(f.Title+", capacity "+panels[0].heading, figures[0].Plot.Title.TextStyle,
			plotWidth)
		figures[0].note = note
		return figures[0].saveAs(dir, f.File, formats...)
	}
	s := sheet{title: f.Title, panels: figures, note: note}
	s.shareY()
	return s.saveAs(dir, f.File, formats...)
}

// panels returns the lines of each capacity, in the order of the records.
func (f OverTime) panels(recs []records.Record, byCell map[string][]timeseries.Row) (panels []timePanel) {
	labelled := func(label string) bool { return label != "" }
	policies := map[string]bool{}
	for _, r := range recs {
		if len(byCell[r.Cell]) > 0 {
			policies[r.Label] = true
		}
	}
	for i := range recs {
		r := &recs[i]
		heading := cmp.Or(r.CapacityText, records.Capacity(r.Capacity, r.CapacityUnit))
		for _, line := range f.linesOf(r, byCell[r.Cell]) {
			switch {
			case labelled(line.name) && len(policies) > 1:
				line.name = r.Label + ", " + line.name
			case !labelled(line.name):
				line.name = r.Label
			}
			at := slices.IndexFunc(panels, func(p timePanel) bool { return p.heading == heading })
			if at < 0 {
				at = len(panels)
				panels = append(panels, timePanel{heading: heading})
			}
			panels[at].lines = append(panels[at].lines, line)
		}
	}
	return panels
}

// linesOf returns a line for each label of the rows of a record that have the name of the figure.
func (f OverTime) linesOf(r *records.Record, rows []timeseries.Row) (lines []timeLine) {
	for _, row := range rows {
		if row.Name != f.Name {
			continue
		}
		at := slices.IndexFunc(lines, func(l timeLine) bool { return l.name == row.Label })
		if at < 0 {
			at = len(lines)
			lines = append(lines, timeLine{name: row.Label, record: r})
		}
		lines[at].x = append(lines[at].x, row.Time)
		lines[at].y = append(lines[at].y, row.Value)
	}
	for i := range lines {
		lines[i].thin()
	}
	return lines
}

// thin takes means of as many windows as it takes to have no more points than are drawn.
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
		l.x[points], l.y[points] = l.x[to-1], sum/float64(to-from)
		points++
	}
	l.x, l.y = l.x[:points], l.y[:points]
}

// clock is what the horizontal axis counts.
type clock struct {
	label string
	unit  float64 // of what the rows count
}

func clockOf(recs []records.Record) clock {
	window, err := timeseries.ParseWindow(recs[0].Series)
	switch {
	case err != nil || window.Span == 0:
		return clock{"requests", 1}
	case window.Span.Hours() >= 1:
		return clock{"time (h)", 3600}
	case window.Span.Minutes() >= 1:
		return clock{"time (min)", 60}
	}
	return clock{"time (s)", 1}
}

func (f OverTime) panel(p timePanel, c clock, styles Styles, oneOfSeveral bool) (*Figure, error) {
	width, height := plotWidth, plotHeight
	if oneOfSeveral {
		width, height = panelWidth, panelHeight
	}
	figure := newFigure("", c.label, records.MetricName(f.Name), width, height)
	if oneOfSeveral {
		figure.heading = "capacity " + p.heading
	}
	unit := Number
	if records.IsShare(f.Name) {
		unit = Percent
	}
	figure.SetY(Linear, unit)
	for i, l := range p.lines {
		x := make([]float64, len(l.x))
		for k := range l.x {
			x[k] = l.x[k] / c.unit
		}
		style, ok := styles[l.name]
		if !ok {
			style = SeriesStyle(i)
		}
		style.Marker = nil
		if err := figure.AddLine(Line{Label: l.name, X: x, Y: l.y, Style: style}); err != nil {
			return nil, err
		}
	}
	figure.Plot.Y.Min = min(0, figure.Plot.Y.Min)
	if low, high := figure.Plot.Y.Min, figure.Plot.Y.Max; high-low < 1e-12*math.Abs(high) || high == low {
		figure.Plot.Y.Max = low + 1
	}
	return figure, nil
}

// noteOf says how many windows make a point, where that is more than one.
func noteOf(panels []timePanel) string {
	merged := 1
	for _, p := range panels {
		for _, l := range p.lines {
			merged = max(merged, l.merged)
		}
	}
	if merged == 1 {
		return ""
	}
	return fmt.Sprintf("each point is the mean of up to %d windows", merged)
}
