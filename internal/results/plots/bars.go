package plots

import (
	"image/color"
	"math"

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
	label    string // its value, "" for none
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
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, r := range b.bars {
		grouped(c, r.line, func() {
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
		c.SetColor(r.color)
		c.Fill(vg.Rectangle{Min: at(from, middle-half), Max: at(max(to, from+barLeast), middle+half)}.Path())
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
		c.DrawGlyph(dot(r.color), at(along(r.end), middle))
	}
	style := b.style
	style.Color, style.YAlign = ink, draw.YCenter
	if r.label != "" {
		c.FillText(style, vg.Point{X: along(b.reach(r)) + b.labelSkip(r), Y: middle + style.FontExtents().Descent/2}, r.label)
	}
}

// whisker has the strokes of an interval: black on white, to be seen on its bar and beside it.
var whisker = []draw.LineStyle{{Color: paper, Width: 3}, {Color: ink, Width: 1}}

// dot is a value on a logarithmic axis.
func dot(c color.NRGBA) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: 3.6, Shape: draw.CircleGlyph{}}
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
