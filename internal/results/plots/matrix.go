package plots

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/letters"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// mostCells is the most columns and rows of a matrix that are drawn. Larger ones are drawn as means.
const mostCells = 256

// Matrix is a heat map of values at evenly spaced places on two axes.
type Matrix struct {
	Name, Title string
	X, Y        Places
	Label       string    // of the colours
	Unit        axes.Unit // of the values
	Columns     int
	Values      []float64 // row by row from the lowest; NaN where there is none
	Note        string    // what the figure does not show by itself; "" for nothing
}

// Draw draws the matrix as NAME.svg and so on. Blocks of values of a large matrix are drawn as their mean, which a note
// says. It is an UndrawableError if there are no values.
func (m Matrix) Draw(o look.Options, usual ...canvas.Format) (Drawing, error) {
	if m.Columns < 1 || len(m.Values)%m.Columns != 0 {
		return Drawing{}, &UndrawableError{m.Name, fmt.Errorf("%d values in rows of %d: want full rows", len(m.Values),
			m.Columns)}
	}
	note := m.Note
	if wide, high := blocks(m.Columns), blocks(len(m.Values)/m.Columns); wide*high > 1 {
		m = m.averaged(wide, high)
		note = joined(fmt.Sprintf("each cell is the mean of %d by %d values", wide, high), note)
	}
	if !slices.ContainsFunc(m.Values, isNumber) {
		return Drawing{}, &UndrawableError{m.Name, fmt.Errorf("there are no values")}
	}
	colors := axes.NewColorScale(axes.Linear, m.Values)
	f, c := m.figure(o, m.Title, "", colors, 1)
	s := sheet{panels: []*Figure{f}, bar: &colorBar{colors, m.Unit, m.Label}, note: joined(missingNote(c), note),
		options: o}
	return s.render(m.Name, usual)
}

// figure returns the figure of a matrix, a square if both axes have the same places.
func (m Matrix) figure(o look.Options, title, heading string, colors axes.ColorScale, n int) (*Figure, *cells) {
	c := &cells{columns: m.Columns, values: m.Values, x: m.X, y: m.Y, label: m.Label, text: m.Unit.Exact, colors: colors}
	f := newPanel(o, title, heading, m.X.Label, m.Y.Label, n)
	f.addCells(c)
	if m.Columns == c.rows() && m.X.First == m.Y.First && m.X.Step == m.Y.Step {
		f.makeSquare()
	}
	return f, c
}

// blocks returns how many of n values become one, so that at most mostCells remain.
func blocks(n int) int { return (n + mostCells - 1) / mostCells }

// averaged returns a matrix with the means of blocks that are so many values wide and high. Those at the upper and
// right edge may be smaller.
func (m Matrix) averaged(wide, high int) Matrix {
	rows := len(m.Values) / m.Columns
	small := m
	small.Columns = (m.Columns + wide - 1) / wide
	small.X, small.Y = m.X.inBlocks(wide), m.Y.inBlocks(high)
	small.Values = nil
	for top := 0; top < rows; top += high {
		for left := 0; left < m.Columns; left += wide {
			sum, n := 0.0, 0
			for row := top; row < min(top+high, rows); row++ {
				for _, x := range m.Values[row*m.Columns+left : row*m.Columns+min(left+wide, m.Columns)] {
					if !math.IsNaN(x) {
						sum, n = sum+x, n+1
					}
				}
			}
			small.Values = append(small.Values, sum/float64(n)) // NaN for none
		}
	}
	return small
}

// inBlocks returns the middles of blocks of n places.
func (p Places) inBlocks(n int) Places {
	return Places{Label: p.Label, First: p.First + float64(n-1)/2*p.Step, Step: float64(n) * p.Step}
}

// makeSquare makes the plot so narrow that the area of its data is a square.
func (f *Figure) makeSquare() {
	f.square = true
	if f.options.Width > 0 {
		return // its height follows
	}
	for range 2 { // a title that shrinks with the plot leaves it more height
		area := vg.Rectangle{Max: vg.Point{X: f.width - f.yLabelWidth(), Y: f.height - f.xLabelHeight()}}
		data := f.Plot.DataCanvas(draw.Canvas{Rectangle: area}).Size()
		f.width -= data.X - data.Y
		f.setTitle(f.title)
	}
}

// keepSquare makes a figure with a width so high that the area of its data is a square.
func (f *Figure) keepSquare() {
	if !f.square || f.options.Width == 0 {
		return
	}
	for range 2 {
		area := vg.Rectangle{Max: vg.Point{X: f.fullWidth() - f.yLabelWidth(), Y: f.height - f.xLabelHeight()}}
		data := f.Plot.DataCanvas(draw.Canvas{Rectangle: area}).Size()
		f.height += data.X - data.Y
	}
}

