package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/letters"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

const (
	panelWidth  = 3 * vg.Inch
	panelHeight = 2.6 * vg.Inch
	panelGap    = vg.Length(16)
	headingGap  = vg.Length(9)
	panelLabels = 5 // that fit along the horizontal axis of a panel
)

// sheet is one figure, or several in a grid with one legend below.
type sheet struct {
	title   string
	panels  []*Figure
	bar     *colorBar // of heat maps, which share it
	note    string
	options look.Options
}

// border keeps the same room at the edges of all panels, whatever is drawn there, so that their axes lie on one line.
// It draws nothing. It implements plot.Plotter and plot.GlyphBoxer.
type border struct{}

func (border) Plot(draw.Canvas, *plot.Plot) {}

func (border) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{Rectangle: roomOfMark}, {X: 1, Y: 1, Rectangle: roomOfMark}}
}

// columns returns the number of panels side by side.
func (s *sheet) columns() int { return columns(s.options, len(s.panels), s.inner()) }

// inner is the width of all panels, if the options fix it.
func (s *sheet) inner() vg.Length {
	inner := s.options.Inner()
	if inner > 0 && s.bar != nil {
		inner -= s.bar.width()
	}
	return inner
}

// columns returns how many of n panels are side by side within a width; 0 for any width.
func columns(o look.Options, n int, within vg.Length) int {
	columns := 3
	if n == 2 || n == 4 {
		columns = 2
	}
	if within > 0 {
		columns = min(columns, n, max(1, int((within+panelGap)/(leastPanel+panelGap))))
	}
	return columns
}

// widthOfPanel is the width of each of n panels within a width; 0 if that is not fixed.
func widthOfPanel(o look.Options, n int, within vg.Length) vg.Length {
	if within == 0 {
		return 0
	}
	columns := vg.Length(columns(o, n, within))
	return (within+panelGap)/columns - panelGap
}

func (s *sheet) rows() int { return (len(s.panels) + s.columns() - 1) / s.columns() }

// share gives all panels the same axis of values, which is the horizontal one for bars with names on their left.
func (s *sheet) share(bars bool) {
	axis := func(f *Figure) *plot.Axis {
		if bars {
			return &f.Plot.X
		}
		return &f.Plot.Y
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, f := range s.panels {
		low, high = min(low, axis(f).Min), max(high, axis(f).Max)
	}
	for _, f := range s.panels {
		axis(f).Min, axis(f).Max = low, high
	}
}

// scalesNote says which axes of the panels differ, so that nobody compares lengths on them.
func (s *sheet) scalesNote() string {
	differ := func(axis func(*Figure) *plot.Axis) bool {
		return slices.ContainsFunc(s.panels, func(f *Figure) bool {
			first, other := axis(s.panels[0]), axis(f)
			return first.Min != other.Min || first.Max != other.Max
		})
	}
	var names []string
	if differ(func(f *Figure) *plot.Axis { return &f.Plot.X }) {
		names = append(names, "horizontal")
	}
	// the vertical axis of bars with names on their left only counts them
	if !s.panels[0].barNames && differ(func(f *Figure) *plot.Axis { return &f.Plot.Y }) {
		names = append(names, "vertical")
	}
	switch len(names) {
	case 0:
		return ""
	case 2:
		return "each panel has axes of its own"
	}
	return fmt.Sprintf("each panel has a %s axis of its own", names[0])
}

// legend returns what the panels draw, each label once.
func (s *sheet) legend() legend {
	all := newLegend()
	all.most = s.options.Inner()
	for _, f := range s.panels {
		for _, entry := range f.legend.entries {
			if !slices.ContainsFunc(all.entries, func(e legendEntry) bool { return e.label == entry.label }) {
				all.entries = append(all.entries, entry)
			}
		}
	}
	return all
}

// drawn renders what a kind of figure made, if it could.
func drawn(name string, o look.Options, s *sheet, err error, usual []canvas.Format) (Drawing, error) {
	if err != nil {
		return Drawing{}, &UndrawableError{name, err}
	}
	s.options = o
	return s.render(name, usual)
}

// narrowWidth is that of figures on a telephone: letters are as large as the text around them.
const narrowWidth = 3.9 * vg.Inch

// render draws the sheet. One without a width can be drawn again for a small screen.
func (s *sheet) render(name string, usual []canvas.Format) (Drawing, error) {
	d, err := s.renderOnce(name, usual)
	if err == nil && s.options.Width == 0 {
		d.narrow = func() (Drawing, error) {
			s.options.Width, s.options.Height, s.options.NoTitle = narrowWidth, 0, true // the page has a caption
			return s.renderOnce(name, []canvas.Format{canvas.SVG})
		}
	}
	return d, err
}

func (s *sheet) renderOnce(name string, usual []canvas.Format) (Drawing, error) {
	for _, f := range s.panels {
		if err := f.check(); err != nil {
			if len(s.panels) > 1 {
				err = fmt.Errorf("panel %s: %w", f.heading, err)
			}
			return Drawing{}, &UndrawableError{name, err}
		}
	}
	if inner := s.inner(); inner > 0 {
		for _, f := range s.panels {
			f.fit(s.options, widthOfPanel(s.options, len(s.panels), inner)-f.ends.width())
		}
	}
	if f := s.panels[0]; len(s.panels) == 1 {
		f.bar, f.note = s.bar, joined(s.note, f.note)
		f.keepSquare()
		width, height := f.size()
		return render(name, f.title, width, height, f.draw, s.options, usual)
	}
	width, height := s.size()
	return render(name, s.title, width, height, s.draw, s.options, usual)
}

func (s *sheet) rowHeight() vg.Length {
	tallest := vg.Length(0)
	for _, f := range s.panels {
		tallest = max(tallest, f.plotHeight())
	}
	if o := s.options; o.Height > 0 {
		rest := s.heightOfOthers() + 2*o.Margin()
		each := (o.Height/o.Scale() - rest + panelGap) / vg.Length(s.rows())
		return max(each-panelGap, s.leastHeight())
	}
	return tallest
}

// leastHeight is the least height of a panel.
func (s *sheet) leastHeight() vg.Length {
	least := vg.Inch
	for _, f := range s.panels {
		least = max(least, f.least)
	}
	return least
}

// width is the width of all columns, each as wide as the widest panel.
func (s *sheet) width() vg.Length {
	widest := vg.Length(0)
	for _, f := range s.panels {
		widest = max(widest, f.fullWidth())
	}
	return vg.Length(s.columns())*(widest+panelGap) - panelGap
}

// shownTitle is the title as it is drawn; "" for none.
func (s *sheet) shownTitle() (string, text.Style) {
	style := letters.Style(12)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	switch {
	case s.options.NoTitle:
		return "", style
	case s.options.Width > 0:
		return letters.Wrapped(s.title, style, s.width()), style
	}
	return letters.Fitted(s.title, style, s.width())
}

func (s *sheet) titleHeight() vg.Length {
	title, _ := s.shownTitle()
	if title == "" {
		return 0
	}
	return letters.Style(12).FontExtents().Height*vg.Length(1+strings.Count(title, "\n")) + margin
}

// heightOfOthers is the height of everything but the panels.
func (s *sheet) heightOfOthers() vg.Length {
	l := s.legend()
	return s.titleHeight() + l.below(s.width()).Y + noteHeight(s.note, s.width())
}

func (s *sheet) size() (width, height vg.Length) {
	m := 2 * s.options.Margin()
	width = s.width() + m
	height = vg.Length(s.rows())*(s.rowHeight()+panelGap) - panelGap + s.heightOfOthers() + m
	if s.bar != nil {
		width += s.bar.width()
	}
	return width, height
}

func (s *sheet) draw(c draw.Canvas) {
	c = blank(c, s.options.Margin())
	title, style := s.shownTitle()
	for i, line := range strings.Split(title, "\n") {
		down := style.FontExtents().Height * vg.Length(i)
		c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y - down}, line)
	}
	c.Max.Y -= s.titleHeight()
	within := c
	within.Max.X = c.Min.X + s.width()
	drawNote(within, s.note)
	c.Min.Y += noteHeight(s.note, s.width())
	within.Min.Y = c.Min.Y
	l := s.legend()
	l.drawBelow(&within)
	c.Min.Y = within.Min.Y
	if s.bar != nil {
		c.Max.X -= s.bar.width()
	}
	plotted := s.drawPanels(c)
	if s.bar != nil {
		s.bar.draw(c, plotted)
	}
}

