package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mostCells is the most columns and rows of a matrix that are drawn. Larger ones are drawn as means.
const mostCells = 256

// Matrix is a heat map of values at evenly spaced places on two axes.
type Matrix struct {
	Name, Title string
	X, Y        Places
	Label       string // of the colours
	Unit        Unit   // of the values
	Columns     int
	Values      []float64 // row by row from the lowest; NaN where there is none
	Note        string    // what the figure does not show by itself; "" for nothing
}

// Draw draws the matrix as NAME.svg and so on. Blocks of values of a large matrix are drawn as their mean, which a note
// says. It is an UndrawableError if there are no values.
func (m Matrix) Draw(formats ...Format) (Drawing, error) {
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
	colors := newColorScale(Linear, m.Values)
	f, c := m.figure(m.Title, "", colors, false)
	s := sheet{panels: []*Figure{f}, bar: &colorBar{colors, m.Unit, m.Label}, note: joined(missingNote(c), note)}
	return s.render(m.Name, formats)
}

// figure returns the figure of a matrix, a square if both axes have the same places.
func (m Matrix) figure(title, heading string, colors colorScale, oneOfSeveral bool) (*Figure, *cells) {
	c := &cells{columns: m.Columns, values: m.Values, x: m.X, y: m.Y, label: m.Label, text: m.Unit.exact, colors: colors}
	f := newPanel(title, heading, m.X.Label, m.Y.Label, oneOfSeveral)
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
	for range 2 { // a title that shrinks with the plot leaves it more height
		area := vg.Rectangle{Max: vg.Point{X: f.width - f.yLabelWidth(), Y: f.height - f.xLabelHeight()}}
		data := f.Plot.DataCanvas(draw.Canvas{Rectangle: area}).Size()
		f.width -= data.X - data.Y
		f.setTitle(f.title)
	}
}
