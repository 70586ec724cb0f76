// Package plots draws figures in one style.
// The same input gives the same bytes.
package plots

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/letters"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

const (
	plotWidth  = 6.2 * vg.Inch // without the legend
	plotHeight = 4.4 * vg.Inch
	margin     = vg.Length(10)
	pngDPI     = 150
	paperDPI   = 300 // of figures with a width
)

// Figure is one plot with its legend next to it. Use New, set the axes, add lines, then Draw.
type Figure struct {
	Plot     *plot.Plot // for what Figure has no method for, except that the labels of the axes are in xLabel and yLabel
	xLabel   string     // both drawn here: gonum makes room for them in the wrong place of a logarithmic axis
	yLabel   string
	title    string // in full
	xUnit    axes.Unit
	yUnit    axes.Unit
	from     time.Time // 0 on the horizontal axis, if that has dates
	xNames   []string  // of the places 0, 1, 2 on the horizontal axis, where these are no numbers
	barNames bool      // the vertical axis has the names of bars
	spots    *spots
	bands    *bands
	ends     *endLabels
	legend   legend
	bar      *colorBar // of a heat map
	heading  string    // of a panel, instead of a title
	note     string    // below the plot
	width    vg.Length // of the plot, without the legend
	height   vg.Length
	least    vg.Length // that names need in the height
	rows     []string  // names of bars, in full
	square   bool      // the area of the data is a square
	options  look.Options
	// the range of all confidence intervals, if lowest < highest
	lowest, highest float64
	err             error // of the first line that was refused
}

// New returns an empty figure with linear axes of plain numbers.
func New(title, xLabel, yLabel string) *Figure {
	return newFigure(title, xLabel, yLabel, plotWidth, plotHeight)
}

// newPanel returns a figure, or one of n panels with a heading instead of the title.
func newPanel(o look.Options, title, heading, xLabel, yLabel string, n int) *Figure {
	if n == 1 {
		f := New(title, xLabel, yLabel)
		f.fit(o, o.Inner())
		return f
	}
	f := newFigure("", xLabel, yLabel, panelWidth, panelHeight)
	f.heading = heading
	f.fit(o, widthOfPanel(o, n, o.Inner()))
	return f
}

// fit gives a figure a width, unless that is 0, and what follows from it: how many labels have room, and where names
// end.
func (f *Figure) fit(o look.Options, width vg.Length) {
	f.options = o
	if o.NoTitle {
		f.title, f.Plot.Title.Text = "", ""
	}
	if width == 0 {
		return
	}
	f.height *= width / f.width
	f.width = width
	f.legend.most, f.ends.most = width, width/3
	if f.title != "" {
		f.setTitle(f.title)
	}
	for _, axis := range []*plot.Axis{&f.Plot.X, &f.Plot.Y} {
		if t, ok := axis.Tick.Marker.(axes.Ticker); ok {
			t.Most = f.labelsAlong(axis)
			axis.Tick.Marker = t
		}
	}
	if f.barNames {
		f.nameRows()
	}
}

// labelsAlong is how many labels fit along an axis; 0 for as many as usual.
func (f *Figure) labelsAlong(axis *plot.Axis) int {
	switch {
	case f.options.Width == 0 && f.heading != "" && axis == &f.Plot.X && f.xUnit == axes.Bytes:
		return panelLabels - 1 // 512 MiB is longer than 512
	case f.options.Width == 0 && f.heading != "" && axis == &f.Plot.X:
		return panelLabels
	case f.options.Width == 0:
		return 0
	case axis == &f.Plot.X:
		return min(max(int(axisShare*(f.width-f.ends.width())/labelPitch), 3), axes.MaxLabels)
	}
	return min(max(int((f.height-labelPitch)/linePitch), 4), axes.MaxLabels)
}

func newFigure(title, xLabel, yLabel string, width, height vg.Length) *Figure {
	f := &Figure{
		Plot: plot.New(), bands: &bands{}, legend: newLegend(), ends: &endLabels{style: letters.Style(8)}, width: width,
		height: height,
	}
	p := f.Plot
	p.Title.TextStyle.Font = letters.Sans(12)
	p.Title.Padding = 8
	f.setTitle(title)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = letters.Sans(11)
		axis.Label.Padding = 4
		axis.Tick.Label.Font = letters.Sans(10)
	}
	f.xLabel, f.yLabel, f.spots = xLabel, yLabel, &spots{figure: f}
	f.SetX(axes.Linear, axes.Number)
	f.SetY(axes.Linear, axes.Number)
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = grid, grid
	p.Add(lines, f.bands, f.ends)
	return f
}

