package plots

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/show"
)

// cells are the coloured cells of a heat map. A cell without a value is hatched. If there is room, values are written
// in their cells. It implements plot.DataRanger.
type cells struct {
	columns int
	values  []float64 // row by row from the lowest; NaN where there is none
	x, y    Places
	colors  colorScale
	label   string // of the values
	text    func(value float64) string
}

// Places are evenly spaced places on an axis.
type Places struct {
	Label string
	First float64
	Step  float64  // from one place to the next
	names []string // of the places; nil for their numbers
}

func (p Places) start(cell int) float64 { return p.First + (float64(cell)-0.5)*p.Step }
func (p Places) at(cell int) float64    { return p.First + float64(cell)*p.Step }

func (p Places) name(cell int) string {
	if p.names == nil {
		return short(p.at(cell))
	}
	return p.names[cell]
}

func (g *cells) rows() int { return len(g.values) / g.columns }

// missing returns how many cells have no value.
func (g *cells) missing() (n int) {
	for _, x := range g.values {
		if math.IsNaN(x) {
			n++
		}
	}
	return n
}

// missingNote says what is hatched; "" if nothing is.
func missingNote(all ...*cells) string {
	missing, of := 0, 0
	for _, g := range all {
		missing, of = missing+g.missing(), of+len(g.values)
	}
	if missing == 0 {
		return ""
	}
	return fmt.Sprintf("hatched: %s of %s without a value", show.Count(int64(missing)),
		show.Counted(of, "cell"))
}

func (g *cells) DataRange() (xmin, xmax, ymin, ymax float64) {
	return g.x.start(0), g.x.start(g.columns), g.y.start(0), g.y.start(g.rows())
}

// Plot implements plot.Plotter. The cells are an image, as shapes would make a large file with seams between them.
func (g *cells) Plot(c draw.Canvas, p *plot.Plot) {
	img := image.NewPaletted(image.Rect(0, 0, g.columns, g.rows()), heatPalette)
	for i, x := range g.values {
		img.SetColorIndex(i%g.columns, g.rows()-1-i/g.columns, g.colors.index(x))
	}
	area := g.box(c, p, 0, 0, g.columns, g.rows())
	c.DrawImage(area, img)
	for row := range g.rows() {
		for column := 0; column < g.columns; column++ {
			first := column
			for column < g.columns && math.IsNaN(g.values[row*g.columns+column]) {
				column++
			}
			if column > first {
				hatch(c, g.box(c, p, first, row, column, row+1))
			}
		}
	}
	frame(c, area)
	g.write(c, p)
}

// box returns the area of the cells from one column and row up to another.
func (g *cells) box(c draw.Canvas, p *plot.Plot, column, row, toColumn, toRow int) vg.Rectangle {
	x, y := p.Transforms(&c)
	return vg.Rectangle{Min: vg.Point{X: x(g.x.start(column)), Y: y(g.y.start(row))},
		Max: vg.Point{X: x(g.x.start(toColumn)), Y: y(g.y.start(toRow))}}
}

// hatching is the distance between lines that rise from left to right.
const hatching = vg.Length(5)

// hatch draws an area without values. The lines of neighbours continue each other.
func hatch(c draw.Canvas, area vg.Rectangle) {
	c.SetColor(paper)
	c.Fill(area.Path())
	line := draw.LineStyle{Color: bound, Width: 0.6}
	first := math.Floor(float64((area.Min.Y - area.Max.X) / hatching))
	for up := vg.Length(first) * hatching; up < area.Max.Y-area.Min.X; up += hatching { // y = x + up
		left, right := max(area.Min.X, area.Min.Y-up), min(area.Max.X, area.Max.Y-up)
		if left < right {
			c.StrokeLine2(line, left, left+up, right, right+up)
		}
	}
}

// Colours of letters on cells. They differ from those that pages choose, as cells are the same on dark pages.
var (
	onLight = color.NRGBA{0x14, 0x14, 0x14, 0xff}
	onDark  = color.NRGBA{0xf2, 0xf2, 0xf2, 0xff}
)

// write writes the values in their cells if there is room for all of them.
func (g *cells) write(c draw.Canvas, p *plot.Plot) {
	const gap = 4
	style := textStyle(9)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	size := g.box(c, p, 0, 0, 1, 1).Size()
	if style.FontExtents().Height+gap > size.Y || size.X < gap {
		return
	}
	texts := make([]string, len(g.values))
	for i, x := range g.values {
		if math.IsNaN(x) {
			continue
		}
		texts[i] = g.text(x)
		if style.Width(texts[i])+gap > size.X {
			return
		}
	}
	x, y := p.Transforms(&c)
	for i, text := range texts {
		if text == "" {
			continue
		}
		style.Color = onDark
		if on := heatPalette[g.colors.index(g.values[i])]; color.GrayModel.Convert(on).(color.Gray).Y > 0x80 {
			style.Color = onLight // dark letters are legible
		}
		at := vg.Point{X: x(g.x.at(i % g.columns)), Y: y(g.y.at(i/g.columns)) + style.FontExtents().Descent/2}
		c.FillText(style, at, text)
	}
}

// addCells fills a figure with cells, whose values are told under the mouse.
func (f *Figure) addCells(g *cells) {
	f.Plot.Add(g)
	for _, axis := range []*plot.Axis{&f.Plot.X, &f.Plot.Y} {
		axis.Padding, axis.LineStyle.Width = 0, 0 // the frame of the cells is their line
	}
	told := spotLine{text: func(i int) string {
		value := "no value"
		if x := g.values[i]; isNumber(x) {
			value = g.text(x)
		}
		return fmt.Sprintf("%s %s, %s %s: %s %s", g.x.Label, g.x.name(i%g.columns), g.y.Label, g.y.name(i/g.columns),
			g.label, value)
	}}
	for i := range g.values {
		told.points = append(told.points, plotter.XY{X: g.x.at(i % g.columns), Y: g.y.at(i / g.columns)})
	}
	f.spots.lines = append(f.spots.lines, told)
}