// drawPanels aligns the panels, whose labels need different room. The label of the vertical axis is in the first column
// only. The label of the horizontal axis is below the lowest panel of each column, or below every panel if they differ.
// It returns the area of all data.
func (s *sheet) drawPanels(c draw.Canvas) (plotted vg.Rectangle) {
	grid := make([][]*plot.Plot, s.rows())
	for i := range grid {
		grid[i] = make([]*plot.Plot, s.columns())
	}
	for i, f := range s.panels {
		grid[i/s.columns()][i%s.columns()] = f.Plot
	}
	first := s.panels[0]
	heading := panelTitle().FontExtents().Height + headingGap
	labels := draw.Tiles{
		Rows: s.rows(), Cols: s.columns(), PadX: panelGap, PadY: panelGap + heading, PadTop: heading,
		PadBottom: first.xLabelHeight(), PadLeft: first.yLabelWidth(),
	}
	if s.xLabelsDiffer() {
		labels.PadY += first.xLabelHeight()
	}
	for i, row := range plot.Align(grid, labels, c) {
		for j, area := range row {
			at := i*s.columns() + j
			if at >= len(s.panels) {
				continue
			}
			f := s.panels[at]
			f.Plot.Draw(area)
			f.spots.draw(area)
			f.drawHeading(area)
			data := f.Plot.DataCanvas(area).Rectangle
			if at == 0 {
				plotted = data
			}
			plotted.Min.Y, plotted.Max.X = min(plotted.Min.Y, data.Min.Y), max(plotted.Max.X, data.Max.X)
			if j == 0 {
				f.drawYLabel(area)
			}
			if s.xLabelsDiffer() || at+s.columns() >= len(s.panels) {
				f.drawXLabel(area)
			}
		}
	}
	return plotted
}

func (s *sheet) xLabelsDiffer() bool {
	return slices.ContainsFunc(s.panels, func(f *Figure) bool { return f.xLabel != s.panels[0].xLabel })
}

func panelTitle() text.Style { return letters.Style(10.5) }

// drawHeading writes the name of a panel above the area that it was drawn in.
func (f *Figure) drawHeading(plotted draw.Canvas) {
	style := panelTitle()
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	data := f.Plot.DataCanvas(plotted)
	room := data.Max.X - data.Min.X + panelGap
	heading, style := letters.Fitted(f.heading, style, room)
	plotted.FillText(style, vg.Point{X: data.Center().X, Y: data.Max.Y + headingGap}, heading)
}
