package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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
	Style Style
	Faded bool // grey behind the others, with its name at its end instead of in the legend
}

// AddLine adds a line. Different lengths and values that are not finite are errors, which Draw returns.
func (f *Figure) AddLine(l Line) {
	if err := l.check(); err != nil {
		if f.err == nil {
			f.err = fmt.Errorf("line %q: %w", l.Label, err)
		}
		return
	}
	if l.Style.Width > 0 || l.Faded {
		f.spots.add(l.Label, l.points()...)
	}
	switch {
	case l.Faded:
		l.Style, l.High = fadedStyle(), nil
		f.ends.add(l.X[len(l.X)-1], l.Y[len(l.Y)-1], l.Label)
		f.height = max(f.height, f.ends.height()+vg.Inch)
	case l.Label != "":
		f.legend.add(l.Label, l)
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
	grouped(c, l.Label, func() {
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
	return len(l.X) == 1 || l.Style.Marker != nil && len(l.X) <= maxMarkers
}

func (l Line) markers() *plotter.Scatter {
	s := &plotter.Scatter{XYs: l.points(), GlyphStyle: l.Style.glyph()}
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
		grouped(c, l.Label, func() { c.FillPolygon(translucent(l.Style.Color), c.ClipPolygonY(outline)) })
	}
}
