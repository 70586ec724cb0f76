package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/letters"
)

const (
	labelWidth    = 3 * vg.Inch // of a name in the legend, at most
	legendGap     = vg.Length(14)
	thumbWidth    = vg.Length(30)
	maxLegendRows = 40 // above which a legend beside a plot gets another column
)

// legend names the lines and marks, in one or more columns.
type legend struct {
	style   text.Style
	entries []legendEntry
	most    vg.Length // width of a column, at most; 0 for no limit
}

type legendEntry struct {
	label  string
	thumbs []plot.Thumbnailer
	strong bool
}

func newLegend() legend { return legend{style: letters.Style(10)} }

func (l *legend) add(label string, thumbs ...plot.Thumbnailer) {
	l.entries = append(l.entries, legendEntry{label: label, thumbs: thumbs})
}

// addLine adds a line; those that are strong come before the others.
func (l *legend) addLine(line Line) {
	at := len(l.entries)
	if line.Style.Strong {
		at = max(0, slices.IndexFunc(l.entries, func(e legendEntry) bool { return !e.strong }))
	}
	l.entries = slices.Insert(l.entries, at, legendEntry{line.Label, []plot.Thumbnailer{line}, line.Style.Strong})
}

// columnsFor returns the number of columns that make at most that many rows.
func (l *legend) columnsFor(rows int) int { return (len(l.entries) + rows - 1) / rows }

// columnsWithin returns the largest number of columns that fit into a width, at least 1.
func (l *legend) columnsWithin(width vg.Length) int {
	for n := len(l.entries); n > 1; n-- {
		if l.size(n).X <= width {
			return n
		}
	}
	return 1
}

// columns splits the entries, filling one column after the other.
func (l *legend) columns(n int) []plot.Legend {
	var columns []plot.Legend
	if len(l.entries) == 0 {
		return nil
	}
	room := labelWidth
	if l.most > 0 {
		room = min(room, l.most-thumbWidth-4)
	}
	for part := range slices.Chunk(l.entries, (len(l.entries)+n-1)/n) {
		column := plot.NewLegend()
		column.Left, column.Top = true, true
		column.TextStyle = l.style
		column.ThumbnailWidth = thumbWidth
		column.Padding = 2
		for _, e := range part {
			column.Add(letters.Shorten(e.label, l.style, room), e.thumbs...)
		}
		columns = append(columns, column)
	}
	return columns
}

// size returns the room that the legend takes in n columns.
func (l *legend) size(n int) vg.Point {
	var size vg.Point
	for i, column := range l.columns(n) {
		one := column.Rectangle(draw.Canvas{}).Size()
		if i > 0 {
			size.X += legendGap
		}
		size.X += one.X
		// gonum does not measure descenders of the last line.
		size.Y = max(size.Y, one.Y+2*l.style.FontExtents().Descent)
	}
	return size
}

// draw draws the legend in n columns from the upper left corner of the canvas.
func (l *legend) draw(c draw.Canvas, n int) {
	for _, column := range l.columns(n) {
		column.Draw(c)
		c.Min.X += column.Rectangle(draw.Canvas{}).Size().X + legendGap
	}
}

// below returns the room of a legend below plots of that width, with the gap above it; nothing for none.
func (l *legend) below(width vg.Length) (size vg.Point) {
	if size = l.size(l.columnsWithin(width)); size.Y > 0 {
		size.Y += margin
	}
	return size
}

// drawBelow draws the legend in the middle of the lower edge of an area, from which it cuts that.
func (l *legend) drawBelow(c *draw.Canvas) {
	width := c.Max.X - c.Min.X
	size := l.below(width)
	if size.Y == 0 {
		return
	}
	area := *c
	area.Max.Y = c.Min.Y + size.Y - margin
	area.Min.X += max(0, (width-size.X)/2)
	l.draw(area, l.columnsWithin(width))
	c.Min.Y += size.Y
}

const (
	endLabelWidth = 1.3 * vg.Inch // of a name, at most
	endLeader     = vg.Length(14) // from the end of the axis to the name
	endGap        = vg.Length(2)  // between the leader and the name
)

// endLabels writes the names of lines at their ends, on the right of the plot and one below the other. It implements
// plot.Plotter.
type endLabels struct {
	style  text.Style
	labels []endLabel
	most   vg.Length // width of a name; 0 for endLabelWidth
}

type endLabel struct {
	x, y float64 // the end of the line
	name string
}

func (e *endLabels) add(x, y float64, name string) {
	e.labels = append(e.labels, endLabel{x, y, letters.Shorten(name, e.style, cmp.Or(e.most, endLabelWidth))})
}

// pitch is the distance from one name to the next, at least.
func (e *endLabels) pitch() vg.Length { return e.style.FontExtents().Height }

// height is the room that the names need one below the other.
func (e *endLabels) height() vg.Length { return vg.Length(len(e.labels)) * e.pitch() }

