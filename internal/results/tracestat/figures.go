package tracestat

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// figures draws the popularity of the objects, and the distribution functions of sizes, reuse distances and reuse
// times.
func (s *Summary) figures(o look.Options) (drawn []plots.Drawing, err error) {
	if s.knowsObjects() {
		popularity, err := s.popularityFigure(o)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, popularity)
	}
	for _, f := range []distributionFigure{
		{"lengths", "Lengths", "tokens", axes.Number, s.lengthCurves()},
		{"prompt-bytes", "Keys and values of prompts", "bytes of a prompt", axes.Bytes, s.promptBytes()},
		{"sizes", "Sizes", "size", axes.Bytes, []curve{{"objects", s.ObjectSizes}, {"requests", s.RequestSizes}}},
		{"reuse-distance", "Reuse distances", "LRU capacity that hits (reuse distance + 1), " + s.noun() + "s", axes.Number,
			[]curve{{"", s.ReuseDistance.plusOne()}}},
		{"reuse-time-requests", "Reuse times in requests", "requests until the " + s.noun() + "'s next request", axes.Number,
			[]curve{{"", s.ReuseTimeRequests}}},
		{"reuse-time-seconds", "Reuse times", "time until the " + s.noun() + "'s next request", axes.Seconds,
			[]curve{{"", s.ReuseTimeSeconds}}},
	} {
		d, err := f.draw(s.Trace, o)
		if err != nil {
			return nil, err
		}
		if d != nil {
			drawn = append(drawn, *d)
		}
	}
	return drawn, nil
}

// popularityFigure draws how often each object is requested, by rank, with the fitted law.
func (s *Summary) popularityFigure(o look.Options) (plots.Drawing, error) {
	f := plots.New("Popularity: "+s.Trace, "rank of the "+s.noun(), "requests")
	f.SetX(axes.Log, axes.Number)
	f.SetY(axes.Log, axes.Number)
	observed := plots.Line{Label: "observed", Style: plots.SeriesStyle(0)}
	for _, rank := range spacedRanks(len(s.popularity)) {
		observed.X = append(observed.X, float64(rank))
		observed.Y = append(observed.Y, float64(s.popularity[rank-1]))
	}
	f.AddLine(observed)
	if s.Zipf != nil {
		f.AddLine(s.fittedLine(observed.X))
	}
	return f.Draw("popularity", o, canvas.SVG, canvas.PNG)
}

// noun says what an object of the trace is.
func (s *Summary) noun() string {
	if _, ok := s.Kind.(*PromptSummary); ok {
		return "block"
	}
	return "object"
}

// promptBytes are the keys and values of prompts, if the model is known.
func (s *Summary) promptBytes() []curve {
	p, ok := s.Kind.(*PromptSummary)
	if !ok || p.KeysAndValues == nil {
		return nil
	}
	return []curve{{"", p.KeysAndValues.Prompts}}
}

// lengthCurves are the lengths of prompts without contents, of which there is nothing else to draw.
func (s *Summary) lengthCurves() []curve {
	p, ok := s.Kind.(*PromptSummary)
	if !ok || s.knowsObjects() {
		return nil
	}
	return []curve{{"prompts", p.Lengths}, {"outputs", p.OutputLengths}}
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

type distributionFigure struct {
	file, title, axis string
	unit              axes.Unit
	curves            []curve
}

type curve struct {
	label string
	*Distribution
}

// draw returns nil if the trace has none of the distributions.
func (d distributionFigure) draw(trace string, o look.Options) (*plots.Drawing, error) {
	f := plots.New(d.title+": "+trace, d.axis, "share that is at most this")
	f.SetX(axes.Log, d.unit)
	f.SetY(axes.Linear, axes.Percent)
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
		f.AddLine(line)
		drawn++
	}
	if drawn == 0 {
		return nil, nil
	}
	drawing, err := f.Draw(d.file, o, canvas.SVG, canvas.PNG)
	return &drawing, err
}

// onLogAxis returns the distribution function from 0 up; values of 0, which a logarithmic axis cannot show, are in its
// first step.
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
