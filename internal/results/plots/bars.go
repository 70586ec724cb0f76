package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/letters"
)

const (
	barPitch     = vg.Length(16)  // from one bar to the next, at least
	barShare     = 0.7            // of the pitch that is filled
	barLeast     = vg.Length(1.5) // length of the shortest bar, so that its colour shows
	barLabelSkip = vg.Length(4)   // between a bar and its value
	barCap       = vg.Length(1.5) // half the width of the end of an interval
)

// bars are horizontal with their values written at their ends, or upright in groups. It implements plot.Plotter,
// plot.DataRanger and plot.GlyphBoxer.
type bars struct {
	upright bool
	thick   float64 // of a bar, where places are 1 apart
	base    float64 // where the bars begin
	dots    bool    // instead of bars: a logarithmic axis has no zero, where bars begin
	bars    []bar
	style   text.Style // of the values
}

type bar struct {
	line     string
	at       float64 // its place: the row from the bottom, or the column
	end      float64 // where the bar ends
	interval         // what is drawn as a whisker, if anything
	mark     float64 // a mark that the label must not cover, or 0
	color    color.NRGBA
	filling  filling
	label    string // its value, "" for none
}

// AddRows adds a plotter of rows at 0, 1, 2 with these names on their left, from the bottom, and makes the figure high
// enough for them. Names leave the rows nearly half of the width.
func (f *Figure) AddRows(p plot.Plotter, names []string) {
	f.Plot.Add(p)
	f.rows, f.barNames = names, true
	f.nameRows()
	f.Plot.Y.Min, f.Plot.Y.Max = -0.6, float64(len(names))-0.4
	f.least = max(f.least, vg.Length(len(names))*barPitch+vg.Inch)
}

// nameRows writes the names of rows beside them, as far as they fit.
func (f *Figure) nameRows() {
	shortened := make([]string, len(f.rows))
	for i, name := range f.rows {
		shortened[i] = letters.Shorten(name, f.legend.style, min(labelWidth, f.width*5/9))
	}
	f.Plot.NominalY(shortened...)
	f.Plot.Y.Min, f.Plot.Y.Max = -0.6, float64(len(f.rows))-0.4
}

// Plot implements plot.Plotter. The part of an interval that is uncertain is drawn as a whisker.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, r := range b.bars {
		canvas.Grouped(c, r.line, func() {
			if b.upright {
				b.drawBar(c, r, y, x)
			} else {
				b.drawBar(c, r, x, y)
			}
		})
	}
}

// drawBar draws a bar along the axis of values.
func (b *bars) drawBar(c draw.Canvas, r bar, along, across func(float64) vg.Length) {
	at := func(value, place vg.Length) vg.Point {
		if b.upright {
			return vg.Point{X: place, Y: value}
		}
		return vg.Point{X: value, Y: place}
	}
	middle := across(r.at)
	half := (across(1) - across(0)) * vg.Length(b.thick) / 2
	from, to := along(min(b.base, r.end)), along(max(b.base, r.end))
	if !b.dots {
		r.filling.fill(c, vg.Rectangle{Min: at(from, middle-half), Max: at(max(to, from+barLeast), middle+half)}, r.color)
	}
	if r.high > r.low {
		ends, tip := []float64{r.high}, half/2
		if r.low < r.end || b.upright { // otherwise the end of the bar is the lower end
			ends = append(ends, r.low)
		}
		if b.upright {
			tip = barCap
		}
		for _, line := range whisker {
			c.StrokeLines(line, []vg.Point{at(along(r.low), middle), at(along(r.high), middle)})
			for _, end := range ends {
				c.StrokeLines(line, []vg.Point{at(along(end), middle-tip), at(along(end), middle+tip)})
			}
		}
	}
	if b.dots {
		c.DrawGlyph(r.filling.dot(r.color), at(along(r.end), middle))
	}
	style := b.style
	style.Color, style.YAlign = ink, draw.YCenter
	if r.label != "" {
		c.FillText(style, vg.Point{X: along(b.reach(r)) + b.labelSkip(r), Y: middle + style.FontExtents().Descent/2}, r.label)
	}
}

// whisker has the strokes of an interval: black on white, to be seen on its bar and beside it.
var whisker = []draw.LineStyle{{Color: paper, Width: 3}, {Color: ink, Width: 1}}

// filling tells apart bars of one colour.
type filling int

const (
	solid filling = iota
	hatched
	hollow
	crossed
	fillings
)

// fill draws an area in a colour.
func (f filling) fill(c draw.Canvas, area vg.Rectangle, in color.NRGBA) {
	if f == solid {
		c.SetColor(in)
		c.Fill(area.Path())
		return
	}
	c.SetColor(paper)
	c.Fill(area.Path())
	line := draw.LineStyle{Color: in, Width: 0.8}
	if f != hollow {
		rising(c, area, line)
	}
	if f == crossed {
		falling(c, area, line)
	}
	c.SetLineStyle(line)
	c.Stroke(area.Path())
}

