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

var roomOfMark = vg.Rectangle{Min: vg.Point{X: -markRadius, Y: -markRadius}, Max: vg.Point{X: markRadius, Y: markRadius}}

// markShapes tell apart the numbers of several publications.
var markShapes = []polygon{{4, 0}, {3, 0.25}, {3, 0.75}, {6, 0}}

// marks are published numbers, drawn as hollow shapes. It implements plot.Plotter, plot.DataRanger and
// plot.Thumbnailer.
type marks struct {
	shape  polygon
	marks  []mark
	onBars bool // which have the same colours
}

type mark struct {
	plotter.XY
	color color.NRGBA // of the line it belongs to
}

func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, each := range m.marks {
		path := m.shape.path(vg.Point{X: x(each.X), Y: y(each.Y)})
		if m.onBars {
			c.SetLineStyle(draw.LineStyle{Color: paper, Width: 2.6})
			c.Stroke(path)
		}
		c.SetLineStyle(draw.LineStyle{Color: each.color, Width: 1.2})
		c.Stroke(path)
	}
}

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
		boxes[i] = plot.GlyphBox{X: p.X.Norm(each.X), Y: p.Y.Norm(each.Y), Rectangle: roomOfMark}
	}
	return boxes
}

func (m marks) Thumbnail(c *draw.Canvas) {
	c.SetLineStyle(draw.LineStyle{Color: ink, Width: 1.2})
	c.Stroke(m.shape.path(c.Center()))
}

type polygon struct {
	corners int
	turned  float64 // the first corner's part of a turn from the right, against the clock
}

// path returns the outline around a point.
func (g polygon) path(at vg.Point) (path vg.Path) {
	for i := range g.corners {
		sin, cos := math.Sincos(2 * math.Pi * (g.turned + float64(i)/float64(g.corners)))
		corner := vg.Point{X: at.X + markRadius*vg.Length(cos), Y: at.Y + markRadius*vg.Length(sin)}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	return path
}
