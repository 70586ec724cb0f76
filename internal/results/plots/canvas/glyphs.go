package canvas

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Star is a filled star with five points.
type Star struct{}

func (Star) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetColor(style.Color)
	var p vg.Path
	for i := range 10 {
		r := style.Radius * 1.5
		if i%2 == 1 {
			r *= 0.42
		}
		sin, cos := math.Sincos(float64(i) * math.Pi / 5)
		point := vg.Point{X: at.X + r*vg.Length(sin), Y: at.Y + r*vg.Length(cos)}
		if i == 0 {
			p.Move(point)
			continue
		}
		p.Line(point)
	}
	p.Close()
	c.Fill(p)
}

// Diamond is a filled square on one of its corners.
type Diamond struct{}

func (Diamond) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetColor(style.Color)
	r := style.Radius * 1.2
	var p vg.Path
	p.Move(vg.Point{X: at.X - r, Y: at.Y})
	p.Line(vg.Point{X: at.X, Y: at.Y + r})
	p.Line(vg.Point{X: at.X + r, Y: at.Y})
	p.Line(vg.Point{X: at.X, Y: at.Y - r})
	p.Close()
	c.Fill(p)
}