// dot is a value on a logarithmic axis.
func (f filling) dot(c color.NRGBA) draw.GlyphStyle {
	shapes := [fillings]draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}}
	return draw.GlyphStyle{Color: c, Radius: 3.6, Shape: shapes[f]}
}

// fillingsOf returns how the bars of lines are filled: those that share their colour with an earlier one differ.
func (d *drawing) fillingsOf(lines []results.Series) map[string]filling {
	of, taken := map[string]filling{}, map[color.NRGBA]filling{}
	for _, s := range lines {
		c := d.color(s.Name)
		of[s.Name] = taken[c] % fillings
		taken[c]++
	}
	return of
}

// labelSkip returns the distance of the label from the bar or its mark.
func (b *bars) labelSkip(r bar) vg.Length {
	if r.mark != 0 || b.dots {
		return barLabelSkip + markRadius
	}
	return barLabelSkip
}

// reach returns where the label of a bar may begin. A mark before the end of the bar is out of its way.
func (b *bars) reach(r bar) float64 { return max(r.high, b.base, r.mark) }

func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	low, high := b.base, b.base
	first, last := math.Inf(1), math.Inf(-1)
	for _, r := range b.bars {
		low, high = min(low, r.low), max(high, r.high)
		first, last = min(first, r.at), max(last, r.at)
	}
	if b.upright {
		return first, last, low, high
	}
	if high == low {
		high += 0.05 // no bar has a length
	}
	return low, high, first, last
}

// GlyphBoxes implements plot.GlyphBoxer: room for the values at the ends of the bars.
func (b *bars) GlyphBoxes(p *plot.Plot) (boxes []plot.GlyphBox) {
	for _, r := range b.bars {
		if r.label != "" {
			boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(b.reach(r)), Y: p.Y.Norm(r.at),
				Rectangle: vg.Rectangle{Max: vg.Point{X: b.labelSkip(r) + b.style.Width(r.label)}}})
		}
	}
	return boxes
}

// swatch is a filled box in the legend, or the dot that is drawn instead of a bar. It implements plot.Thumbnailer.
type swatch struct {
	color   color.NRGBA
	filling filling
	dot     bool
}

func (s swatch) Thumbnail(c *draw.Canvas) {
	if s.dot {
		c.DrawGlyph(s.filling.dot(s.color), c.Center())
		return
	}
	s.filling.fill(*c, draw.Crop(*c, 6, -6, 1, -1).Rectangle, s.color)
}

const (
	groupShare    = 0.8           // of the room of a category that its bars fill
	categoryWidth = 2.5 * vg.Inch // of the name of a category, at most
)

// addBars draws one horizontal bar per line, the highest on top, or the lowest where low is good.
func (d *drawing) addBars(f *Figure, p results.Panel) {
	f.xLabel, f.yLabel = d.yLabel(p), ""
	lines := slices.Clone(p.Lines)
	slices.SortStableFunc(lines, func(a, b results.Series) int {
		if records.LowerIsBetter(d.Y) {
			a, b = b, a
		}
		return cmp.Compare(b.Points[0].Mean, a.Points[0].Mean)
	})
	slices.Reverse(lines) // the axis counts upwards
	chart := &bars{thick: barShare, base: d.base(lines), dots: d.LogY, style: f.legend.style}
	names := make([]string, len(lines))
	for i, s := range lines {
		point := s.Points[0]
		low, high := d.interval(point)
		names[i] = d.barName(s)
		chart.bars = append(chart.bars, bar{
			line: s.Name, at: float64(i), end: point.Mean, interval: interval{low, high},
			color: d.color(s.Name), label: d.barLabel(p, point),
		})
	}
	f.AddRows(chart, names)
	for i, published := range d.ofMetric() {
		var all marks
		for at, s := range lines {
			if x, ok := published.For(s.Points[0].Record); ok && !(d.LogY && x <= 0) {
				all.marks = append(all.marks, mark{plotter.XY{X: x, Y: float64(at)}, d.color(s.Name)})
				chart.bars[at].mark = x
			}
		}
		d.addMarksTo(f, p, all, i, published.Name)
	}
	f.SetX(scaleOf(d.LogY), d.yUnit())
}

// barName is the name of a line with the kind of a policy that is not online.
func (d *drawing) barName(s results.Series) string {
	if kind := s.Kind(); d.Lines == records.DimPolicy && kind != "" && kind != records.Online {
		return s.Name + " (" + kind + ")"
	}
	return s.Name
}

// barLabel writes the value at the end of a bar, with a star at the best.
func (d *drawing) barLabel(panel results.Panel, p results.Point) string {
	label := records.MetricText(d.Y, p.Mean)
	if known := d.known(p); known.low != known.high {
		label += "-" + records.MetricText(d.Y, known.high)
	}
	if d.isBest(panel, p) {
		label += " *"
	}
	return label
}

