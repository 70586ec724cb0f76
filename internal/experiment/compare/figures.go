package compare

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// mostDrawn is how many rows a figure has: more cannot be told apart.
const mostDrawn = 60

// Figures draws the differences of each comparison with their intervals, and for each capacity the reductions.
func (c *Comparison) Figures() (drawn []plots.Drawing, err error) {
	for i := range c.Versus {
		name := "difference"
		if len(c.Versus) > 1 {
			name = fmt.Sprintf("difference_%d", i+1)
		}
		d, err := c.drawDifferences(&c.Versus[i], name)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	if c.Reductions == nil {
		return drawn, nil
	}
	for _, rows := range c.Reductions.byCapacity() {
		d, err := c.Reductions.draw(rows)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	return drawn, nil
}

func (c *Comparison) drawDifferences(v *Versus, name string) (plots.Drawing, error) {
	label, scale := fmt.Sprintf("%s, %s − %s", c.quantity.Label(), v.New, v.Old), 1.0
	if c.quantity.Unit == metric.Share {
		label, scale = label+" (percentage points)", 100
	}
	title := fmt.Sprintf("%s: %s against %s, %s", sentence(c.quantity.Label()), v.New, v.Old, v.over())
	if v.hasIntervals() {
		label += ", with 95% intervals"
	}
	rows := v.Rows[:min(mostDrawn, len(v.Rows))]
	if len(rows) < len(v.Rows) {
		title += fmt.Sprintf(", the first %d rows", len(rows))
	}
	var b boxes
	var names []string
	for i, r := range slices.Backward(rows) {
		x, margin := r.Difference, r.Margin.orZero()
		b.rows = append(b.rows, box{low: scale * (x - margin), high: scale * (x + margin), dot: scale * x,
			color: colorOf(v.recordOf(rows[i])), empty: true})
		names = append(names, v.rowName(r))
	}
	f := plots.New(title, label, "")
	f.AddRows(&b, names)
	return f.Draw(name, plots.SVG, plots.PNG)
}

// recordOf returns a record at the places of a row.
func (v *Versus) recordOf(r Row) *records.Record {
	at := slices.IndexFunc(v.Cells, func(c Cell) bool { return slices.Equal(c.Places, r.Places) })
	return v.Cells[at].Record
}

// rowName names a row by its places: the policy first.
func (v *Versus) rowName(r Row) string {
	var first, others []string
	for i, d := range v.Dimensions {
		if d == records.DimPolicy {
			first = append(first, r.Places[i])
		} else {
			others = append(others, r.Places[i])
		}
	}
	return strings.Join(append(first, others...), " at ")
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (r *Reductions) byCapacity() [][]Reduction {
	return records.GroupBy(r.Rows, func(row Reduction) string { return row.Capacity })
}

// draw draws the distributions at one capacity, the largest mean on top.
func (r *Reductions) draw(rows []Reduction) (plots.Drawing, error) {
	capacity := rows[0].Capacity
	title := fmt.Sprintf("%s at %s, %s", sentence(r.Title), capacity, r.tracesText(rows))
	if len(rows) > mostDrawn {
		title += fmt.Sprintf(", the %d largest means", mostDrawn)
		rows = rows[:mostDrawn]
	}
	var b boxes
	var names []string
	for _, row := range slices.Backward(rows) {
		p := row.Percentiles
		b.rows = append(b.rows, box{low: p[0], from: p[1], middle: p[2], to: p[3], high: p[4], dot: row.Mean,
			color: colorOf(row.record)})
		name := row.name()
		if r.runs > 1 {
			name += " in " + row.Run
		}
		names = append(names, name)
	}
	f := plots.New(title, "whiskers: P10 to P90, box: P25 to P75, line: median, dot: mean", "")
	f.SetX(plots.Linear, plots.Percent)
	f.AddRows(&b, names)
	return f.Draw("reduction_at_"+fileName(capacity), plots.SVG, plots.PNG)
}

// fileName replaces what not every file system has in names.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.':
			return r
		case r == '%':
			return 'p'
		}
		return '_'
	}, text)
}

