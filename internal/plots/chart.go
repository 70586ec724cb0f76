package plots

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/records"
)

// Chart is a figure of an experiment: a metric of its records along a dimension, averaged over seeds, with a band of 95% confidence around
// the mean of several. Places that are no numbers make groups of bars, a single place makes one bar per line.
type Chart struct {
	Name           string // of the files
	Title          string // "" for one made of X and Y
	X              string // a dimension: records.DimCapacity, records.DimCapacityShare or an axis
	Y              string // a metric
	Lines          string // a dimension; "" for records.DimPolicy
	Panels         string // a dimension with one panel per place on it, or "" for one panel
	LogX, LogY     bool
	XLabel, YLabel string              // "" for the names of the dimension and the metric
	Marks          []records.Published // drawn as hollow marks in the colours of the lines they belong to, as far as they are of the metric Y
	Styles         Styles              // the looks of the lines, to be the same in several figures; others are chosen here
}

// DrawChart draws recs into dir, which is created if missing, as NAME.svg, NAME.png and NAME.pdf, and returns the names of the files. The
// same records give the same bytes. What records.Arrange refuses and a chart without any point that can be drawn are errors.
func DrawChart(dir string, c Chart, recs []records.Record) (files []string, err error) {
	c.Lines = cmp.Or(c.Lines, records.DimPolicy)
	panels, err := records.Arrange(recs, records.Layout{Panels: c.Panels, Lines: c.Lines, Along: c.X, Metric: c.Y})
	if err != nil {
		return nil, fmt.Errorf("figure %s: %w", c.Name, err)
	}
	if err := atomicfile.MakeFolder(dir); err != nil {
		return nil, err
	}
	d := newDrawing(c, panels)
	var figures []*Figure
	for _, p := range panels {
		f, err := d.panel(p)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", c.Name, err)
		}
		figures = append(figures, f)
	}
	if len(figures) == 1 {
		figures[0].note = d.note()
		return figures[0].saveAs(dir, c.Name, asSVG, asPNG, asPDF)
	}
	s := sheet{title: c.title(), panels: figures, note: d.note()}
	if c.Panels != records.DimTrace { // places on one dimension are to be compared; traces differ too much
		s.shareY()
	}
	return s.saveAs(dir, c.Name, asSVG, asPNG, asPDF)
}

func (c Chart) title() string {
	if c.Title != "" {
		return c.Title
	}
	metric := records.MetricName(c.Y)
	return strings.ToUpper(metric[:1]) + metric[1:] + " by " + records.MetricName(c.X)
}

// drawing is a chart being drawn.
type drawing struct {
	Chart
	styles     Styles
	categories []string // texts on the horizontal axis; nil where it has numbers
	bars       bool     // no panel has more than one place
	several    bool     // there are several panels
	xMin, xMax float64  // of the numbers on the horizontal axis
	skipped    int      // points that a logarithmic axis cannot show
}

func newDrawing(c Chart, panels []records.Panel) *drawing {
	d := &drawing{
		Chart: c, several: len(panels) > 1, bars: true, styles: maps.Clone(c.Styles),
		xMin: math.Inf(1), xMax: math.Inf(-1),
	}
	if d.styles == nil {
		d.styles = Styles{}
	}
	numbers := true
	for _, p := range panels {
		places := map[string]bool{}
		for _, s := range p.Lines {
			d.styles.add(s.Name, kindOnLines(s.Points[0].Record, c.Lines))
			for _, point := range s.Points {
				if point.Anywhere {
					continue
				}
				places[point.Place.Text] = true
				numbers = numbers && point.Place.IsNumber
				d.xMin, d.xMax = min(d.xMin, point.Place.Number), max(d.xMax, point.Place.Number)
				if !slices.Contains(d.categories, point.Place.Text) {
					d.categories = append(d.categories, point.Place.Text)
				}
			}
		}
		d.bars = d.bars && len(places) <= 1
	}
	if numbers {
		d.categories = nil
	}
	return d
}

