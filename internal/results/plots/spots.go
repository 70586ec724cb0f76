package plots

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

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
	svg := svgOf(plotted)
	if svg == nil {
		return
	}
	step := s.step()
	area := s.figure.Plot.DataCanvas(plotted)
	x, y := s.figure.Plot.Transforms(&area)
	for _, l := range s.lines {
		grouped(area, l.name, func() {
			for i, p := range l.points {
				if i%step == 0 || i == len(l.points)-1 {
					svg.spot(vg.Point{X: x(p.X), Y: y(p.Y)}, s.text(l, i))
				}
			}
		})
		svg.points += len(l.points)
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
	place := f.xUnit.exact(p.X)
	if f.xNames != nil {
		i := min(max(int(math.Round(p.X)), 0), len(f.xNames)-1)
		place = f.xNames[i]
	}
	text := fmt.Sprintf("%s %s: %s %s", f.xLabel, place, f.yLabel, f.yUnit.exact(p.Y))
	if line != "" {
		text = line + ", " + text
	}
	return show.Printable(text)
}

// exact writes a value with more digits than the labels of an axis have.
func (u Unit) exact(v float64) string {
	switch u {
	case Percent:
		return strconv.FormatFloat(v*100, 'f', 2, 64) + "%"
	case Bytes:
		return show.Capacity(int64(math.Round(v)), records.Bytes)
	case Seconds:
		return u.format(v)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return show.Count(int64(v))
	}
	return short(v)
}
