package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	barPitch     = vg.Length(16)  // from one bar to the next, at least
	barShare     = 0.7            // of the pitch that is filled
	barLeast     = vg.Length(1.5) // length of the shortest bar, so that its colour shows
	barLabelSkip = vg.Length(4)   // between a bar and its value
	barCap       = vg.Length(1.5) // half the width of the end of an interval
)

// bars are horizontal bars with their values written at their ends. It implements plot.DataRanger.
type bars struct {
	base  float64 // where the bars begin
	dots  bool    // instead of bars: a logarithmic axis has no zero, where bars begin
	bars  []bar
	style text.Style
}

type bar struct {
	line     string
	at       int     // row, from the bottom
	end      float64 // where the bar ends
	interval         // what is drawn as a whisker, if anything
	mark     float64 // a mark that the label must not cover, or 0
	dot      bool    // as bars.dots
	color    color.NRGBA
	label    string
}

// AddRows adds a plotter of rows at 0, 1, 2 with these names on their left, from the bottom, and makes the figure high
// enough for them. Names leave the rows nearly half of the width.
func (f *Figure) AddRows(p plot.Plotter, names []string) {
	shortened := make([]string, len(names))
	for i, name := range names {
		shortened[i] = shorten(name, f.legend.style, min(labelWidth, f.width*5/9))
	}
	f.Plot.Add(p)
	f.Plot.NominalY(shortened...)
	f.barNames = true
	f.Plot.Y.Min, f.Plot.Y.Max = -0.6, float64(len(names))-0.4
	f.height = max(f.height, vg.Length(len(names))*barPitch+vg.Inch)
}

// Plot implements plot.Plotter. The part of an interval that is uncertain is drawn as a whisker.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, r := range b.bars {
		grouped(c, r.line, func() { b.drawBar(c, r, x, y) })
	}
}

func (b bars) drawBar(c draw.Canvas, r bar, x, y func(float64) vg.Length) {
	middle := y(float64(r.at))
	half := (y(1) - y(0)) * barShare / 2
	from, to := x(min(b.base, r.end)), x(max(b.base, r.end))
	if !b.dots {
		c.SetColor(r.color)
		c.Fill(vg.Rectangle{Min: vg.Point{X: from, Y: middle - half},
			Max: vg.Point{X: max(to, from+barLeast), Y: middle + half}}.Path())
	}
	if r.high > r.low {
		for _, line := range whisker() {
			c.StrokeLine2(line, x(r.low), middle, x(r.high), middle)
			c.StrokeLine2(line, x(r.high), middle-half/2, x(r.high), middle+half/2)
			if r.low < r.end { // otherwise the end of the bar is the lower end
				c.StrokeLine2(line, x(r.low), middle-half/2, x(r.low), middle+half/2)
			}
		}
	}
	if b.dots {
		c.DrawGlyph(dot(r.color), vg.Point{X: x(r.end), Y: middle})
	}
	style := b.style
	style.Color, style.YAlign = ink, draw.YCenter
	c.FillText(style, vg.Point{X: x(b.reach(r)) + r.labelSkip(), Y: middle + style.FontExtents().Descent/2}, r.label)
}

// whisker returns the strokes of an interval: black on white, to be seen on its bar and beside it.
func whisker() []draw.LineStyle {
	return []draw.LineStyle{{Color: paper, Width: 3}, {Color: ink, Width: 1}}
}

// dot is a value on a logarithmic axis.
func dot(c color.NRGBA) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: 3.6, Shape: draw.CircleGlyph{}}
}

// labelSkip returns the distance of the label from the bar or its mark.
func (r bar) labelSkip() vg.Length {
	if r.mark != 0 || r.dot {
		return barLabelSkip + markRadius
	}
	return barLabelSkip
}

// reach returns where the label of a bar may begin. A mark before the end of the bar is out of its way.
func (b bars) reach(r bar) float64 { return max(r.high, b.base, r.mark) }

func (b bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = b.base, b.base
	for _, r := range b.bars {
		xmin, xmax = min(xmin, r.low), max(xmax, r.high)
	}
	if xmax == xmin {
		xmax += 0.05 // no bar has a length
	}
	return xmin, xmax, 0, float64(len(b.bars) - 1)
}

// GlyphBoxes implements plot.GlyphBoxer: room for the values at the ends of the bars.
func (b bars) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	boxes := make([]plot.GlyphBox, len(b.bars))
	for i, r := range b.bars {
		width := r.labelSkip() + b.style.Width(r.label)
		boxes[i] = plot.GlyphBox{
			X: p.X.Norm(b.reach(r)), Y: p.Y.Norm(float64(r.at)),
			Rectangle: vg.Rectangle{Max: vg.Point{X: width}},
		}
	}
	return boxes
}

// swatch is a filled box in the legend, or the dot that is drawn instead of a bar. It implements plot.Thumbnailer.
type swatch struct {
	color color.NRGBA
	dot   bool
}

func (s swatch) Thumbnail(c *draw.Canvas) {
	if s.dot {
		c.DrawGlyph(dot(s.color), c.Center())
		return
	}
	c.SetColor(s.color)
	c.Fill(draw.Crop(*c, 6, -6, 1, -1).Rectangle.Path())
}