// LabelsOverTime is a heat map of a series whose labels are numbers: a column for each time and a row for each label.
type LabelsOverTime struct {
	Name           string // of the series: "query_cosines"
	File           string // without its ending
	Title          string
	XLabel, YLabel string                  // "" for what the rows count
	Rows           map[string][]series.Row // by cell
	Options        look.Options
}

// Draw draws the series as FILE.svg and so on, a panel for each record; without a format it only returns the error.
// Records without rows of that name are left out. It is an UndrawableError if all are, if a label is not a number, or
// if several records are of one trace.
func (f LabelsOverTime) Draw(recs []records.Record, usual ...canvas.Format) (Drawing, error) {
	s, err := f.sheet(recs)
	return drawn(f.File, f.Options, s, err, usual)
}

func (f LabelsOverTime) sheet(recs []records.Record) (*sheet, error) {
	var found []Matrix
	var traces []string
	var values []float64
	for i := range recs {
		m, err := f.matrix(f.Rows[recs[i].Cell])
		switch {
		case err != nil:
			return nil, err
		case m.Columns == 0:
			continue
		case slices.Contains(traces, recs[i].Trace):
			return nil, fmt.Errorf("several records of %s have the series; choose one with only", recs[i].Trace)
		}
		m.X.Label, m.Y.Label, m.Label = f.XLabel, f.YLabel, records.AxisName(f.Name)
		if clock := axes.ClockOf(recs, m.X.at(m.Columns-1)); m.X.Label == "" && clock.From == nil {
			m.X.Label, m.X.First, m.X.Step = clock.Label, m.X.First/clock.Unit, m.X.Step/clock.Unit
		} else if m.X.Label == "" {
			m.X.Label = "seconds since the first request"
		}
		found, traces, values = append(found, m), append(traces, recs[i].Trace), append(values, m.Values...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no record has a series of %s", f.Name)
	}
	colors := axes.NewColorScale(axes.Linear, values)
	s := &sheet{title: f.Title, bar: &colorBar{colors, unitOf(f.Name), records.AxisName(f.Name)}}
	var all []*cells
	for i, m := range found {
		figure, c := m.figure(f.Options, f.Title+": "+traces[i], traces[i], colors, len(found))
		s.panels, all = append(s.panels, figure), append(all, c)
	}
	s.note = joined(missingNote(all...), s.scalesNote())
	return s, nil
}

// matrix returns the values of the rows that have the figure's name; one without columns for none.
func (f LabelsOverTime) matrix(rows []series.Row) (m Matrix, err error) {
	var times, labels []float64
	for _, row := range rows {
		if row.Name != f.Name {
			continue
		}
		label, err := strconv.ParseFloat(row.Label, 64)
		if err != nil {
			return m, fmt.Errorf("the series %s has the label %q, which is not a number", f.Name, row.Label)
		}
		times, labels = append(times, row.Time), append(labels, label)
	}
	columns, onX, err := evenly(times)
	if err != nil {
		return m, fmt.Errorf("times of %s: %w", f.Name, err)
	}
	lines, onY, err := evenly(labels)
	if err != nil {
		return m, fmt.Errorf("labels of %s: %w", f.Name, err)
	}
	m = Matrix{X: onX, Y: onY, Columns: len(columns)}
	m.Values = slices.Repeat([]float64{math.NaN()}, len(columns)*len(lines))
	at := 0
	for _, row := range rows {
		if row.Name == f.Name {
			column, _ := slices.BinarySearch(columns, times[at])
			line, _ := slices.BinarySearch(lines, labels[at])
			m.Values[line*len(columns)+column] = row.Value
			at++
		}
	}
	return m, nil
}

// evenly returns the different numbers in ascending order, which are to be equally far apart.
func evenly(numbers []float64) (ascending []float64, on Places, err error) {
	ascending = slices.Clone(numbers)
	slices.Sort(ascending)
	ascending = slices.Compact(ascending)
	on.Step = 1
	if len(ascending) > 1 {
		on.Step = ascending[1] - ascending[0]
	}
	for i, x := range ascending {
		if i == 0 {
			on.First = x
		} else if step := x - ascending[i-1]; step != on.Step {
			return nil, on, fmt.Errorf("%v and %v are %v apart, others %v; want equal distances", ascending[i-1], x, step,
				on.Step)
		}
	}
	return ascending, on, nil
}

// cells are the coloured cells of a heat map. A cell without a value is hatched. If there is room, values are written
// in their cells. It implements plot.DataRanger.
type cells struct {
	columns int
	values  []float64 // row by row from the lowest; NaN where there is none
	x, y    Places
	colors  axes.ColorScale
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
		return axes.Short(p.at(cell))
	}
	return p.names[cell]
}

