package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	labelWidth    = 3 * vg.Inch // of a name in the legend, at most
	legendGap     = vg.Length(14)
	maxLegendRows = 40 // above which a legend beside a plot gets another column
)

// legend names the lines and marks, in one or more columns.
type legend struct {
	style   text.Style
	entries []legendEntry
}

type legendEntry struct {
	label  string
	thumbs []plot.Thumbnailer
}

func newLegend() legend { return legend{style: textStyle(10)} }

func (l *legend) add(label string, thumbs ...plot.Thumbnailer) {
	l.entries = append(l.entries, legendEntry{label, thumbs})
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
	for part := range slices.Chunk(l.entries, (len(l.entries)+n-1)/n) {
		column := plot.NewLegend()
		column.Left, column.Top = true, true
		column.TextStyle = l.style
		column.ThumbnailWidth = 30
		column.Padding = 2
		for _, e := range part {
			column.Add(shorten(e.label, l.style, labelWidth), e.thumbs...)
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
