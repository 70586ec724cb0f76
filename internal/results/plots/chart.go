package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Chart is a figure of an experiment: a metric of its records along a dimension, averaged over seeds, with a band of
// 95% confidence around the mean of several. Places that are not numbers make groups of bars, a single place makes one
// bar per line.
type Chart struct {
	Name  string // of the files
	Title string // "" for one made of X and Y
	X     string // a dimension: records.DimCapacity, records.DimCapacityShare or an axis
	Y     string // a metric
	// dimensions: X is a metric then, and a line goes through its points in the order of the places on the first of these
	// that it has
	Along          []string
	Lines          string // a dimension; "" for records.DimPolicy
	Panels         string // a dimension with one panel per place on it, or "" for one panel
	Comparable     bool   // panels have one axis of values even if the dimension is that of traces
	LogX, LogY     bool
	XLabel, YLabel string // "" for the names of the dimension and the metric
	// published values of Y, drawn as hollow marks in the colours of their lines, within the range of our numbers
	Marks  []results.Published
	Styles Styles // the looks of the lines, to be the same in several figures; others are chosen here

	Options look.Options
}

// Draw draws recs as NAME.svg and so on; without a format it only returns the error. It is an UndrawableError if
// results.Arrange refuses the records, or if the axes can show no point.
func (c Chart) Draw(recs []records.Record, usual ...canvas.Format) (Drawing, error) {
	c.Lines = cmp.Or(c.Lines, records.DimPolicy)
	c.LogX, c.LogY = c.Options.InLog("x", c.LogX), c.Options.InLog("y", c.LogY)
	s, err := c.sheet(recs)
	return drawn(c.Name, c.Options, s, err, usual)
}

// UndrawableError says why no figure can be drawn from the records.
type UndrawableError struct {
	Figure string
	Reason error
}

func (e *UndrawableError) Error() string { return fmt.Sprintf("figure %s: %v", e.Figure, e.Reason) }

func (e *UndrawableError) Unwrap() error { return e.Reason }

func (c Chart) sheet(recs []records.Record) (*sheet, error) {
	panels, err := c.arrange(recs)
	if err != nil {
		return nil, err
	}
	d := newDrawing(c, panels)
	if len(d.panels) == 0 {
		return nil, fmt.Errorf("no value of %s and %s is above 0, as its logarithmic axes need", c.X, c.Y)
	}
	s := &sheet{title: c.title()}
	for _, p := range d.panels {
		s.panels = append(s.panels, d.draw(p))
	}
	if c.Panels != records.DimTrace || c.Comparable { // places on one dimension are to be compared; traces differ too much
		s.share(d.bars)
	}
	s.note = d.note()
	if slices.ContainsFunc(s.panels, (*Figure).cutsIntervals) {
		s.note = joined(s.note, "some intervals reach beyond the axis")
	}
	s.note = joined(s.note, s.scalesNote())
	return s, nil
}

func (c Chart) arrange(recs []records.Record) ([]results.Panel, error) {
	layout := results.Layout{Panels: c.Panels, Lines: c.Lines, Along: c.X, Metric: c.Y}
	if len(c.Along) == 0 {
		return results.Arrange(recs, layout)
	}
	layout.Along, layout.Instead = c.Along[0], c.Along[1:]
	panels, err := results.Arrange(recs, layout)
	if err != nil {
		return nil, err
	}
	layout.Metric = c.X
	across, err := results.Arrange(recs, layout)
	if err != nil {
		return nil, err
	}
	return against(panels, across), nil
}