func (g *cells) rows() int { return len(g.values) / g.columns }

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
	img := image.NewPaletted(image.Rect(0, 0, g.columns, g.rows()), axes.HeatPalette)
	for i, x := range g.values {
		img.SetColorIndex(i%g.columns, g.rows()-1-i/g.columns, g.colors.Index(x))
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
	rising(c, area, draw.LineStyle{Color: bound, Width: 0.6})
}

// rising draws the lines of hatching that rise from left to right.
func rising(c draw.Canvas, area vg.Rectangle, line draw.LineStyle) {
	first := math.Floor(float64((area.Min.Y - area.Max.X) / hatching))
	for up := vg.Length(first) * hatching; up < area.Max.Y-area.Min.X; up += hatching { // y = x + up
		left, right := max(area.Min.X, area.Min.Y-up), min(area.Max.X, area.Max.Y-up)
		if left < right {
			c.StrokeLine2(line, left, left+up, right, right+up)
		}
	}
}

// falling draws those that fall.
func falling(c draw.Canvas, area vg.Rectangle, line draw.LineStyle) {
	first := math.Floor(float64((area.Min.Y + area.Min.X) / hatching))
	for up := vg.Length(first) * hatching; up < area.Max.Y+area.Max.X; up += hatching { // y = up - x
		left, right := max(area.Min.X, up-area.Max.Y), min(area.Max.X, up-area.Min.Y)
		if left < right {
			c.StrokeLine2(line, left, up-left, right, up-right)
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
	style := letters.Style(9)
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
		if on := axes.HeatPalette[g.colors.Index(g.values[i])]; color.GrayModel.Convert(on).(color.Gray).Y > 0x80 {
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

// Room of a colour bar.
const (
	colorBarWidth = vg.Length(12)
	colorTick     = vg.Length(4)
	colorBarMost  = 2 * plotHeight // its height, at most
)

// colorBar says which values the colours of a heat map mean.
type colorBar struct {
	axes.ColorScale
	unit  axes.Unit
	label string
}

func (b *colorBar) ticks() []plot.Tick {
	return axes.Ticker{Scale: b.Scale, Unit: b.unit}.Ticks(b.Low, b.High)
}

// width is the room that the bar takes beside a plot.
func (b *colorBar) width() vg.Length {
	widest := vg.Length(0)
	for _, t := range b.ticks() {
		widest = max(widest, letters.Style(10).Width(t.Label))
	}
	return margin + colorBarWidth + colorTick + 2 + widest + margin/2 + letters.Style(11).FontExtents().Height
}

// draw draws the bar on the right of an area.
func (b *colorBar) draw(c draw.Canvas, beside vg.Rectangle) {
	beside.Min.Y = max(beside.Min.Y, beside.Max.Y-colorBarMost)
	bar := vg.Rectangle{Min: vg.Point{X: beside.Max.X + margin, Y: beside.Min.Y}}
	bar.Max = vg.Point{X: bar.Min.X + colorBarWidth, Y: beside.Max.Y}
	colors := image.NewPaletted(image.Rect(0, 0, 1, axes.HeatColors), axes.HeatPalette)
	for i := range axes.HeatColors {
		colors.Pix[axes.HeatColors-1-i] = uint8(i)
	}
	c.DrawImage(bar, colors)
	frame(c, bar)
	style := letters.Style(10)
	style.YAlign = draw.YCenter
	for _, t := range b.ticks() {
		length := colorTick
		if t.IsMinor() {
			length /= 2
		}
		y := bar.Min.Y + vg.Length(b.Norm(t.Value))*(bar.Max.Y-bar.Min.Y)
		c.StrokeLine2(thin(), bar.Max.X, y, bar.Max.X+length, y)
		c.FillText(style, vg.Point{X: bar.Max.X + colorTick + 2, Y: y + style.FontExtents().Descent/2}, t.Label)
	}
	label, style := letters.Fitted(b.label, letters.Style(11), max(bar.Max.Y-bar.Min.Y, plotHeight/2))
	style.Rotation, style.XAlign = math.Pi/2, draw.XCenter
	right := bar.Min.X + b.width() - margin - style.FontExtents().Descent
	c.FillText(style, vg.Point{X: right, Y: (bar.Min.Y + bar.Max.Y) / 2}, label)
}

// thin is the line around colours, which may be those of the page.
func thin() draw.LineStyle { return draw.LineStyle{Color: ink, Width: 0.5} }

// frame draws a line around an area of colours.
func frame(c draw.Canvas, area vg.Rectangle) {
	c.StrokeLines(thin(), []vg.Point{area.Min, {X: area.Max.X, Y: area.Min.Y}, area.Max, {X: area.Min.X, Y: area.Max.Y},
		area.Min})
}
