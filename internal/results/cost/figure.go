package cost

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// logRatio is the ratio of the ends of the vertical axis from which it is logarithmic.
const logRatio = 8

// Draw draws for each answer what the capacities cost, with the cheapest marked. Answers of one capacity have no
// figure.
func Draw(ctx context.Context, answers []Answer) (drawn []plots.Drawing, err error) {
	for i, a := range answers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(a.curves, func(c curve) bool { return len(c.points) > 1 }) {
			continue
		}
		name := PerMonth.Name
		if len(answers) > 1 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		d, err := a.figure().Draw(name, plots.SVG, plots.PNG)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	return drawn, nil
}

func (a Answer) figure() *plots.Figure {
	label := "cost per month"
	if a.Currency != "" {
		label += " (" + a.Currency + ")"
	}
	capacity := "capacity"
	if len(belowFirst(a.curves[0].style)) > 0 {
		capacity += " of the first tier"
	}
	f := plots.New("Cost per month: "+a.Name, capacity, label)
	styles := a.styles()
	low, high := a.None.Cost, a.None.Cost
	smallest, largest := int64(math.MaxInt64), int64(0)
	for _, c := range a.curves {
		l := plots.Line{Label: c.policy, Style: styles[c.policy]}
		for _, p := range c.points {
			l.X, l.Y = append(l.X, float64(p.capacity)), append(l.Y, p.cost())
			low, high = min(low, p.cost()), max(high, p.cost())
			smallest, largest = min(smallest, p.capacity), max(largest, p.capacity)
		}
		f.AddLine(l)
	}
	none := records.NoCache()
	f.AddLine(plots.Line{Label: none, Style: plots.PolicyStyle(none, none, records.Bound),
		X: []float64{float64(smallest), float64(largest)}, Y: []float64{a.None.Cost, a.None.Cost}})
	if a.Offers[0].Competes {
		best, mark, at := a.Best(), plots.Style{Color: styles[a.Offers[0].Policy].Color, Marker: wideRing{}}, smallest
		if !best.isNone() {
			at = best.Capacity
		}
		f.AddLine(plots.Line{Label: "cheapest: " + a.Amount(best.Cost), Style: mark, X: []float64{float64(at)},
			Y: []float64{best.Cost}})
	}
	f.SetX(plots.Log, plots.Bytes)
	if low > 0 && high/low >= logRatio {
		f.SetY(plots.Log, plots.Number)
	}
	return f
}

// styles are the looks of the curves.
func (a Answer) styles() plots.Styles {
	var all []records.Record
	for _, c := range a.curves {
		all = append(all, *c.style)
	}
	return plots.StylesOf(all, records.DimPolicy)
}

// wideRing is a ring around the mark of a line.
type wideRing struct{}

func (wideRing) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius *= 2.5
	draw.RingGlyph{}.DrawGlyph(c, style, at)
}
