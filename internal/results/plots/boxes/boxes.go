// Package boxes draws distributions as boxes with whiskers, one on each row.
package boxes

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Box is a distribution on a row: whiskers from Low to High, a box with a line in its middle, and a dot.
type Box struct {
	Low, From, Middle, To, High float64
	Dot                         float64
	HasDot                      bool
	Color                       color.NRGBA
	Empty                       bool // there are only whiskers and the dot
}

// Plot are distributions on rows, the first at the bottom. It implements plot.Plotter and plot.DataRanger.
type Plot struct {
	Rows     []Box
	FromData bool // the axis begins at the least value instead of zero, from which a reader sees the sign of a difference
}

const (
	boxShare = 0.6          // of the height of a row that its box fills
	capShare = 0.15         // of the height of a row, half the length of the end of a whisker
	dotSize  = vg.Length(3) // radius
)

func (b *Plot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if !b.FromData {
		zero := draw.LineStyle{Color: color.Gray{0x80}, Width: 0.8}
		c.StrokeLine2(zero, x(0), c.Min.Y, x(0), c.Max.Y)
	}
	row := y(1) - y(0)
	for i, r := range b.Rows {
		r.draw(c, x, y(float64(i)), row)
	}
}

func (r Box) draw(c draw.Canvas, x func(float64) vg.Length, middle, row vg.Length) {
	whisker := draw.LineStyle{Color: r.Color, Width: 1.2}
	if r.High > r.Low {
		c.StrokeLine2(whisker, x(r.Low), middle, x(r.High), middle)
		for _, end := range []float64{r.Low, r.High} {
			c.StrokeLine2(whisker, x(end), middle-row*capShare, x(end), middle+row*capShare)
		}
	}
	if !r.Empty {
		half := row * boxShare / 2
		c.SetColor(pale(r.Color))
		area := vg.Rectangle{Min: vg.Point{X: x(r.From), Y: middle - half}, Max: vg.Point{X: x(r.To), Y: middle + half}}
		c.Fill(area.Path())
		c.SetColor(r.Color)
		c.SetLineWidth(whisker.Width)
		c.Stroke(area.Path())
		c.StrokeLine2(draw.LineStyle{Color: r.Color, Width: 2}, x(r.Middle), middle-half, x(r.Middle), middle+half)
	}
	if r.HasDot {
		c.DrawGlyph(draw.GlyphStyle{Color: r.Color, Radius: dotSize, Shape: draw.CircleGlyph{}},
			vg.Point{X: x(r.Dot), Y: middle})
	}
}

// pale returns a light shade of a colour, on white.
func pale(c color.NRGBA) color.NRGBA {
	const share = 5 // of the colour, a fifth
	light := func(x uint8) uint8 { return uint8((int(x) + (share-1)*0xff) / share) }
	return color.NRGBA{light(c.R), light(c.G), light(c.B), c.A}
}

// ends returns the least and the largest of what is drawn of a row.
func (r Box) ends() (low, high float64) {
	if r.HasDot {
		return min(r.Low, r.Dot), max(r.High, r.Dot)
	}
	return r.Low, r.High
}

// DataRange includes 0 unless the axis begins at the least value.
func (b *Plot) DataRange() (xmin, xmax, ymin, ymax float64) {
	if b.FromData {
		xmin, xmax = math.Inf(1), math.Inf(-1)
	}
	for _, r := range b.Rows {
		low, high := r.ends()
		xmin, xmax = min(xmin, low), max(xmax, high)
	}
	if xmin == xmax && !b.FromData {
		xmax = 1 // everything is equal
	}
	return xmin, xmax, 0, float64(len(b.Rows) - 1)
}

// GlyphBoxes implements plot.GlyphBoxer: room for the dots at the edges.
func (b *Plot) GlyphBoxes(p *plot.Plot) (all []plot.GlyphBox) {
	for i, r := range b.Rows {
		low, high := r.ends()
		for _, at := range []float64{low, high} {
			all = append(all, plot.GlyphBox{X: p.X.Norm(at), Y: p.Y.Norm(float64(i)),
				Rectangle: vg.Rectangle{Min: vg.Point{X: -2 * dotSize}, Max: vg.Point{X: 2 * dotSize}}})
		}
	}
	return all
}
