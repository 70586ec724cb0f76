// Package plots draws figures in one style.
// The same input gives the same bytes.
package plots

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/records"
)

const (
	plotWidth  = 6.2 * vg.Inch // without the legend
	plotHeight = 4.4 * vg.Inch
	margin     = vg.Length(10)
	labelWidth = 3 * vg.Inch // of a name in the legend, at most
	pngDPI     = 150

	// maxMarkers is the number of points up to which each of them is marked on its line.
	maxMarkers = 40
	// minStep is the distance in points below which the next point of a line would not be seen.
	minStep = vg.Length(0.3)
)

// Figure is one plot with its legend beside it. Use New, set the axes, add lines, then Save.
type Figure struct {
	Plot   *plot.Plot // for what Figure has no method for, except that the labels of the axes are in xLabel and yLabel
	xLabel string     // both drawn here: gonum makes room for them in the wrong place of a logarithmic axis
	yLabel string
	bands  *layer // behind every line
	legend plot.Legend
	height vg.Length
}

// layer holds plotters that are drawn where it stands in the figure, though they come later.
type layer struct{ plotters []plot.Plotter }

func (l *layer) Plot(c draw.Canvas, p *plot.Plot) {
	for _, each := range l.plotters {
		each.Plot(c, p)
	}
}

// New returns an empty figure with linear axes of plain numbers.
func New(title, xLabel, yLabel string) *Figure {
	f := &Figure{Plot: plot.New(), bands: &layer{}, legend: plot.NewLegend(), height: plotHeight}
	p := f.Plot
	p.Title.TextStyle.Font = sans(12)
	p.Title.Text = shorten(title, p.Title.TextStyle, plotWidth)
	p.Title.Padding = 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(11)
		axis.Label.Padding = 4
		axis.Tick.Label.Font = sans(10)
	}
	f.xLabel = shorten(xLabel, p.X.Label.TextStyle, plotWidth)
	f.yLabel = shorten(yLabel, p.Y.Label.TextStyle, plotHeight)
	f.legend.Left, f.legend.Top = true, true
	f.legend.TextStyle.Font = sans(10)
	f.legend.ThumbnailWidth = 30
	f.legend.Padding = 2
	f.SetX(Linear, Number)
	f.SetY(Linear, Number)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{230}, color.Gray{230}
	p.Add(grid, f.bands)
	return f
}

// SetX sets the scale of the horizontal axis and the unit that its values are in.
func (f *Figure) SetX(s Scale, u Unit) { setAxis(&f.Plot.X, s, u) }

// SetY sets the scale of the vertical axis and the unit that its values are in.
func (f *Figure) SetY(s Scale, u Unit) { setAxis(&f.Plot.Y, s, u) }

func setAxis(a *plot.Axis, s Scale, u Unit) {
	a.Scale = plot.LinearScale{}
	if s == Log {
		a.Scale = plot.LogScale{}
	}
	a.Tick.Marker = ticker{scale: s, unit: u}
}

// Line is one series of a figure. X ascends. Its points are marked where they are few.
type Line struct {
	Label string // in the legend; "" for none
	X, Y  []float64
	High  []float64 // nil, or per point the upper end of the interval that begins at Y; drawn as a band
	Bars  bool      // draw the intervals as vertical bars at the points instead
	Shift vg.Length // how far to the right of their points the bars stand, so that those of several lines do not hide each other
	Steps bool      // hold each value until the next one, as a distribution function does
	Style Style
}

// AddLine adds a line. Lengths that differ and values that are no finite numbers are errors.
func (f *Figure) AddLine(l Line) error {
	if len(l.X) != len(l.Y) || l.High != nil && len(l.High) != len(l.X) {
		return fmt.Errorf("line %q: %d x, %d y and %d upper values, want the same number of each", l.Label, len(l.X), len(l.Y), len(l.High))
	}
	if len(l.X) == 0 {
		return fmt.Errorf("line %q has no points", l.Label)
	}
	xys := make(plotter.XYs, len(l.X))
	for i := range xys {
		xys[i] = plotter.XY{X: l.X[i], Y: l.Y[i]}
	}
	line, err := plotter.NewLine(xys)
	if err != nil {
		return fmt.Errorf("line %q: %w", l.Label, err)
	}
	if l.High != nil {
		if err := f.addIntervals(l); err != nil {
			return err
		}
	}
	line.LineStyle = l.Style.line()
	if l.Steps {
		line.StepStyle = plotter.PostStep
	}
	f.Plot.Add(thinLine{line})
	thumbs := []plot.Thumbnailer{line}
	if l.Style.Marker != nil && len(xys) <= maxMarkers {
		points := &plotter.Scatter{XYs: xys, GlyphStyle: l.Style.glyph()}
		f.Plot.Add(points)
		thumbs = append(thumbs, points)
	}
	if l.Label != "" {
		f.legend.Add(shorten(l.Label, f.legend.TextStyle, labelWidth), thumbs...)
	}
	return nil
}

// addIntervals draws what lies between Y and High.
func (f *Figure) addIntervals(l Line) error {
	if err := plotter.CheckFloats(l.High...); err != nil {
		return fmt.Errorf("line %q: upper values: %w", l.Label, err)
	}
	if l.Bars {
		f.Plot.Add(intervalBars{l})
		return nil
	}
	var outline plotter.XYs
	for i := range l.X {
		outline = append(outline, plotter.XY{X: l.X[i], Y: l.Y[i]})
	}
	for i := len(l.X) - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: l.X[i], Y: l.High[i]})
	}
	band, err := plotter.NewPolygon(outline)
	if err != nil {
		return fmt.Errorf("line %q: %w", l.Label, err)
	}
	band.Color = translucent(l.Style.Color)
	band.LineStyle.Width = 0
	f.bands.plotters = append(f.bands.plotters, band)
	f.Plot.Y.Max = max(f.Plot.Y.Max, slices.Max(l.High))
	return nil
}

