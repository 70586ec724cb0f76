package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const markRadius = vg.Length(4.2) // larger than the markers of lines, which then stay visible inside

// markShapes tell apart the numbers of several publications.
var markShapes = []draw.GlyphDrawer{polygonGlyph{4, 0}, polygonGlyph{3, 0.25}, polygonGlyph{3, 0.75}, polygonGlyph{6, 0}}

// marks are published numbers, drawn as hollow shapes.
type marks struct {
	shape draw.GlyphDrawer
	marks []mark
}

type mark struct {
	plotter.XY
	color color.NRGBA // of the line it belongs to
}

// Plot implements plot.Plotter.
func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, each := range m.marks {
		c.DrawGlyph(draw.GlyphStyle{Color: each.color, Radius: markRadius, Shape: m.shape}, vg.Point{X: x(each.X), Y: y(each.Y)})
	}
}

// DataRange implements plot.DataRanger.
func (m marks) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, each := range m.marks {
		xmin, xmax = min(xmin, each.X), max(xmax, each.X)
		ymin, ymax = min(ymin, each.Y), max(ymax, each.Y)
	}
	return xmin, xmax, ymin, ymax
}

// GlyphBoxes implements plot.GlyphBoxer: room for the marks at the edges.
func (m marks) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	boxes := make([]plot.GlyphBox, len(m.marks))
	for i, each := range m.marks {
		boxes[i] = plot.GlyphBox{
			X: p.X.Norm(each.X), Y: p.Y.Norm(each.Y),
			Rectangle: vg.Rectangle{Min: vg.Point{X: -markRadius, Y: -markRadius}, Max: vg.Point{X: markRadius, Y: markRadius}},
		}
	}
	return boxes
}

// Thumbnail implements plot.Thumbnailer.
func (m marks) Thumbnail(c *draw.Canvas) {
	c.DrawGlyph(draw.GlyphStyle{Color: color.Black, Radius: markRadius, Shape: m.shape}, c.Center())
}

// polygonGlyph is a hollow polygon with a white edge, which shows on any ground.
type polygonGlyph struct {
	corners int
	turned  float64 // the first corner's part of a turn from the right, against the clock
}

// DrawGlyph implements draw.GlyphDrawer.
func (g polygonGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	for i := range g.corners {
		sin, cos := math.Sincos(2 * math.Pi * (g.turned + float64(i)/float64(g.corners)))
		corner := vg.Point{X: at.X + style.Radius*vg.Length(cos), Y: at.Y + style.Radius*vg.Length(sin)}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	c.SetLineStyle(draw.LineStyle{Color: color.White, Width: 2.6})
	c.Stroke(path)
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 1.2})
	c.Stroke(path)
}