// colorOf is the colour that the policy has in all figures.
func colorOf(r *records.Record) color.NRGBA {
	return plots.PolicyStyle(r.Policy, r.Label, r.Kind).Color
}

// box is a distribution on a row: whiskers from low to high, a box with a line in its middle, and a dot.
type box struct {
	low, from, middle, to, high, dot float64
	color                            color.NRGBA
	empty                            bool // there are only whiskers and the dot
}

// boxes are distributions on rows, the first at the bottom. It implements plot.Plotter and plot.DataRanger.
type boxes struct{ rows []box }

const (
	boxShare = 0.6          // of the height of a row that its box fills
	capShare = 0.15         // of the height of a row, half the length of the end of a whisker
	dotSize  = vg.Length(3) // radius
)

func (b *boxes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	zero := draw.LineStyle{Color: color.Gray{0x80}, Width: 0.8}
	c.StrokeLine2(zero, x(0), c.Min.Y, x(0), c.Max.Y)
	row := y(1) - y(0)
	for i, r := range b.rows {
		r.draw(c, x, y(float64(i)), row)
	}
}

func (r box) draw(c draw.Canvas, x func(float64) vg.Length, middle, row vg.Length) {
	whisker := draw.LineStyle{Color: r.color, Width: 1.2}
	if r.high > r.low {
		c.StrokeLine2(whisker, x(r.low), middle, x(r.high), middle)
		for _, end := range []float64{r.low, r.high} {
			c.StrokeLine2(whisker, x(end), middle-row*capShare, x(end), middle+row*capShare)
		}
	}
	if !r.empty {
		half := row * boxShare / 2
		c.SetColor(pale(r.color))
		area := vg.Rectangle{Min: vg.Point{X: x(r.from), Y: middle - half}, Max: vg.Point{X: x(r.to), Y: middle + half}}
		c.Fill(area.Path())
		c.SetColor(r.color)
		c.SetLineWidth(whisker.Width)
		c.Stroke(area.Path())
		c.StrokeLine2(draw.LineStyle{Color: r.color, Width: 2}, x(r.middle), middle-half, x(r.middle), middle+half)
	}
	c.DrawGlyph(draw.GlyphStyle{Color: r.color, Radius: dotSize, Shape: draw.CircleGlyph{}},
		vg.Point{X: x(r.dot), Y: middle})
}

// pale returns a light shade of a colour, on white.
func pale(c color.NRGBA) color.NRGBA {
	const share = 5 // of the colour, a fifth
	light := func(x uint8) uint8 { return uint8((int(x) + (share-1)*0xff) / share) }
	return color.NRGBA{light(c.R), light(c.G), light(c.B), 0xff}
}

// DataRange includes 0, from which a reader sees which way a difference goes.
func (b *boxes) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, r := range b.rows {
		xmin, xmax = math.Min(xmin, math.Min(r.low, r.dot)), math.Max(xmax, math.Max(r.high, r.dot))
	}
	if xmin == xmax {
		xmax = 1 // everything is equal
	}
	return xmin, xmax, 0, float64(len(b.rows) - 1)
}

// GlyphBoxes implements plot.GlyphBoxer: room for the dots at the edges.
func (b *boxes) GlyphBoxes(p *plot.Plot) (all []plot.GlyphBox) {
	for i, r := range b.rows {
		for _, at := range []float64{min(r.low, r.dot), max(r.high, r.dot)} {
			all = append(all, plot.GlyphBox{X: p.X.Norm(at), Y: p.Y.Norm(float64(i)),
				Rectangle: vg.Rectangle{Min: vg.Point{X: -2 * dotSize}, Max: vg.Point{X: 2 * dotSize}}})
		}
	}
	return all
}
