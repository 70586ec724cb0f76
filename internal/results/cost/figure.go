package cost

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/records"
)

// logRatio is the ratio of the ends of the vertical axis from which it is logarithmic.
const logRatio = 8

// steps is how many points a line has between two capacities where costs in between are estimated.
const steps = 16

// Draw draws for each answer what the capacities cost, with the cheapest marked. Answers of one capacity have no
// figure.
func Draw(ctx context.Context, answers []Answer) (drawn []plots.Drawing, err error) {
	for i, a := range answers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !a.hasFigure() {
			continue
		}
		name := PerMonth.Name
		if len(answers) > 1 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		f, err := a.figure()
		if err != nil {
			return nil, err
		}
		d, err := f.Draw(name)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	return drawn, nil
}

func (a Answer) hasFigure() bool {
	for _, c := range a.curves {
		if len(c.points) > 1 {
			return true
		}
	}
	return false
}

func (a Answer) figure() (*plots.Figure, error) {
	label := "cost per month"
	if a.Currency != "" {
		label += " (" + a.Currency + ")"
	}
	capacity := "capacity"
	if len(belowFirst(a.curves[0].style)) > 0 {
		capacity += " of the first tier"
	}
	f := plots.New("Cost per month: "+a.Name, capacity, label)
	var all []records.Record
	for _, c := range a.curves {
		all = append(all, *c.style)
	}
	styles := plots.StylesOf(all, records.DimPolicy)
	low, high := math.Inf(1), 0.0
	for _, c := range a.curves {
		l := plots.Line{Label: c.policy, Style: styles[c.policy]}
		for i, p := range c.points {
			if i > 0 && a.between {
				a.addBetween(&l, c.points[i-1], p)
			}
			l.X, l.Y = append(l.X, float64(p.capacity)), append(l.Y, p.cost())
			low, high = min(low, p.cost()), max(high, p.cost())
		}
		if err := f.AddLine(l); err != nil {
			return nil, err
		}
	}
	if best := a.Offers[0]; best.Competes {
		mark := plots.Style{Color: styles[best.Policy].Color, Marker: wideRing{}}
		err := f.AddLine(plots.Line{Label: "cheapest: " + a.Amount(best.Cost), Style: mark,
			X: []float64{float64(best.Capacity)}, Y: []float64{best.Cost}})
		if err != nil {
			return nil, err
		}
	}
	f.SetX(plots.Log, plots.Bytes)
	if low > 0 && high/low >= logRatio {
		f.SetY(plots.Log, plots.Number)
	}
	return f, nil
}

// addBetween adds the estimates between two points to a line.
func (a Answer) addBetween(l *plots.Line, low, high point) {
	step := math.Pow(float64(high.capacity)/float64(low.capacity), 1.0/steps)
	last := low.capacity
	for k := 1; k < steps; k++ {
		capacity := int64(float64(low.capacity) * math.Pow(step, float64(k)))
		if capacity > last && capacity < high.capacity {
			p := a.at(low, high, capacity)
			l.X, l.Y = append(l.X, float64(p.capacity)), append(l.Y, p.cost())
			last = capacity
		}
	}
}

// wideRing is a ring around the mark of a line.
type wideRing struct{}

func (wideRing) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius *= 2.5
	draw.RingGlyph{}.DrawGlyph(c, style, at)
}