// against replaces the places of points by the values of another metric at the same places. Points without one are
// left out.
func against(panels, across []results.Panel) []results.Panel {
	var out []results.Panel
	for _, p := range panels {
		at := slices.IndexFunc(across, func(other results.Panel) bool { return other.Place == p.Place })
		if at < 0 {
			continue
		}
		var lines []results.Series
		for _, s := range p.Lines {
			if s.Points = placedBy(s, across[at].Lines); len(s.Points) > 0 {
				lines = append(lines, s)
			}
		}
		if p.Lines = lines; len(lines) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// placedBy moves the points of s, sorted by place, to the values that the series of the same name has at these places.
func placedBy(s results.Series, lines []results.Series) (points []results.Point) {
	i := slices.IndexFunc(lines, func(other results.Series) bool { return other.Name == s.Name })
	if i < 0 {
		return nil
	}
	sorted := slices.Clone(s.Points)
	slices.SortStableFunc(sorted, func(a, b results.Point) int { return cmp.Compare(a.Place.Number, b.Place.Number) })
	for _, point := range sorted {
		j := slices.IndexFunc(lines[i].Points, func(other results.Point) bool { return other.Place.Text == point.Place.Text })
		if j < 0 {
			continue
		}
		x := lines[i].Points[j].Mean
		point.Place, point.Anywhere = records.Value{Text: strconv.FormatFloat(x, 'g', -1, 64), Number: x,
			IsNumber: true}, false
		points = append(points, point)
	}
	return points
}

func (c Chart) title() string { return cmp.Or(c.Title, sentence(c.Y)+" by "+records.MetricName(c.X)) }

type drawing struct {
	Chart
	panels     []results.Panel // without what cannot be drawn
	styles     Styles
	faded      map[string]bool // lines that are grey
	categories []string        // texts on the horizontal axis; nil where it has numbers
	bars       bool            // no panel has more than one place
	xMin, xMax float64         // of the numbers on the horizontal axis
	skipped    int             // points that a logarithmic axis cannot show
}

func newDrawing(c Chart, panels []results.Panel) *drawing {
	d := &drawing{Chart: c, styles: Styles{}, bars: true, xMin: math.Inf(1), xMax: math.Inf(-1)}
	maps.Copy(d.styles, c.Styles)
	d.findCategories(panels) // first: what can be drawn, and where, depends on them
	for _, p := range panels {
		if p = d.drawable(p); len(p.Lines) > 0 {
			d.panels = append(d.panels, p)
		}
	}
	for _, p := range d.panels {
		places := map[string]bool{}
		for _, s := range p.Lines {
			d.styles.add(s.Name, s.Points[0].Record, c.Lines)
			for _, point := range s.Points {
				if !point.Anywhere {
					places[point.Place.Text] = true
					d.xMin, d.xMax = min(d.xMin, d.x(point.Place)), max(d.xMax, d.x(point.Place))
				}
			}
		}
		d.bars = d.bars && len(places) <= 1
	}
	d.lookApart()
	return d
}

// lookApart gives all lines looks that differ, in all panels the same.
func (d *drawing) lookApart() {
	lines := d.ranked()
	d.faded = fadedOf(lines, d.Y, func(l ranked) bool { return isStrong(d.Options, l.name, l.record) })
	var coloured, grey []string
	for _, l := range lines {
		if d.faded[l.name] {
			grey = append(grey, l.name)
			continue
		}
		if style := d.styles[l.name]; l.points > maxMarkers { // its marks are not drawn
			style.Marker = nil
			d.styles[l.name] = style
		}
		coloured = append(coloured, l.name)
	}
	d.styles.apart(coloured)
	d.styles.greyApart(grey)
	for _, l := range lines {
		d.styles[l.name] = emphasised(d.Options, d.styles[l.name], l.name, l.record)
	}
}

func (d *drawing) ranked() (all []ranked) {
	for _, p := range d.panels {
		for _, s := range p.Lines {
			i := slices.IndexFunc(all, func(l ranked) bool { return l.name == s.Name })
			if i < 0 {
				i = len(all)
				r := s.Points[0].Record
				all = append(all, ranked{s.Name, isReference(r.Policy, r.Kind), map[string]float64{}, r, 0})
			}
			all[i].points = max(all[i].points, len(s.Points))
			for _, point := range s.Points {
				all[i].values[p.Place+"\n"+point.Place.Text] = point.Mean
			}
		}
	}
	return all
}

func (d *drawing) color(line string) color.NRGBA { return d.styles[line].Color }

// findCategories collects the places on the horizontal axis if any of them is not a number.
func (d *drawing) findCategories(panels []results.Panel) {
	var places []string
	numbers := true
	for _, p := range panels {
		for _, s := range p.Lines {
			for _, point := range s.Points {
				if point.Anywhere {
					continue
				}
				numbers = numbers && point.Place.IsNumber
				if !slices.Contains(places, point.Place.Text) {
					places = append(places, point.Place.Text)
				}
			}
		}
	}
	if !numbers {
		d.categories = places
	}
}

// note says what the figure cannot show by itself.
func (d *drawing) note() string {
	var notes []string
	if d.starred() {
		notes = append(notes, fmt.Sprintf("* %s %s of the online policies", d.superlative(), d.yLabel(d.panels[0])))
	}
	if d.skipped > 0 {
		notes = append(notes, fmt.Sprintf("not shown: %s at 0 or below, as the axis is logarithmic",
			show.Counted(d.skipped, "point")))
	}
	return joined(notes...)
}

func joined(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

func (d *drawing) draw(p results.Panel) *Figure {
	title := d.title()
	if p.Name != "" {
		title += ": " + p.Name
	}
	several := len(d.panels) > 1
	f := newPanel(d.Options, title, p.Name, d.xLabel(p), d.yLabel(p), len(d.panels))
	if several {
		f.Plot.Add(border{})
	}
	switch {
	case d.bars:
		d.addBars(f, p)
		return f
	case d.grouped(p):
		d.addGroupedBars(f, p)
	default:
		d.addLines(f, p)
	}
	f.SetY(scaleOf(d.LogY), d.yUnit())
	if !d.grouped(p) && slices.ContainsFunc(p.Lines, isSampled) {
		f.limitIntervals() // after the scale, on which the room depends, and before marks, which the axis must include
	}
	d.addMarks(f, p)
	d.setAxes(f, p)
	return f
}

// grouped reports whether the panel has groups of bars, which many lines would make hard to read.
func (d *drawing) grouped(p results.Panel) bool {
	return d.categories != nil && len(p.Lines) <= mostColoured
}

// x returns the place of a point on the horizontal axis.
func (d *drawing) x(v records.Value) float64 {
	if d.categories != nil {
		return float64(slices.Index(d.categories, v.Text))
	}
	return v.Number
}

// drawable returns the panel without the points that a logarithmic axis cannot show, and counts those.
func (d *drawing) drawable(p results.Panel) results.Panel {
	var lines []results.Series
	for _, s := range p.Lines {
		n := len(s.Points)
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p results.Point) bool { return !d.shows(p) })
		d.skipped += n - len(s.Points)
		if len(s.Points) > 0 {
			lines = append(lines, s)
		}
	}
	p.Lines = lines
	return p
}

// shows reports whether the axes can show a point.
func (d *drawing) shows(p results.Point) bool {
	onX := d.categories != nil || p.Anywhere || !d.LogX || p.Place.Number > 0
	return onX && (!d.LogY || p.Mean > 0)
}

func (d *drawing) addLines(f *Figure, p results.Panel) {
	lines := slices.Clone(p.Lines)
	if len(d.panels) == 1 { // in the order in which they end at the right
		slices.SortStableFunc(lines, func(a, b results.Series) int { return cmp.Compare(d.lastMean(b), d.lastMean(a)) })
	}
	beside := d.intervalsOf(lines)
	slices.SortStableFunc(lines, func(a, b results.Series) int {
		return d.styles[a.Name].depth() - d.styles[b.Name].depth()
	})
	for _, s := range lines {
		l := d.line(s)
		if d.isInterval(s) || isSampled(s) && !l.Style.Grey {
			beside.give(&l, s)
		}
		f.AddLine(l)
	}
}

func (d *drawing) lastMean(s results.Series) float64 {
	last := slices.MaxFunc(s.Points, func(a, b results.Point) int { return cmp.Compare(d.x(a.Place), d.x(b.Place)) })
	return last.Mean
}

// line returns the line of a series, with a band or bars where there are several seeds or a value is an interval.
func (d *drawing) line(s results.Series) Line {
	l := Line{Label: s.Name, Style: d.styles[s.Name]}
	points := slices.Clone(s.Points)
	if len(d.Along) == 0 { // with Along, the line follows the places on it, by which the points are sorted
		slices.SortStableFunc(points, func(a, b results.Point) int { return cmp.Compare(d.x(a.Place), d.x(b.Place)) })
	}
	uncertain := d.isInterval(s)
	for _, p := range points {
		places := []float64{d.x(p.Place)}
		if p.Anywhere { // a horizontal line from end to end
			places = []float64{d.xMin, d.xMax}
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

// interval returns the interval in which a value is known to lie or, for several seeds, the confidence interval, as far
// as the axis can show it.
func (d *drawing) interval(p results.Point) (low, high float64) {
	if known := d.known(p); known.low != known.high {
		return known.low, known.high
	}
	low, high = p.Mean-p.Margin, p.Mean+p.Margin
	if records.IsShare(d.Y) {
		low, high = max(low, 0), min(high, max(p.Mean, 1)) // a normalized ratio may be above 1
	}
	if d.LogY && low <= 0 {
		low = p.Mean / 10 // a logarithmic axis cannot reach 0
	}
	return low, high
}

func (d *drawing) addMarks(f *Figure, p results.Panel) {
	within := func(v records.Value) bool { // the range of our numbers
		return d.xMin <= v.Number && v.Number <= d.xMax
	}
	if d.categories != nil {
		within = func(v records.Value) bool { return slices.Contains(d.categories, v.Text) }
	}
	for i, published := range d.ofMetric() {
		var all marks
		for _, s := range p.Lines {
			for _, point := range published.PointsOf(&s, d.X) {
				if d.shows(point) && within(point.Place) {
					at := plotter.XY{X: d.x(point.Place) + d.dodge(p, s.Name), Y: point.Mean}
					all.marks = append(all.marks, mark{at, d.color(s.Name)})
				}
			}
		}
		d.addMarksTo(f, p, all, i, published.Name)
	}
}

func (d *drawing) addMarksTo(f *Figure, p results.Panel, all marks, i int, name string) {
	if len(all.marks) == 0 {
		return
	}
	all.shape = markShapes[i%len(markShapes)]
	all.onBars = d.bars || d.grouped(p)
	f.Plot.Add(all)
	f.legend.add(name, all)
}

func (d *drawing) ofMetric() []results.Published {
	return slices.DeleteFunc(slices.Clone(d.Marks), func(p results.Published) bool { return p.Metric != d.Y })
}

func (d *drawing) setAxes(f *Figure, p results.Panel) {
	axis := &f.Plot.Y
	if isAmount(d.Y) && !d.LogY {
		axis.Min = min(axis.Min, 0)
	}
	if axis.Min == axis.Max && !d.LogY {
		widen(axis, d.Y)
	}
	if d.categories != nil {
		f.nominalX(d.categories)
		return
	}
	unit := d.xUnit(p)
	f.SetX(scaleOf(d.LogX), unit)
	if ticks := d.ticks(p); len(d.Along) == 0 && f.haveRoom(ticks) && len(ticks) > 1 {
		f.Plot.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
}

// isAmount reports whether zero means that there is nothing of what the metric counts, and twice as much is twice as
// high: the axis begins there. Shares and ratios are read at their ticks.
func isAmount(name string) bool {
	m, _ := metric.Lookup(name)
	return m.Unit != metric.Share && m.Unit != metric.Ratio && m.Unit != ""
}

// widen makes room around a flat line.
func widen(axis *plot.Axis, metric string) {
	room, most := 0.05, math.Inf(1)
	if records.IsShare(metric) {
		most = max(axis.Max, 1)
	} else {
		room = max(math.Abs(axis.Max)/10, 1)
	}
	axis.Min, axis.Max = max(0, axis.Min-room), min(axis.Max+room, most)
}

func scaleOf(log bool) axes.Scale {
	if log {
		return axes.Log
	}
	return axes.Linear
}

func (d *drawing) ticks(p results.Panel) []plot.Tick {
	labels := map[float64]string{}
	for _, s := range p.Lines {
		for _, point := range s.Points {
			switch {
			case point.Anywhere:
			case d.X == records.DimCapacity:
				labels[point.Place.Number] = show.Capacity(point.Record.Capacity, point.Record.CapacityUnit)
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

func (d *drawing) xUnit(p results.Panel) axes.Unit {
	switch {
	case records.IsShare(d.X):
		return axes.Percent
	case d.X == records.DimCapacity && inBytes(p):
		return axes.Bytes
	}
	return axes.Number
}

func (d *drawing) yUnit() axes.Unit { return unitOf(d.Y) }

// unitOf returns the unit of an axis with the values of a metric.
func unitOf(name string) axes.Unit {
	m, _ := metric.Lookup(name)
	switch m.Unit {
	case metric.Share:
		return axes.Percent
	case metric.Bytes:
		return axes.Bytes
	case metric.Seconds, metric.Milliseconds, metric.Nanoseconds:
		return axes.Plain
	}
	return axes.Number
}

func inBytes(p results.Panel) bool { return p.Lines[0].Points[0].Record.CapacityUnit == records.Bytes }

func (d *drawing) xLabel(p results.Panel) string {
	return cmp.Or(d.XLabel, dimensionLabel(d.X, countedIn(p)))
}

// blocksOfPrompts is what capacities count where a cache holds prompts.
const blocksOfPrompts = "blocks"

// countedIn returns what the capacities of a panel count.
func countedIn(p results.Panel) string { return countedBy(p.Lines[0].Points[0].Record) }

// countedBy returns what the capacity of a record counts: records.Bytes, records.Objects or blocksOfPrompts.
func countedBy(first *records.Record) string {
	if ofPrompts, known := metric.Lookup("prompts"); known && first.CapacityUnit != records.Bytes && first.Has(ofPrompts) {
		return blocksOfPrompts
	}
	return first.CapacityUnit
}

// dimensionLabel names the axis of a dimension, along which capacities count bytes, objects or blocks.
func dimensionLabel(dimension, counted string) string {
	switch {
	case dimension == records.DimCapacity && counted != records.Bytes:
		return "capacity (" + counted + ")"
	case dimension == records.DimCapacityShare && counted != records.Bytes:
		return "capacity (share of the " + counted + ")"
	case dimension == records.DimCapacityShare:
		return "capacity (share of all bytes)"
	}
	return records.MetricName(dimension)
}

// yLabel adds "at least" if the values are means over seeds of the lower ends of intervals, because the optimum is
// unknown.
func (d *drawing) yLabel(p results.Panel) string {
	if d.YLabel != "" {
		return d.YLabel
	}
	for _, s := range p.Lines {
		for _, point := range s.Points {
			m, _ := metric.Lookup(d.Y)
			switch {
			case !isInterval(m, point.Record):
			case point.Seeds > 1:
				return m.AxisLabel() + ", at least"
			default:
				return cmp.Or(m.Figure.Interval, m.AxisLabel())
			}
		}
	}
	return records.AxisName(d.Y)
}
