package tracestat

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/plots"
)

// saveFigures draws the popularity of the objects, and the distribution functions of sizes, reuse distances and reuse
// times, into dir.
func (s *Summary) saveFigures(dir string) error {
	if err := s.popularityFigure(dir); err != nil {
		return err
	}
	for _, f := range []distributionFigure{
		{"sizes", "Sizes", "size", plots.Bytes, []curve{{"objects", s.ObjectSizes}, {"requests", s.RequestSizes}}},
		{"reuse-distance", "Reuse distances", "LRU capacity that hits (reuse distance + 1), objects", plots.Number,
			[]curve{{"", s.ReuseDistance.plusOne()}}},
		{"reuse-time-requests", "Reuse times in requests", "requests until the object's next request", plots.Number,
			[]curve{{"", s.ReuseTimeRequests}}},
		{"reuse-time-seconds", "Reuse times", "time until the object's next request", plots.Seconds, []curve{{"",
			s.ReuseTimeSeconds}}},
	} {
		if err := f.save(dir, s.Trace); err != nil {
			return err
		}
	}
	return nil
}

// popularityFigure draws how often each object is requested, by rank, with the fitted law.
func (s *Summary) popularityFigure(dir string) error {
	f := plots.New("Popularity: "+s.Trace, "rank of the object", "requests")
	f.SetX(plots.Log, plots.Number)
	f.SetY(plots.Log, plots.Number)
	observed := plots.Line{Label: "observed", Style: plots.SeriesStyle(0)}
	for _, rank := range spacedRanks(len(s.popularity)) {
		observed.X = append(observed.X, float64(rank))
		observed.Y = append(observed.Y, float64(s.popularity[rank-1]))
	}
	if err := f.AddLine(observed); err != nil {
		return err
	}
	if s.Zipf != nil {
		if err := f.AddLine(s.fittedLine(observed.X)); err != nil {
			return err
		}
	}
	return f.Save(dir, "popularity")
}

func (s *Summary) fittedLine(ranks []float64) plots.Line {
	style := plots.ReferenceStyle()
	line := plots.Line{Label: fmt.Sprintf("Zipf, exponent %.3f", s.Zipf.Alpha), X: ranks, Style: style}
	scale := float64(s.Requests) / harmonic(len(s.popularity), s.Zipf.Alpha)
	for _, rank := range ranks {
		line.Y = append(line.Y, scale*math.Pow(rank, -s.Zipf.Alpha))
	}
	return line
}

// distributionFigure is a figure of distribution functions.
type distributionFigure struct {
	file, title, axis string
	unit              plots.Unit
	curves            []curve
}

type curve struct {
	label string
	*Distribution
}

// save draws nothing where the trace has no such distribution.
func (d distributionFigure) save(dir, trace string) error {
	f := plots.New(d.title+": "+trace, d.axis, "share that is at most this")
	f.SetX(plots.Log, d.unit)
	f.SetY(plots.Linear, plots.Percent)
	f.Plot.Y.Min, f.Plot.Y.Max = 0, 1
	drawn := 0
	for i, c := range d.curves {
		if c.Distribution == nil {
			continue
		}
		line := plots.Line{Label: c.label, Steps: true, Style: plots.SeriesStyle(i)}
		line.Style.Marker = nil
		line.X, line.Y = c.onLogAxis()
		if len(line.X) == 0 {
			continue
		}
		if err := f.AddLine(line); err != nil {
			return err
		}
		drawn++
	}
	if drawn == 0 {
		return nil
	}
	return f.Save(dir, d.file)
}

// onLogAxis returns the distribution function from 0 up; values of 0, which have no place on a logarithmic axis, are in
// its first step.
func (d *Distribution) onLogAxis() (x, y []float64) {
	zeros := 0.0
	for _, p := range d.curve {
		if p.value <= 0 {
			zeros = p.share
			continue
		}
		if len(x) == 0 {
			x, y = append(x, p.value), append(y, zeros)
		}
		x, y = append(x, p.value), append(y, p.share)
	}
	return x, y
}

// plusOne returns d with every value raised by one.
func (d *Distribution) plusOne() *Distribution {
	if d == nil {
		return nil
	}
	raised := &Distribution{}
	for _, p := range d.curve {
		raised.curve = append(raised.curve, point{p.value + 1, p.share})
	}
	return raised
}
