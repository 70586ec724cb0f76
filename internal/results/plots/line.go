package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
)

const (
	// maxMarkers is the number of points up to which each one is marked on its line.
	maxMarkers = 40
	// minStep is the distance in points below which the next point of a line would not be seen.
	minStep = vg.Length(0.3)
)

// Line is one series of a figure. X ascends. Its points are marked if they are few. It implements plot.Plotter,
// plot.DataRanger, plot.GlyphBoxer and plot.Thumbnailer.
type Line struct {
	Label string // in the legend; "" for none
	X, Y  []float64
	Low   []float64 // nil, or per point the lower end of the interval around Y, which begins at Y otherwise
	High  []float64 // nil, or per point the upper end of the interval; drawn as a band
	Bars  bool      // draw the intervals as vertical bars at the points instead
	// moves the bars to the right of their points, so that the bars of several lines do not hide each other
	Shift vg.Length
	Steps bool // hold each value until the next one, as a distribution function does
	// a grey line is behind the others, with its name at its end instead of in the legend
	Style Style
}

// AddLine adds a line. Different lengths and values that are not finite are errors, which Draw returns.
func (f *Figure) AddLine(l Line) {
	if err := l.check(); err != nil {
		if f.err == nil {
			f.err = fmt.Errorf("line %q: %w", l.Label, err)
		}
		return
	}
	if l.Style.Width > 0 {
		f.spots.add(l.Label, l.points()...)
	}
	switch {
	case l.Style.Grey:
		l.High = nil
		f.ends.add(l.X[len(l.X)-1], l.Y[len(l.Y)-1], l.Label)
		f.least = max(f.least, f.ends.height()+vg.Inch)
	case l.Label != "":
		f.legend.addLine(l)
	}
	if l.High != nil && l.Low == nil {
		l.Low = l.Y
	}
	if l.High != nil && !l.Bars {
		f.bands.lines = append(f.bands.lines, l)
	}
	f.Plot.Add(l)
}

func (l Line) check() error {
	if len(l.X) == 0 {
		return fmt.Errorf("no points")
	}
	for _, values := range [][]float64{l.X, l.Y, l.Low, l.High} {
		if len(values) != len(l.X) && values != nil {
			return fmt.Errorf("%d x, %d y, %d lower and %d upper values, want the same number of each", len(l.X), len(l.Y),
				len(l.Low), len(l.High))
		}
		if err := plotter.CheckFloats(values...); err != nil && len(values) > 0 {
			return err
		}
	}
	return nil
}

func (l Line) points() (points plotter.XYs) {
	for i := range l.X {
		points = append(points, plotter.XY{X: l.X[i], Y: l.Y[i]})
	}
	return points
}

func (l Line) DataRange() (xmin, xmax, ymin, ymax float64) {
	values := slices.Concat(l.Y, l.High)
	if l.High != nil {
		values = append(values, l.Low...)
	}
	return slices.Min(l.X), slices.Max(l.X), slices.Min(values), slices.Max(values)
}

// Plot implements plot.Plotter. It leaves out the points that fall onto their predecessor, so that a line of a million
// points makes a small file.
func (l Line) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := plotter.Line{LineStyle: l.Style.line()}
	if l.Steps {
		line.StepStyle = plotter.PostStep
	}
	var last vg.Point
	for i, xy := range l.points() {
		at := vg.Point{X: x(xy.X), Y: y(xy.Y)}
		step := at.Sub(last)
		if i == 0 || i == len(l.X)-1 || math.Hypot(float64(step.X), float64(step.Y)) >= float64(minStep) {
			line.XYs = append(line.XYs, xy)
			last = at
		}
	}
	canvas.Grouped(c, l.Label, func() {
		if l.hasBars() {
			l.plotBars(c, x, y)
		}
		line.Plot(c, p)
		if l.hasMarkers() {
			l.markers().Plot(c, p)
		}
	})
}

// hasMarkers reports whether the points are marked. A line through one point has no length.
func (l Line) hasMarkers() bool {
	return len(l.X) == 1 || l.Style.Marker != nil && (len(l.X) <= maxMarkers || l.Style.Grey)
}

