package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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
	title  string
	panels []*Figure
	bar    *colorBar // of heat maps, which share it
	note   string
}

// border keeps the same room at the edges of all panels, whatever is drawn there, so that their axes lie on one line.
// It draws nothing. It implements plot.Plotter and plot.GlyphBoxer.
type border struct{}

func (border) Plot(draw.Canvas, *plot.Plot) {}

func (border) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{Rectangle: roomOfMark}, {X: 1, Y: 1, Rectangle: roomOfMark}}
}

// columns returns the number of panels side by side.
func (s *sheet) columns() int {
	switch n := len(s.panels); n {
	case 2, 4:
		return 2
	default:
		return 3
	}
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
func drawn(name string, s *sheet, err error, formats []Format) (Drawing, error) {
	if err != nil {
		return Drawing{}, &UndrawableError{name, err}
	}
	return s.render(name, formats)
}

func (s *sheet) render(name string, formats []Format) (Drawing, error) {
	for _, f := range s.panels {
		if err := f.check(); err != nil {
			if len(s.panels) > 1 {
				err = fmt.Errorf("panel %s: %w", f.heading, err)
			}
			return Drawing{}, &UndrawableError{name, err}
		}
	}
	if f := s.panels[0]; len(s.panels) == 1 {
		f.bar, f.note = s.bar, s.note
		width, height := f.size()
		return render(name, f.title, width, height, f.draw, formats)
	}
	width, height := s.size()
	return render(name, s.title, width, height, s.draw, formats)
}

func (s *sheet) rowHeight() vg.Length {
	tallest := slices.MaxFunc(s.panels, func(a, b *Figure) int { return int(a.height - b.height) })
	return tallest.height
}

// width is the width of all columns, each as wide as the widest panel.
func (s *sheet) width() vg.Length {
	widest := vg.Length(0)
	for _, f := range s.panels {
		widest = max(widest, f.fullWidth())
	}
	return vg.Length(s.columns())*(widest+panelGap) - panelGap
}

func (s *sheet) titleHeight() vg.Length { return textStyle(12).FontExtents().Height + margin }

func (s *sheet) size() (width, height vg.Length) {
	l := s.legend()
	width = s.width() + 2*margin
	height = s.titleHeight() + vg.Length(s.rows())*(s.rowHeight()+panelGap) - panelGap + 2*margin
	if size := l.size(l.columnsWithin(s.width())); size.Y > 0 {
		height += size.Y + margin
	}
	height += noteHeight(s.note)
	if s.bar != nil {
		width += s.bar.width()
	}
	return width, height
}

func (s *sheet) draw(c draw.Canvas) {
	c = blank(c)
	title := textStyle(12)
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	name, title := fitted(s.title, title, s.width())
	c.FillText(title, vg.Point{X: c.Center().X, Y: c.Max.Y}, name)
	c.Max.Y -= s.titleHeight()
	drawNote(c, s.note)
	c.Min.Y += noteHeight(s.note)
	l := s.legend()
	columns := l.columnsWithin(s.width())
	if size := l.size(columns); size.Y > 0 {
		area := c
		area.Max.Y = c.Min.Y + size.Y
		area.Min.X += (s.width() - size.X) / 2
		l.draw(area, columns)
		c.Min.Y += size.Y + margin
	}
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

func panelTitle() text.Style { return textStyle(10.5) }

// drawHeading writes the name of a panel above the area that it was drawn in.
func (f *Figure) drawHeading(plotted draw.Canvas) {
	style := panelTitle()
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	data := f.Plot.DataCanvas(plotted)
	room := data.Max.X - data.Min.X + panelGap
	heading, style := fitted(f.heading, style, room)
	plotted.FillText(style, vg.Point{X: data.Center().X, Y: data.Max.Y + headingGap}, heading)
}
