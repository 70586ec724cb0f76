package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	barPitch     = vg.Length(16) // from one bar to the next, at least
	barShare     = 0.7           // of the pitch that is filled
	barLabelSkip = vg.Length(4)  // between a bar and its value
)

// bars are horizontal bars with their values written at their ends.
type bars struct {
	base  float64 // where the bars begin
	bars  []bar
	style text.Style
}

type bar struct {
	at int // row, from the bottom
	interval
	color color.NRGBA
	label string
}

// Plot implements plot.Plotter. The part of an interval that is uncertain is drawn as a whisker.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, r := range b.bars {
		middle := y(float64(r.at))
		half := (y(1) - y(0)) * barShare / 2
		c.SetColor(r.color)
		c.Fill(vg.Rectangle{Min: vg.Point{X: x(b.base), Y: middle - half}, Max: vg.Point{X: x(r.low), Y: middle + half}}.Path())
		if r.high > r.low {
			b.whisker(c, x(r.low), x(r.high), middle, half/2)
		}
		style := b.style
		style.Color, style.YAlign = color.Black, draw.YCenter
		c.FillText(style, vg.Point{X: x(max(r.high, b.base)) + barLabelSkip, Y: middle}, r.label)
	}
}

func (b bars) whisker(c draw.Canvas, from, to, y, half vg.Length) {
	line := draw.LineStyle{Color: color.Black, Width: 1}
	c.StrokeLine2(line, from, y, to, y)
	c.StrokeLine2(line, to, y-half, to, y+half)
}

// DataRange implements plot.DataRanger.
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
		width := barLabelSkip + b.style.Width(r.label)
		boxes[i] = plot.GlyphBox{
			X: p.X.Norm(max(r.high, b.base)), Y: p.Y.Norm(float64(r.at)),
			Rectangle: vg.Rectangle{Max: vg.Point{X: width}},
		}
	}
	return boxes
}

// swatch is a filled box in the legend.
type swatch struct{ color color.NRGBA }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.SetColor(s.color)
	c.Fill(draw.Crop(*c, 6, -6, 1, -1).Rectangle.Path())
}