// greyMarks is how many of the many points of a grey line are marked, at most. Those in colour differ by that.
const greyMarks = 10

func (l Line) markers() *plotter.Scatter {
	s := &plotter.Scatter{XYs: l.points(), GlyphStyle: l.Style.glyph()}
	if n := len(s.XYs); n > maxMarkers {
		var some plotter.XYs
		for i := 0; i < n; i += (n + greyMarks - 1) / greyMarks {
			some = append(some, s.XYs[i])
		}
		s.XYs = some
	}
	if s.Shape == nil {
		s.Shape = levelGlyph{}
	}
	return s
}

func (l Line) Thumbnail(c *draw.Canvas) {
	(&plotter.Line{LineStyle: l.Style.line()}).Thumbnail(c)
	if l.hasMarkers() {
		l.markers().Thumbnail(c)
	}
}

// GlyphBoxes implements plot.GlyphBoxer: room for the marks, and for the bars beside the first and last points.
func (l Line) GlyphBoxes(p *plot.Plot) (boxes []plot.GlyphBox) {
	if l.hasMarkers() {
		boxes = l.markers().GlyphBoxes(p)
	}
	for i := range l.X {
		if l.hasBars() {
			boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(l.X[i]), Y: p.Y.Norm(l.High[i]),
				Rectangle: vg.Rectangle{Min: vg.Point{X: l.Shift - barCap}, Max: vg.Point{X: l.Shift + barCap}}})
		}
	}
	return boxes
}

func (l Line) hasBars() bool { return l.Bars && l.High != nil }

func (l Line) plotBars(c draw.Canvas, x, y func(float64) vg.Length) {
	style := draw.LineStyle{Color: l.Style.Color, Width: 0.8}
	for i := range l.X {
		at, low, high := x(l.X[i])+l.Shift, y(l.Low[i]), y(l.High[i])
		if high-low < 2*barCap {
			continue // the mark of the point covers it
		}
		c.StrokeLine2(style, at, max(low, c.Min.Y), at, min(high, c.Max.Y))
		if high <= c.Max.Y { // an end beyond the axis has no cap
			c.StrokeLine2(style, at-barCap, high, at+barCap, high)
		}
		if l.Low[i] < l.Y[i] && low >= c.Min.Y {
			c.StrokeLine2(style, at-barCap, low, at+barCap, low)
		}
	}
}

// bands fill the ranges between the ends of the intervals of lines, as far as the axes reach, behind every line. It
// implements plot.Plotter.
type bands struct{ lines []Line }

func (b *bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, l := range b.lines {
		var outline []vg.Point
		for i := range l.X {
			outline = append(outline, vg.Point{X: x(l.X[i]), Y: y(l.Low[i])})
		}
		for i := len(l.X) - 1; i >= 0; i-- {
			outline = append(outline, vg.Point{X: x(l.X[i]), Y: y(l.High[i])})
		}
		canvas.Grouped(c, l.Label, func() { c.FillPolygon(translucent(l.Style.Color), c.ClipPolygonY(outline)) })
	}
}

const (
	// maxIntervals is the number of policies up to which each one's interval is drawn. They differ only in proportion to
	// the policy's misses, so that with more policies the interval of the optimum says enough.
	maxIntervals = 12
	// intervalShift is the distance between the intervals of two policies at one capacity.
	intervalShift = vg.Length(4)
	// mostBands is how many bands a plot may always have. bandRoom is the share of the lines' span that more bands may
	// cover together without hiding each other and the lines.
	mostBands = 3
	bandRoom  = 0.75
	// shiftRoom is how far apart the first and the last interval at a place are, at most.
	shiftRoom = vg.Length(20)
	// intervalRoom is how far confidence intervals may extend the vertical axis beyond the lines on either side, as a
	// share of what the lines span. The wide intervals of two seeds, with t = 12.7, would leave the lines a thin strip.
	intervalRoom = 0.5
)

// interval is a value known to lie between low and high; mostly they are the same.
type interval struct{ low, high float64 }