// isBest reports whether a bar has the best value of the online policies in its panel. Means over seeds, values that
// are all equal, and metrics of which more is neither good nor bad have no best.
func (d *drawing) isBest(panel results.Panel, p results.Point) bool {
	if d.Lines != records.DimPolicy || !d.competes(p) || d.superlative() == "" {
		return false
	}
	beaten := false
	for _, s := range panel.Lines {
		other := s.Points[0]
		switch better := cmp.Compare(p.Mean, other.Mean); {
		case !d.competes(other) || better == 0:
		case (better > 0) == records.LowerIsBetter(d.Y):
			return false
		default:
			beaten = true
		}
	}
	return beaten
}

func (d *drawing) competes(p results.Point) bool { return p.Seeds == 1 && p.Record.Competes() }

// superlative says what the best value of the metric is; "" if none is better than others.
func (d *drawing) superlative() string {
	m, _ := metric.Lookup(d.Y)
	switch {
	case m.Better == metric.Higher && m.Unit == metric.Count:
		return "most"
	case m.Better == metric.Higher:
		return "highest"
	case m.Better == metric.Lower && m.Unit == metric.Count:
		return "fewest"
	case m.Better == metric.Lower:
		return "lowest"
	}
	return ""
}

func (d *drawing) starred() bool {
	return d.bars && slices.ContainsFunc(d.panels, func(p results.Panel) bool {
		return slices.ContainsFunc(p.Lines, func(s results.Series) bool { return d.isBest(p, s.Points[0]) })
	})
}

// base returns where bars begin: at the metric's base. On a logarithmic axis, where there are dots instead, it is below
// all values.
func (d *drawing) base(lines []results.Series) float64 {
	if d.LogY {
		base := math.Inf(1)
		for _, s := range lines {
			for _, p := range s.Points {
				base = min(base, p.Mean/2)
			}
		}
		return base
	}
	m, _ := metric.Lookup(d.Y)
	return m.Figure.Base
}

func (d *drawing) addGroupedBars(f *Figure, p results.Panel) {
	const wide = 0.9 // the rest is the gap between two bars
	g := &bars{upright: true, thick: groupShare / float64(d.abreast(p)) * wide, base: d.base(p.Lines), dots: d.LogY}
	filled := d.fillingsOf(p.Lines)
	for _, s := range p.Lines {
		look := d.color(s.Name)
		for _, point := range s.Points {
			at := []float64{d.x(point.Place)}
			if point.Anywhere {
				at = at[:0]
				for i := range d.categories {
					at = append(at, float64(i))
				}
			}
			low, high := d.interval(point)
			for _, x := range at {
				x += d.dodge(p, s.Name)
				g.bars = append(g.bars, bar{line: s.Name, at: x, end: point.Mean, interval: interval{low, high}, color: look,
					filling: filled[s.Name]})
				f.spots.add(s.Name, plotter.XY{X: x, Y: point.Mean})
			}
		}
		f.legend.add(s.Name, swatch{look, filled[s.Name], d.LogY})
	}
	f.Plot.Add(g)
}

// abreast returns how many bars stand side by side in a category.
func (d *drawing) abreast(p results.Panel) int {
	if d.X == d.Lines { // each line has its own category
		return 1
	}
	return len(p.Lines)
}

// dodge returns the offset of a line's bars from the middle of their category.
func (d *drawing) dodge(p results.Panel, line string) float64 {
	if !d.grouped(p) || d.abreast(p) == 1 {
		return 0
	}
	n := float64(d.abreast(p))
	at := slices.IndexFunc(p.Lines, func(s results.Series) bool { return s.Name == line })
	return (float64(at) - (n-1)/2) * groupShare / n
}

// nominalX names the places 0, 1, 2 of the horizontal axis, aslant where they would touch each other.
func (f *Figure) nominalX(names []string) {
	f.xNames = names
	axis := &f.Plot.X
	axis.Min, axis.Max = -0.5, float64(len(names))-0.5
	var ticks []plot.Tick
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: letters.Shorten(name, axis.Tick.Label, categoryWidth)})
	}
	axis.Tick.Marker = plot.ConstantTicks(ticks)
	axis.Tick.Length, axis.Tick.LineStyle.Width = 3, 0 // a gap
	if !f.haveRoom(ticks) {
		axis.Tick.Label.Rotation = math.Pi / 5
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = draw.XRight, draw.YTop
		f.Plot.Add(aslant{ticks, axis.Tick.Label})
	}
}

// aslant keeps room on the left for names that begin beyond the vertical axis, which gonum does not. It implements
// plot.Plotter and plot.GlyphBoxer.
type aslant struct {
	names []plot.Tick
	style text.Style
}

func (aslant) Plot(draw.Canvas, *plot.Plot) {}

func (a aslant) GlyphBoxes(p *plot.Plot) (boxes []plot.GlyphBox) {
	axis := p.Y.Tick.Length + p.Y.Padding // with its labels
	widest := vg.Length(0)
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		widest = max(widest, p.Y.Tick.Label.Width(tick.Label))
	}
	for _, name := range a.names {
		reach := a.style.Rectangle(name.Label).Min.X + axis + widest
		boxes = append(boxes, plot.GlyphBox{X: p.X.Norm(name.Value),
			Rectangle: vg.Rectangle{Min: vg.Point{X: min(reach, 0)}}})
	}
	return boxes
}