func (f *Figure) setTitle(title string) {
	f.title = title
	p := f.Plot
	if p.Title.TextStyle.Font = letters.Sans(12); f.options.Width > 0 {
		// in the middle of the plot without the label of its axis
		p.Title.Text = letters.Wrapped(title, p.Title.TextStyle, f.width-f.yLabelWidth())
		return
	}
	p.Title.Text, p.Title.TextStyle = letters.Fitted(title, p.Title.TextStyle, f.width)
}

// SetX sets the scale of the horizontal axis and the unit that its values are in.
func (f *Figure) SetX(s axes.Scale, u axes.Unit) {
	f.xUnit = u
	setAxis(&f.Plot.X, s, u, f.labelsAlong(&f.Plot.X))
}

// SetY sets the scale of the vertical axis and the unit that its values are in.
func (f *Figure) SetY(s axes.Scale, u axes.Unit) {
	f.yUnit = u
	setAxis(&f.Plot.Y, s, u, f.labelsAlong(&f.Plot.Y))
}

func setAxis(a *plot.Axis, s axes.Scale, u axes.Unit, most int) {
	a.Scale = plot.LinearScale{}
	if s == axes.Log {
		a.Scale = plot.LogScale{}
	}
	a.Tick.Marker = axes.Ticker{Scale: s, Unit: u, Most: most}
}

// Draw draws the figure as NAME.svg and so on, in these formats unless the options have others. It is an
// UndrawableError if a line was refused, or if there is nothing that the axes can show.
func (f *Figure) Draw(name string, o look.Options, usual ...canvas.Format) (Drawing, error) {
	f.fit(o, o.Inner())
	f.setLog()
	return (&sheet{panels: []*Figure{f}, options: o}).render(name, usual)
}

// setLog makes axes as logarithmic as the options say, where they have numbers above 0.
func (f *Figure) setLog() {
	if f.options.Log == "" {
		return
	}
	var notes []string
	for _, of := range []struct {
		name   string
		axis   *plot.Axis
		unit   axes.Unit
		values bool
	}{{"x", &f.Plot.X, f.xUnit, f.xNames == nil && f.from.IsZero()}, {"y", &f.Plot.Y, f.yUnit, !f.barNames}} {
		switch {
		case !of.values || of.axis.Min > of.axis.Max:
		case !f.options.InLog(of.name, false):
			setAxis(of.axis, axes.Linear, of.unit, f.labelsAlong(of.axis))
		case of.axis.Min <= 0:
			notes = append(notes, fmt.Sprintf("the %s axis has values at 0, and is not logarithmic", of.name))
		default:
			setAxis(of.axis, axes.Log, of.unit, f.labelsAlong(of.axis))
		}
	}
	f.note = joined(append([]string{f.note}, notes...)...)
}

// check rejects values for which gonum would panic, and widens a range that is a point.
func (f *Figure) check() error {
	return cmp.Or(f.err, checkRange(f.xLabel, &f.Plot.X), checkRange(f.yLabel, &f.Plot.Y))
}

func checkRange(label string, axis *plot.Axis) error {
	if axis.Min > axis.Max {
		return errors.New("there is nothing to draw")
	}
	if _, log := axis.Scale.(plot.LogScale); !log {
		return nil
	}
	if axis.Min <= 0 {
		return fmt.Errorf("the value %g cannot be shown on the logarithmic axis %q", axis.Min, label)
	}
	if axis.Min == axis.Max {
		axis.Min, axis.Max = axis.Min/2, axis.Max*2
	}
	return nil
}

// size returns the size of the whole figure: the plot and, next to it or below, the legend.
func (f *Figure) size() (width, height vg.Length) {
	m := 2 * f.options.Margin()
	if inner := f.options.Inner(); inner > 0 {
		return inner + m, f.plotHeight() + f.legendHeight() + noteHeight(f.note, inner) + m
	}
	legend := f.legend.size(f.legend.columnsFor(maxLegendRows))
	width = f.fullWidth() + m
	height = max(f.plotHeight()+noteHeight(f.note, f.fullWidth()), legend.Y) + m
	if legend.X > 0 {
		width += legend.X + margin
	}
	if f.bar != nil {
		width += f.bar.width()
	}
	return width, height
}

// fullWidth is the width of the plot with the names at the ends of its lines.
func (f *Figure) fullWidth() vg.Length {
	if inner := f.options.Inner(); inner > 0 && f.heading == "" {
		if f.bar != nil {
			inner -= f.bar.width()
		}
		return inner
	}
	return f.width + f.ends.width()
}

// plotHeight is the height of the plot, without a legend below.
func (f *Figure) plotHeight() vg.Length {
	o := f.options
	switch {
	case o.Height > 0 && f.heading == "":
		rest := f.legendHeight() + noteHeight(f.note, o.Inner()) + 2*o.Margin()
		return max(o.Height/o.Scale()-rest, f.least, vg.Inch)
	case o.Width > 0 && f.barNames:
		return f.least
	}
	// of a title of several lines
	more := letters.Style(12).FontExtents().Height * vg.Length(strings.Count(f.Plot.Title.Text, "\n"))
	return max(f.height, f.least) + more
}