// boundsOf returns the interval of a record's metric: from its value to the value of the metric UpTo.
func boundsOf(m metric.Metric, r *records.Record) (low, high float64) {
	low, _ = r.Figure(m.Name)
	if high, ok := r.Figure(m.UpTo); ok && m.UpTo != "" {
		return low, high
	}
	return low, low
}

func isInterval(m metric.Metric, r *records.Record) bool {
	low, high := boundsOf(m, r)
	return low != high
}

// known returns the interval in which a point is known to lie. The mean over several seeds has a margin instead.
func (d *drawing) known(p results.Point) interval {
	if p.Seeds != 1 {
		return interval{p.Mean, p.Mean}
	}
	m, _ := metric.Lookup(d.Y)
	if low, high := boundsOf(m, p.Record); low == p.Mean {
		return interval{low, high}
	}
	return interval{p.Mean, p.Mean}
}

// isInterval reports whether a point of the series is only known to lie within an interval.
func (d *drawing) isInterval(s results.Series) bool {
	for _, p := range s.Points {
		if known := d.known(p); known.low != known.high {
			return true
		}
	}
	return false
}

// intervals gives the lines of a panel their intervals: a band for the optimum, and bars beside each other for others,
// unless they are too many.
type intervals struct {
	count  int       // of the lines that would have bars
	crowds bool      // confidence intervals would hide the lines as bands
	pitch  vg.Length // from one line's bars to the next
	shift  vg.Length // of the next bars
}

func (d *drawing) intervalsOf(lines []results.Series) (n intervals) {
	var sampled []results.Series
	for _, s := range lines {
		switch {
		case d.isInterval(s) && !isOptimum(s):
			n.count++
		case isSampled(s) && !d.faded[s.Name]:
			sampled = append(sampled, s)
		}
	}
	if n.crowds = len(sampled) > mostBands && crowded(sampled); n.crowds {
		n.count += len(sampled)
	}
	n.pitch = min(intervalShift, shiftRoom/vg.Length(max(n.count, 1)))
	n.shift = -n.pitch * vg.Length(n.count-1) / 2
	return n
}

// crowded reports whether the confidence intervals at one place are together wider than bandRoom.
func crowded(lines []results.Series) bool {
	low, high := math.Inf(1), math.Inf(-1)
	together := map[string]float64{}
	for _, s := range lines {
		for _, p := range s.Points {
			low, high = min(low, p.Mean), max(high, p.Mean)
			together[p.Place.Text] += 2 * p.Margin
		}
	}
	for _, width := range together {
		if width > bandRoom*(high-low) {
			return true
		}
	}
	return false
}

// isSampled reports whether a series has confidence intervals: its values are means over seeds.
func isSampled(s results.Series) bool {
	return slices.ContainsFunc(s.Points, func(p results.Point) bool { return p.Margin > 0 })
}

func isOptimum(s results.Series) bool { return s.Kind() == records.Offline }

func (n *intervals) give(l *Line, s results.Series) {
	switch {
	case isSampled(s):
		if n.crowds {
			l.Bars, l.Shift = true, n.shift
			n.shift += n.pitch
		}
	case isOptimum(s):
		l.Bars = len(l.X) == 1
	case n.count > maxIntervals:
		l.Low, l.High = nil, nil
	default:
		l.Bars, l.Shift = true, n.shift
		n.shift += n.pitch
	}
}

// limitIntervals keeps the vertical axis close to the lines, however far intervals reach.
func (f *Figure) limitIntervals() {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range f.spots.lines {
		for _, p := range l.points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	axis := &f.Plot.Y
	if low >= high {
		return
	}
	room := (high - low) * intervalRoom
	least, most := low-room, high+room
	if _, log := axis.Scale.(plot.LogScale); log {
		room := math.Pow(high/low, intervalRoom)
		least, most = low/room, high*room
	}
	f.lowest, f.highest = axis.Min, axis.Max
	axis.Min, axis.Max = max(axis.Min, least), min(axis.Max, most)
}

// cutsIntervals reports whether intervals reach beyond the vertical axis.
func (f *Figure) cutsIntervals() bool {
	return f.lowest < f.highest && (f.lowest < f.Plot.Y.Min || f.highest > f.Plot.Y.Max)
}
