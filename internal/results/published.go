package results

import (
	"math"

	"github.com/cachesim/cachesim/internal/records"
)

// Published contains published numbers to compare ours with.
type Published struct {
	Name   string // in figures and tables: "ARC paper"
	Source string
	Metric string
	Within float64 // the difference up to which ours agree
	Points []PublishedPoint
}

// PublishedPoint is one published number.
type PublishedPoint struct {
	At    map[string]string // dimension to place; a missing dimension may have any place
	Value float64
}

// For returns the published number for the measurement of r; if there are several, the most specific one.
func (p *Published) For(r *records.Record) (x float64, ok bool) {
	dims := -1
	for i := range p.Points {
		if point := &p.Points[i]; len(point.At) > dims && point.isAt(r, "") {
			x, dims = point.Value, len(point.At)
		}
	}
	return x, dims >= 0
}

// isAt reports whether r is at the point, ignoring the dimension except.
func (p *PublishedPoint) isAt(r *records.Record, except string) bool {
	for dim, place := range p.At {
		if v, ok := r.Dim(dim); ok && dim != except && !v.Is(place) {
			return false
		}
	}
	return true
}

// Agrees reports whether our number is within the tolerance of the published one.
func (p *Published) Agrees(ours, published float64) bool {
	const rounding = 1e-9 // 0.3846 written as 38.46% and 0.38460000000000005 are the same
	return math.Abs(ours-published) <= p.Within*(1+rounding)+rounding*max(1e-3, math.Abs(published))
}

// PointsOf returns the published numbers for a series: its policy, trace, panel and so on. Their places on the
// dimension along are first those of the series, in their order, then other numbers.
func (p *Published) PointsOf(s *Series, along string) (points []Point) {
	for _, ours := range s.Points {
		if x, ok := p.For(ours.Record); ok && !ours.Anywhere {
			points = append(points, Point{Place: ours.Place, Estimate: Estimate{Mean: x, Seeds: 1}, Record: ours.Record})
		}
	}
	for i := range p.Points {
		text, ok := p.Points[i].At[along]
		if !ok || !p.Points[i].isAt(s.Points[0].Record, along) {
			continue
		}
		place := records.ValueOf(text)
		if place.IsNumber && !s.has(text) {
			points = append(points, Point{Place: place, Estimate: Estimate{Mean: p.Points[i].Value, Seeds: 1},
				Record: s.Points[0].Record})
		}
	}
	return points
}

// has reports whether the series has a point at the place with this text.
func (s *Series) has(text string) bool {
	for _, p := range s.Points {
		if !p.Anywhere && p.Place.Is(text) {
			return true
		}
	}
	return false
}
