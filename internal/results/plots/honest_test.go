package plots

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
)

func drawnSVG(t *testing.T, c Chart, recs []records.Record) string {
	t.Helper()
	d := must.Get(c.Draw(recs, canvas.SVG))(t)
	return string(d.Files[0].Data)
}

// A star marks the best value of the metric that the figure shows, whichever policy has the most hits, and the note
// says so. What knows the future never has one, nor has any value if all are equal or none is better.
func TestStarsMarkTheMetricOfTheFigure(t *testing.T) {
	recs := experiment{policies: 3, capacities: []int64{100}, unit: records.Objects}.records()
	for i, ns := range []float64{30, 70, 10} {
		recs[i].Set(metric.NsPerRequest, ns)
		recs[i].Best = i == 1
	}
	chart := Chart{Name: "f", X: "capacity", Y: "ns_per_request"}
	svg := drawnSVG(t, chart, recs)
	for _, want := range []string{">30.0 *<", ">70.0<", ">10.0<", ">* lowest ns/request of the online policies<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the figure has no %q", want)
		}
	}
	svg = drawnSVG(t, Chart{Name: "f", X: "capacity", Y: "hits"}, recs)
	if !strings.Contains(svg, ">* most hits of the ") {
		t.Error("the figure of hits does not say what its star means")
	}
	if svg := drawnSVG(t, Chart{Name: "f", X: "capacity", Y: "requests"}, recs); strings.Contains(svg, "*") {
		t.Error("no number of requests is better than another, and one has a star")
	}
	recs[1].Set(metric.NsPerRequest, 30)
	if svg := drawnSVG(t, chart, recs); strings.Contains(svg, "*") {
		t.Error("equal values have a star")
	}
}

// Bars begin at zero. A logarithmic axis has none, and dots instead.
func TestBarsBeginAtZero(t *testing.T) {
	recs := experiment{policies: 3, capacities: []int64{100}, unit: records.Objects}.records()
	for i, ns := range []float64{300, 700, 5000} {
		recs[i].Set(metric.NsPerRequest, ns)
	}
	grouped := slices.Clone(recs)
	for i := range grouped {
		grouped[i].Axes = "job=a"
	}
	for name, c := range map[string]struct {
		chart Chart
		recs  []records.Record
	}{
		"side by side": {Chart{Name: "f", X: "capacity", Y: "ns_per_request"}, recs},
		"groups":       {Chart{Name: "f", X: "job", Y: "ns_per_request"}, grouped},
	} {
		d := drawingOf(t, c.chart, c.recs)
		if base := d.base(d.panels[0].Lines); base != 0 {
			t.Errorf("%s: bars begin at %v", name, base)
		}
		if n := filled(drawnSVG(t, c.chart, c.recs)); n < 2 {
			t.Errorf("%s: %d coloured bars are drawn, want 2", name, n)
		}
		c.chart.LogY = true
		svg := drawnSVG(t, c.chart, c.recs)
		if n := filled(svg); n > 0 {
			t.Errorf("%s: %d bars are drawn on a logarithmic axis", name, n)
		}
	}
}

// filled returns how many rectangles have a colour of lines.
func filled(svg string) (n int) {
	for part := range strings.Lines(svg) {
		outline, _, _ := strings.Cut(part, "style=")
		isBox := strings.HasPrefix(part, "<path") && strings.Count(outline, "L") == 3 && !strings.Contains(outline, "A")
		isBar := slices.ContainsFunc(LineColors(), func(c color.NRGBA) bool {
			return strings.Contains(part, "fill:"+canvas.Hex(c))
		})
		if isBox && isBar {
			n++
		}
	}
	return n
}

// Panels have one scale, bars too, or the figure says that they have not.
func TestPanelsShareTheirScaleOrSayThatTheyDoNot(t *testing.T) {
	const own = "of its own"
	recs := experiment{policies: 3, traces: 3, capacities: []int64{100}, unit: records.Objects,
		noise: []string{"0", "1"}}.records()
	bars := recs[:0:0]
	for _, r := range recs {
		if r.Axes != "" {
			bars = append(bars, r)
		}
	}
	many := experiment{policies: 3, traces: 2, capacities: wide, unit: records.Objects}.records()
	for name, c := range map[string]struct {
		chart Chart
		recs  []records.Record
		own   bool
	}{
		"bars by an axis":  {Chart{Name: "f", X: "capacity", Y: "hit_ratio", Panels: "noise"}, of(bars, "trace-0"), false},
		"bars by trace":    {Chart{Name: "f", X: "capacity", Y: "hit_ratio", Panels: "trace"}, axis(bars, "noise=0"), true},
		"lines by trace":   {Chart{Name: "f", X: "capacity", Y: "hit_ratio", Panels: "trace"}, many, true},
		"lines by an axis": {Chart{Name: "f", X: "trace", Y: "hit_ratio", Panels: "capacity"}, many, false},
	} {
		if said := strings.Contains(drawnSVG(t, c.chart, c.recs), own); said != c.own {
			t.Errorf("%s: says that panels have axes of their own: %v, want %v", name, said, c.own)
		}
	}
}

func of(recs []records.Record, trace string) []records.Record {
	return slices.DeleteFunc(slices.Clone(recs), func(r records.Record) bool { return r.Trace != trace })
}

func axis(recs []records.Record, place string) []records.Record {
	return slices.DeleteFunc(slices.Clone(recs), func(r records.Record) bool { return r.Axes != place })
}

// Wide intervals of many lines are no bands, which would hide the lines, and do not press the lines together.
func TestWideIntervalsLeaveLinesVisible(t *testing.T) {
	for _, c := range []struct {
		lines  int
		spread float64
		crowds bool
	}{{2, 0.2, false}, {6, 0.2, true}, {6, 0.0001, false}} {
		recs := experiment{policies: c.lines + 1, capacities: []int64{100, 1000}, seeds: 2, unit: records.Objects}.records()
		low, high := math.Inf(1), math.Inf(-1)
		for i := range recs {
			line := float64(i / 4)
			x := 0.3 + 0.01*line + c.spread*float64(recs[i].Seed)
			recs[i].Set(metric.HitRatio, x)
			low, high = min(low, 0.3+0.01*line+c.spread/2), max(high, 0.3+0.01*line+c.spread/2)
		}
		d := drawingOf(t, Chart{X: "capacity", Y: "hit_ratio"}, recs)
		f := d.draw(d.panels[0])
		if bands := len(f.bands.lines); (bands == 0) != c.crowds {
			t.Errorf("%d lines ± %v: %d bands", c.lines, c.spread, bands)
		}
		span := func(a plot.Axis) float64 { return a.Max - a.Min }(f.Plot.Y)
		if most := (high - low) * (1 + 2*intervalRoom) * 1.001; span > most {
			t.Errorf("%d lines ± %v: the axis spans %.3f, the lines %.3f", c.lines, c.spread, span, high-low)
		}
		if cut := f.cutsIntervals(); cut != (c.spread > 0.01) {
			t.Errorf("%d lines ± %v: intervals reach beyond the axis: %v", c.lines, c.spread, cut)
		}
	}
}