// legendHeight is the room of a legend below the plot.
func (f *Figure) legendHeight() vg.Length {
	if f.options.Width == 0 {
		return 0
	}
	return f.legend.below(f.options.Inner()).Y
}

func noteHeight(note string, width vg.Length) vg.Length {
	if note == "" {
		return 0
	}
	lines := strings.Count(letters.Wrapped(note, noteStyle(), width), "\n")
	return noteStyle().FontExtents().Height*vg.Length(lines+1) + margin
}

func (f *Figure) draw(c draw.Canvas) {
	inner := blank(c, f.options.Margin())
	plotArea := inner
	if f.options.Width > 0 {
		drawNote(inner, f.note)
		plotArea.Min.Y += noteHeight(f.note, f.options.Inner())
		f.legend.drawBelow(&plotArea)
		plotArea.Max.X = plotArea.Min.X + f.fullWidth()
	} else {
		plotArea.Max.X = plotArea.Min.X + f.fullWidth()
		drawNote(plotArea, f.note)
		plotArea.Min.Y += noteHeight(f.note, f.fullWidth())
	}
	plotted := f.drawPlot(plotArea)
	if f.bar != nil {
		f.bar.draw(inner, plotted)
	}
	if f.options.Width == 0 {
		legendArea := inner
		legendArea.Min.X = plotArea.Max.X + margin
		f.legend.draw(legendArea, f.legend.columnsFor(maxLegendRows))
	}
}

// blank makes the canvas white and returns the area within its margins.
func blank(c draw.Canvas, margin vg.Length) draw.Canvas {
	c.SetColor(paper)
	c.Fill(c.Rectangle.Path())
	return draw.Crop(c, margin, -margin, margin, -margin)
}

func drawNote(c draw.Canvas, note string) {
	style := noteStyle()
	lines := strings.Split(letters.Wrapped(note, style, c.Max.X-c.Min.X), "\n")
	style.YAlign = draw.YBottom
	for i, line := range lines {
		up := style.FontExtents().Height * vg.Length(len(lines)-1-i)
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Min.Y + up}, line)
	}
}

// drawPlot draws the plot and the labels of its axes, and returns the area of its data.
func (f *Figure) drawPlot(c draw.Canvas) vg.Rectangle {
	inner := draw.Crop(c, f.yLabelWidth(), 0, f.xLabelHeight(), 0)
	f.Plot.Draw(inner)
	f.spots.draw(inner)
	f.drawXLabel(inner)
	f.drawYLabel(inner)
	return f.Plot.DataCanvas(inner).Rectangle
}

func (f *Figure) xLabelHeight() vg.Length { return labelRoom(f.xLabel, &f.Plot.X) }
func (f *Figure) yLabelWidth() vg.Length  { return labelRoom(f.yLabel, &f.Plot.Y) }

// labelRoom is how high the label of an axis is, with the room beside it.
func labelRoom(label string, axis *plot.Axis) vg.Length {
	if label == "" {
		return 0
	}
	return axis.Label.TextStyle.FontExtents().Height + axis.Label.Padding
}

// drawXLabel writes the label below the area that the plot was drawn in, in the middle of the axis or, if it is longer,
// of that area.
func (f *Figure) drawXLabel(plotted draw.Canvas) {
	style := f.Plot.X.Label.TextStyle
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	axis := f.Plot.DataCanvas(plotted)
	if style.Width(f.xLabel) > axis.Max.X-axis.Min.X+margin {
		axis = plotted
	}
	label, style := letters.Fitted(f.xLabel, style, axis.Max.X-axis.Min.X+margin)
	plotted.FillText(style, vg.Point{X: axis.Center().X, Y: plotted.Min.Y - f.xLabelHeight()}, label)
}

// drawYLabel writes the label on the left of the area that the plot was drawn in, in the middle of the axis or, if it
// is longer, of that area.
func (f *Figure) drawYLabel(plotted draw.Canvas) {
	style := f.Plot.Y.Label.TextStyle
	style.XAlign = draw.XCenter
	left := plotted.Min.X - f.yLabelWidth() + style.FontExtents().Height - style.FontExtents().Descent
	axis := f.Plot.DataCanvas(plotted)
	if style.Width(f.yLabel) > axis.Max.Y-axis.Min.Y {
		axis = plotted
	}
	label, style := letters.Fitted(f.yLabel, style, axis.Max.Y-axis.Min.Y)
	style.Rotation = math.Pi / 2
	plotted.FillText(style, vg.Point{X: left, Y: axis.Center().Y}, label)
}

func noteStyle() text.Style { return letters.Style(9) }