// thinLine leaves out the points that fall onto their predecessor, so that a line of a million points makes a small file.
type thinLine struct{ line *plotter.Line }

// DataRange implements plot.DataRanger.
func (l thinLine) DataRange() (xmin, xmax, ymin, ymax float64) { return l.line.DataRange() }

// Plot implements plot.Plotter.
func (l thinLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	thin := *l.line
	thin.XYs = nil
	var last vg.Point
	for i, xy := range l.line.XYs {
		at := vg.Point{X: x(xy.X), Y: y(xy.Y)}
		step := at.Sub(last)
		if i == 0 || i == len(l.line.XYs)-1 || math.Hypot(float64(step.X), float64(step.Y)) >= float64(minStep) {
			thin.XYs = append(thin.XYs, xy)
			last = at
		}
	}
	thin.Plot(c, p)
}

// Save writes name.svg and name.png into dir, which must exist.
func (f *Figure) Save(dir, name string) error {
	err := cmp.Or(checkRange(f.xLabel, &f.Plot.X), checkRange(f.yLabel, &f.Plot.Y))
	if err != nil {
		return fmt.Errorf("figure %s: %w", name, err)
	}
	width, height := f.size()
	svg := vgsvg.New(width, height)
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
	for _, out := range []struct {
		ext    string
		canvas vg.CanvasWriterTo
	}{{".svg", svg}, {".png", png}} {
		f.draw(draw.New(out.canvas))
		err := atomicfile.Write(filepath.Join(dir, name+out.ext), func(w io.Writer) error { return encode(w, out.canvas) })
		if err != nil {
			return err
		}
	}
	return nil
}

// encode writes the image. An SVG names only the font that was measured; the names added here have the same widths or are
// what every viewer has.
func encode(w io.Writer, canvas io.WriterTo) error {
	var image bytes.Buffer
	if _, err := canvas.WriteTo(&image); err != nil {
		return err
	}
	data := bytes.ReplaceAll(image.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	_, err := w.Write(data)
	return err
}

// checkRange refuses what gonum would panic on, and widens a range that is a point.
func checkRange(label string, axis *plot.Axis) error {
	if axis.Min > axis.Max {
		return errors.New("there is nothing to draw")
	}
	if _, log := axis.Scale.(plot.LogScale); !log {
		return nil
	}
	if axis.Min <= 0 {
		return fmt.Errorf("the value %g cannot stand on the logarithmic axis %q", axis.Min, label)
	}
	if axis.Min == axis.Max {
		axis.Min, axis.Max = axis.Min/2, axis.Max*2
	}
	return nil
}

// size returns the size of the whole figure: the plot and, beside it, the legend.
func (f *Figure) size() (width, height vg.Length) {
	legend := f.legendSize()
	width, height = plotWidth+2*margin, max(f.height, legend.Y)+2*margin
	if legend.X > 0 {
		width += legend.X + margin
	}
	return width, height
}

func (f *Figure) legendSize() vg.Point {
	size := f.legend.Rectangle(draw.Canvas{}).Size()
	if size.X > 0 {
		// gonum does not measure what hangs below the last line.
		size.Y += 2 * f.legend.TextStyle.FontExtents().Descent
	}
	return size
}

func (f *Figure) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	inner := draw.Crop(c, margin, -margin, margin, -margin)
	plotArea := inner
	plotArea.Max.X = plotArea.Min.X + plotWidth
	f.drawPlot(plotArea)
	legendArea := inner
	legendArea.Min.X = plotArea.Max.X + margin
	f.legend.Draw(legendArea)
}

// drawPlot draws the plot and the labels of its axes.
func (f *Figure) drawPlot(c draw.Canvas) {
	xStyle, yStyle := f.Plot.X.Label.TextStyle, f.Plot.Y.Label.TextStyle
	var left, bottom vg.Length
	if f.yLabel != "" {
		left = yStyle.FontExtents().Height + f.Plot.Y.Label.Padding
	}
	if f.xLabel != "" {
		bottom = xStyle.FontExtents().Height + f.Plot.X.Label.Padding
	}
	inner := draw.Crop(c, left, 0, bottom, 0)
	f.Plot.Draw(inner)
	data := f.Plot.DataCanvas(inner)
	xStyle.XAlign, xStyle.YAlign = draw.XCenter, draw.YBottom
	c.FillText(xStyle, vg.Point{X: data.Center().X, Y: c.Min.Y}, f.xLabel)
	yStyle.Rotation, yStyle.XAlign = math.Pi/2, draw.XCenter
	c.FillText(yStyle, vg.Point{X: c.Min.X + yStyle.FontExtents().Height - yStyle.FontExtents().Descent, Y: data.Center().Y}, f.yLabel)
}

func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// shorten cuts s so that it fits into width, and leaves out what cannot be drawn.
func shorten(s string, style text.Style, width vg.Length) string {
	s = records.Printable(s)
	if style.Width(s) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && style.Width(string(r)+"...") > width {
		r = r[:len(r)-1]
	}
	return string(r) + "..."
}
