package canvas

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Star is a filled star with five points.
type Star struct{}

func (Star) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	outer, inner := style.Radius*1.5, style.Radius*1.5*0.42
	fill(c, style, at, outer, inner, outer, inner, outer, inner, outer, inner, outer, inner)
}

// Diamond is a filled square on one of its corners.
type Diamond struct{}

func (Diamond) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 1.2
	fill(c, style, at, r, r, r, r)
}

// Arrow is a filled triangle that points down.
type Arrow struct{}

func (Arrow) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 1.3
	fill(c, style, at, r/2, r, r/2, r, r/2, r)
}

// Hexagon is a filled regular hexagon on one of its corners.
type Hexagon struct{}

func (Hexagon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 1.1
	fill(c, style, at, r, r, r, r, r, r)
}

// Pentagon is a filled regular pentagon on one of its sides.
type Pentagon struct{}

func (Pentagon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 1.1
	fill(c, style, at, r, r, r, r, r)
}

// Bowtie is two filled triangles that meet at the point, one on either side of it.
type Bowtie struct{}

func (Bowtie) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r, waist := style.Radius*1.3, style.Radius*0.2
	fill(c, style, at, waist, r, r, waist, r, r)
}

// Spark is a filled star with four points, one above the point.
type Spark struct{}

func (Spark) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	outer, inner := style.Radius*1.5, style.Radius*0.6
	fill(c, style, at, outer, inner, outer, inner, outer, inner, outer, inner)
}

// fill draws a polygon around a point. Its corners are at equal angles, the first above the point, at these distances.
func fill(c *draw.Canvas, style draw.GlyphStyle, at vg.Point, distances ...vg.Length) {
	c.SetColor(style.Color)
	var p vg.Path
	for i, r := range distances {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(len(distances)))
		corner := vg.Point{X: at.X + r*vg.Length(sin), Y: at.Y + r*vg.Length(cos)}
		if i == 0 {
			p.Move(corner)
			continue
		}
		p.Line(corner)
	}
	p.Close()
	c.Fill(p)
}