// note says what the figure cannot show by itself.
func (d *drawing) note() string {
	if d.skipped == 0 {
		return ""
	}
	return fmt.Sprintf("Not shown: %s at 0 or below, where a logarithmic axis has no place.", plural(d.skipped, "point"))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// panel draws one panel.
func (d *drawing) panel(p records.Panel) (*Figure, error) {
	f := newFigure(d.title(), d.xLabel(p), d.yLabel(p), plotWidth, plotHeight)
	if d.several {
		f = newFigure("", d.xLabel(p), d.yLabel(p), panelWidth, panelHeight)
		f.heading = p.Name
	}
	if d.bars {
		d.addBars(f, p)
		return f, nil
	}
	if d.categories != nil && len(p.Lines) <= len(palette) {
		d.addGroupedBars(f, p)
	} else if err := d.addLines(f, p); err != nil {
		return nil, err
	}
	d.addMarks(f, p)
	d.setAxes(f, p)
	return f, nil
}

// x returns the place of a point on the horizontal axis.
func (d *drawing) x(v records.Value) float64 {
	if d.categories != nil {
		return float64(slices.Index(d.categories, v.Text))
	}
	return v.Number
}

// shows reports whether the axes have a place for a point, and counts those that they have not.
func (d *drawing) shows(p records.Point) bool {
	if d.LogY && p.Mean <= 0 || d.LogX && d.categories == nil && !p.Anywhere && p.Place.Number <= 0 {
		d.skipped++
		return false
	}
	return true
}

func (d *drawing) addLines(f *Figure, p records.Panel) error {
	lines := slices.Clone(p.Lines)
	if !d.several { // in the order in which they end at the right
		slices.SortStableFunc(lines, func(a, b records.Series) int { return cmp.Compare(d.lastMean(b), d.lastMean(a)) })
	}
	for _, s := range lines {
		l := d.line(s)
		if len(l.X) == 0 {
			continue
		}
		if err := f.AddLine(l); err != nil {
			return err
		}
	}
	if len(f.legend.entries) == 0 {
		return fmt.Errorf("there is nothing to draw: no value of %s is above 0, as its logarithmic axes need", d.Y)
	}
	return nil
}

// lastMean returns the value at the right end.
func (d *drawing) lastMean(s records.Series) float64 {
	last := slices.MaxFunc(s.Points, func(a, b records.Point) int { return cmp.Compare(d.x(a.Place), d.x(b.Place)) })
	return last.Mean
}

// line returns the line of a series, with a band or bars where there are several seeds.
func (d *drawing) line(s records.Series) Line {
	l := Line{Label: s.Name, Style: d.styles[s.Name]}
	points := slices.Clone(s.Points)
	slices.SortStableFunc(points, func(a, b records.Point) int { return cmp.Compare(d.x(a.Place), d.x(b.Place)) })
	uncertain := false
	for _, p := range points {
		if !d.shows(p) {
			continue
		}
		places := []float64{d.x(p.Place)}
		if p.Anywhere { // a horizontal line from end to end
			places = []float64{d.xMin, d.xMax}
			l.Style.Marker = nil
			if d.categories != nil {
				places = []float64{0, float64(len(d.categories) - 1)}
			}
		}
		low, high := d.interval(p)
		for _, x := range places {
			l.X, l.Y = append(l.X, x), append(l.Y, p.Mean)
			l.Low, l.High = append(l.Low, low), append(l.High, high)
		}
		uncertain = uncertain || p.Margin > 0
	}
	l.Bars = len(l.X) == 1
	if !uncertain {
		l.Low, l.High = nil, nil
	}
	return l
}

// interval returns the ends of the confidence interval, as far as the axis can show them.
func (d *drawing) interval(p records.Point) (low, high float64) {
	low, high = p.Mean-p.Margin, p.Mean+p.Margin
	if records.IsShare(d.Y) {
		low, high = max(low, 0), min(high, 1)
	}
	if d.LogY && low <= 0 {
		low = p.Mean / 10
	}
	return low, high
}

// addMarks draws the published numbers.
func (d *drawing) addMarks(f *Figure, p records.Panel) {
	for i, published := range d.ofMetric() {
		var all marks
		for _, s := range p.Lines {
			for _, point := range published.PointsOf(&s, d.X) {
				if d.categories != nil && !slices.Contains(d.categories, point.Place.Text) || !d.shows(point) {
					continue
				}
				all.marks = append(all.marks, mark{plotter.XY{X: d.x(point.Place) + d.dodge(p, s.Name), Y: point.Mean}, d.styles[s.Name].Color})
			}
		}
		d.addMarksTo(f, all, i, published.Name)
	}
}

// addMarksTo draws the numbers of publication i.
func (d *drawing) addMarksTo(f *Figure, all marks, i int, name string) {
	if len(all.marks) == 0 {
		return
	}
	all.shape = markShapes[i%len(markShapes)]
	f.Plot.Add(all)
	f.legend.add(name, all)
}

// ofMetric returns the marks that can stand in this chart.
func (d *drawing) ofMetric() []records.Published {
	return slices.DeleteFunc(slices.Clone(d.Marks), func(p records.Published) bool { return p.Metric != d.Y })
}

// setAxes sets scales, ranges and ticks.
func (d *drawing) setAxes(f *Figure, p records.Panel) {
	axis := &f.Plot.Y
	f.SetY(scaleOf(d.LogY), d.yUnit())
	if axis.Min == axis.Max && !d.LogY {
		widen(axis, d.Y)
	}
	if d.categories != nil {
		f.nominalX(d.categories)
		return
	}
	unit := d.xUnit(p)
	f.SetX(scaleOf(d.LogX), unit)
	if d.several {
		f.Plot.X.Tick.Marker = ticker{scaleOf(d.LogX), unit, panelLabels}
	}
	if ticks := d.ticks(p); f.haveRoom(ticks) && len(ticks) > 1 {
		f.Plot.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
}

// widen makes room around a flat line.
func widen(axis *plot.Axis, metric string) {
	room := 0.05
	if !records.IsShare(metric) {
		room = max(math.Abs(axis.Max)/10, 1)
	}
	axis.Min, axis.Max = max(0, axis.Min-room), axis.Max+room
}

func scaleOf(log bool) Scale {
	if log {
		return Log
	}
	return Linear
}

// ticks returns a tick at every place of the panel.
func (d *drawing) ticks(p records.Panel) []plot.Tick {
	labels := map[float64]string{}
	for _, s := range p.Lines {
		for _, point := range s.Points {
			switch {
			case point.Anywhere || d.LogX && point.Place.Number <= 0:
			case d.X == records.DimCapacity:
				labels[point.Place.Number] = records.Capacity(point.Record.Capacity, point.Record.CapacityUnit)
			default:
				labels[point.Place.Number] = point.Place.Text
			}
		}
	}
	var ticks []plot.Tick
	for _, x := range slices.Sorted(maps.Keys(labels)) {
		ticks = append(ticks, plot.Tick{Value: x, Label: labels[x]})
	}
	return ticks
}

func (d *drawing) xUnit(p records.Panel) Unit {
	switch {
	case records.IsShare(d.X):
		return Percent
	case d.X == records.DimCapacity && inBytes(p):
		return Bytes
	}
	return Number
}

func (d *drawing) yUnit() Unit {
	switch {
	case records.IsShare(d.Y):
		return Percent
	case d.Y == "bytes" || d.Y == "hit_bytes":
		return Bytes
	}
	return Number
}

// inBytes reports whether the capacities of a panel count bytes.
func inBytes(p records.Panel) bool { return p.Lines[0].Points[0].Record.CapacityUnit == records.Bytes }

func (d *drawing) xLabel(p records.Panel) string {
	switch {
	case d.XLabel != "":
		return d.XLabel
	case d.X == records.DimCapacity && !inBytes(p):
		return "capacity (objects)"
	case d.X == records.DimCapacityShare && !inBytes(p):
		return "capacity (share of the objects)"
	case d.X == records.DimCapacityShare:
		return "capacity (share of all bytes)"
	}
	return records.MetricName(d.X)
}

// yLabel says where a ratio is only the lower end of an interval, the optimum being unknown.
func (d *drawing) yLabel(p records.Panel) string {
	if d.YLabel != "" {
		return d.YLabel
	}
	for _, s := range p.Lines {
		for _, point := range s.Points {
			if d.Y == "competitive_ratio" && point.Record.CompetitiveRatioMax != nil {
				return "competitive ratio, at least"
			}
		}
	}
	return records.MetricName(d.Y)
}