// width is the room that they need next to the plot.
func (e *endLabels) width() vg.Length {
	widest := vg.Length(0)
	for _, l := range e.labels {
		widest = max(widest, e.style.Width(l.name))
	}
	if widest == 0 {
		return 0
	}
	return endLeader + endGap + widest
}

func (e *endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	labels := slices.Clone(e.labels)
	// in 64ths of a point, so that lines that end together keep their order
	slices.SortStableFunc(labels, func(a, b endLabel) int { return int(y(b.y)*64) - int(y(a.y)*64) })
	wanted := make([]vg.Length, len(labels))
	for i, l := range labels {
		wanted[i] = y(l.y)
	}
	style := e.style
	style.YAlign, style.Color = draw.YCenter, fadedText
	line := draw.LineStyle{Color: faded, Width: 0.5}
	for i, at := range spread(wanted, e.pitch(), c.Min.Y, c.Max.Y) {
		end := vg.Point{X: x(labels[i].x), Y: wanted[i]}
		name := vg.Point{X: c.Max.X + endLeader, Y: at}
		c.StrokeLines(line, []vg.Point{end, {X: max(end.X, c.Max.X), Y: end.Y}, name})
		c.FillText(style, vg.Point{X: name.X + endGap, Y: name.Y + style.FontExtents().Descent/2}, labels[i].name)
	}
}

// GlyphBoxes implements plot.GlyphBoxer: room for the names.
func (e *endLabels) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: e.width()}}}}
}

// spread moves descending places apart, to at least a pitch from each other, and keeps them between low and high.
// Where there is too little room for all, the first ones are above high.
func spread(wanted []vg.Length, pitch, low, high vg.Length) []vg.Length {
	at := slices.Clone(wanted)
	for i := range at {
		ceiling := high
		if i > 0 {
			ceiling = at[i-1] - pitch
		}
		at[i] = min(at[i], ceiling)
	}
	for i := len(at) - 1; i >= 0; i-- {
		floor := low
		if i < len(at)-1 {
			floor = at[i+1] + pitch
		}
		at[i] = max(at[i], floor)
	}
	return at
}

const markRadius = vg.Length(4.2) // larger than the markers of lines, which then stay visible inside

var roomOfMark = vg.Rectangle{Min: vg.Point{X: -markRadius, Y: -markRadius},
	Max: vg.Point{X: markRadius, Y: markRadius}}

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

// mostSpots is how many points of a plot say their values. If it has more, every n-th of each line does, and its last.
const mostSpots = 400

// spots show the values of the points of all lines of a figure. They are above everything else, so that the mouse finds
// them.
type spots struct {
	figure *Figure
	lines  []spotLine
}

type spotLine struct {
	name   string
	points plotter.XYs
	text   func(point int) string // what a point means; nil for what valueText says
}

func (s *spots) add(name string, points ...plotter.XY) {
	s.lines = append(s.lines, spotLine{name: name, points: points})
}

// draw draws the spots on the canvas that the figure was drawn on.
func (s *spots) draw(plotted draw.Canvas) {
	svg := canvas.SVGOf(plotted)
	if svg == nil {
		return
	}
	step := s.step()
	area := s.figure.Plot.DataCanvas(plotted)
	x, y := s.figure.Plot.Transforms(&area)
	for _, l := range s.lines {
		canvas.Grouped(area, l.name, func() {
			for i, p := range l.points {
				if i%step == 0 || i == len(l.points)-1 {
					svg.Spot(vg.Point{X: x(p.X), Y: y(p.Y)}, s.text(l, i))
				}
			}
		})
		svg.Points += len(l.points)
	}
}

func (s *spots) text(l spotLine, point int) string {
	if l.text != nil {
		return show.Printable(l.text(point))
	}
	return s.figure.valueText(l.name, l.points[point])
}

// step returns the distance on a line between two points that say their values.
func (s *spots) step() int {
	all := 0
	for _, l := range s.lines {
		all += len(l.points)
	}
	if all <= mostSpots {
		return 1
	}
	most := max(mostSpots-len(s.lines), 1) // the last points come on top
	return (all + most - 1) / most
}

// valueText says what a point means: "lru, capacity (objects) 1,000: hit ratio 47.12%".
func (f *Figure) valueText(line string, p plotter.XY) string {
	place := f.xUnit.Exact(p.X)
	if !f.from.IsZero() {
		place = f.from.Add(time.Duration(p.X * float64(time.Second))).Format(time.DateTime)
	}
	if f.xNames != nil {
		i := min(max(int(math.Round(p.X)), 0), len(f.xNames)-1)
		place = f.xNames[i]
	}
	text := fmt.Sprintf("%s %s: %s %s", f.xLabel, place, f.yLabel, f.yUnit.Exact(p.Y))
	if line != "" {
		text = line + ", " + text
	}
	return show.Printable(text)
}
