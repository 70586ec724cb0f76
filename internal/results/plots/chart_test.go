package plots

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// experiment returns records of policies on traces at capacities, from seeds, at places on an axis "noise", which the
// first policy does not have.
type experiment struct {
	policies, traces int
	capacities       []int64
	seeds            int
	noise            []string
	unit             string
}

func (e experiment) records() (recs []records.Record) {
	random := rand.New(rand.NewPCG(1, 2))
	for trace := range max(e.traces, 1) {
		for policy := range e.policies {
			noise := e.noise
			if policy == 0 || noise == nil {
				noise = []string{""}
			}
			for _, capacity := range e.capacities {
				for at, place := range noise {
					for seed := range max(e.seeds, 1) {
						ratio := 0.05*float64(trace+1) + 0.1*math.Log10(float64(capacity)) + 0.008*float64(policy) - 0.03*float64(at) +
							0.01*random.Float64()
						if e.seeds == 0 {
							ratio = math.Round(ratio*1e4) / 1e4
						}
						share := float64(capacity) / 1e6
						r := records.Record{
							Trace:         fmt.Sprintf("trace-%d", trace),
							Policy:        fmt.Sprintf("policy-%d", policy),
							Kind:          "online",
							Cache:         "exact",
							Capacity:      capacity,
							CapacityText:  fmt.Sprint(capacity),
							CapacityUnit:  e.unit,
							CapacityShare: &share,
							Seed:          uint64(seed),
							Values: metric.ValuesOf(map[string]float64{"requests": 1e6, "hit_ratio": ratio,
								"hits": math.Trunc(ratio * 1e6), "misses": 1e6 - math.Trunc(ratio*1e6)}),
						}
						r.Label = r.Policy
						if place != "" {
							r.Axes = "noise=" + place
						}
						if policy == e.policies-1 && e.policies > 1 {
							r.Policy, r.Label, r.Kind = "opt", "opt", "offline"
						}
						recs = append(recs, r)
					}
				}
			}
		}
	}
	return recs
}

var wide = []int64{100, 200, 500, 1000, 2000, 5000, 10_000, 20_000}

var printed = results.Published{
	Name: "Paper, table 1", Source: "a paper", Metric: "hit_ratio", Points: []results.PublishedPoint{
		{At: map[string]string{"trace": "trace-0", "policy": "policy-1", "capacity": "500"}, Value: 0.34},
		{At: map[string]string{"trace": "trace-0", "policy": "policy-2", "capacity": "3000"}, Value: 0.55},
		{At: map[string]string{"trace": "trace-0", "policy": "policy-2", "capacity": "50000"}, Value: 0.95},
		{At: map[string]string{"policy": "policy-1", "noise": "0.1"}, Value: 0.33},
		{At: map[string]string{"policy": "policy-1", "noise": "big"}, Value: 0.31},
		{At: map[string]string{"policy": "nobody", "capacity": "500"}, Value: 0.99},
	},
}

var kinds = map[string]struct {
	chart Chart
	recs  []records.Record
}{
	"classic": {
		Chart{
			Title:  "Hit ratio over capacity",
			X:      "capacity",
			Y:      "hit_ratio",
			Panels: "trace",
			LogX:   true,
			Marks: []results.Published{
				printed,
			},
		},
		experiment{policies: 26, traces: 3, capacities: wide, unit: records.Objects}.records(),
	},
	"one-panel": {Chart{X: "capacity", Y: "misses", LogX: true, LogY: true},
		experiment{policies: 26, capacities: wide, unit: records.Bytes}.records()},
	"seeds": {Chart{X: "capacity", Y: "hit_ratio", LogX: true, Marks: []results.Published{printed}},
		experiment{policies: 4, capacities: wide, seeds: 10, unit: records.Objects}.records()},
	"axis": {Chart{X: "noise", Y: "hit_ratio", Marks: []results.Published{printed}},
		experiment{policies: 4, capacities: []int64{500}, seeds: 3, noise: []string{"0", "0.1",
			"0.5"}, unit: records.Objects}.records()},
	"categories": {Chart{X: "noise", Y: "hit_ratio", Marks: []results.Published{printed}},
		experiment{policies: 4, capacities: []int64{500}, seeds: 3, noise: []string{"none", "0.1",
			"big"}, unit: records.Objects}.records()},
	"category-panels": {Chart{X: "noise", Y: "hit_ratio", Panels: "capacity", Marks: []results.Published{printed}},
		experiment{policies: 5, capacities: []int64{500, 5000, 50000, 500000}, seeds: 3,
			noise: []string{"none", "lognormal with a very long name", "big", "bigger-still"}, unit: records.Objects}.records()},
	"many-categories": {Chart{X: "noise", Y: "hit_ratio"}, experiment{policies: 12, capacities: []int64{500},
		noise: []string{"none", "some", "much"}, unit: records.Objects}.records()},
	"bars": {Chart{X: "capacity", Y: "hit_ratio", Marks: []results.Published{printed}},
		experiment{policies: 26, capacities: []int64{500}, seeds: 5, unit: records.Objects}.records()},
	"bar-panels": {Chart{Title: "Misses", X: "capacity", Y: "misses", Panels: "trace"},
		experiment{policies: 8, traces: 4, capacities: []int64{500}, unit: records.Objects}.records()},
	"lines-by-axis": {Chart{X: "capacity_share", Y: "hit_ratio", Lines: "noise", LogX: true},
		experiment{policies: 2, capacities: wide, noise: []string{"0", "0.1", "0.5"}, unit: records.Bytes}.records()},
	"seventy": {Chart{X: "capacity", Y: "hit_ratio"},
		experiment{policies: 70, capacities: wide, unit: records.Objects}.records()},
	"against": {Chart{X: "evictions", Y: "hit_ratio", Along: []string{"noise"}},
		withEvictions(experiment{policies: 4, capacities: []int64{500}, seeds: 3, noise: []string{"0", "0.1", "0.5"},
			unit: records.Objects}.records())},
	"odd-names": {Chart{Title: strings.Repeat("a long title & <more> ", 20), X: "capacity", Y: "hit_ratio",
		Panels: "trace", XLabel: strings.Repeat("größe ", 50), YLabel: strings.Repeat("キャッシュ ", 50)}, oddlyNamed()},
}

func withEvictions(recs []records.Record) []records.Record {
	for i := range recs {
		recs[i].SetInt(metric.Evictions, int64(i*i)%97)
	}
	return recs
}

func oddlyNamed() []records.Record {
	recs := experiment{policies: 6, traces: 2, capacities: wide[:3], unit: records.Objects}.records()
	for i := range recs {
		recs[i].Trace = "a&b<c>\x01\xff" + strings.Repeat("long-name+", 30) + recs[i].Trace
		recs[i].Label = "\"größe\" 大 α\n" + strings.Repeat("x", 200) + recs[i].Label
	}
	return recs
}

func TestCharts(t *testing.T) {
	for _, name := range brief.Sample(4, slices.Sorted(maps.Keys(kinds))...) {
		kind := kinds[name]
		t.Run(name, func(t *testing.T) {
			a := t.TempDir()
			if keep := os.Getenv("KEEP_FIGURES"); keep != "" { // to look at them
				a = keep
			}
			kind.chart.Name = name
			files := must.Get(drawChart(a, kind.chart, kind.recs))(t)
			if want := []string{name + ".svg", name + ".png", name + ".pdf"}; !slices.Equal(files, want) {
				t.Errorf("files %v, want %v", files, want)
			}
			checkFigure(t, a, name)
			first, _ := os.ReadFile(filepath.Join(a, name+".svg"))
			if d := must.Get(kind.chart.Draw(kind.recs, canvas.SVG))(t); !bytes.Equal(first, d.Files[0].Data) {
				t.Error("two drawings differ")
			}
		})
	}
}

// drawingOf arranges records as Draw does.
func drawingOf(t *testing.T, c Chart, recs []records.Record) *drawing {
	t.Helper()
	c.Lines = records.DimPolicy
	panels := must.Get(c.arrange(recs))(t)
	return newDrawing(c, panels)
}

func seriesNamed(t *testing.T, p results.Panel, name string) results.Series {
	t.Helper()
	i := slices.IndexFunc(p.Lines, func(s results.Series) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no series %s", name)
	}
	return p.Lines[i]
}

// The band of 10 seeds is 2.262 standard errors wide on either side.
func TestBandIsTheConfidenceInterval(t *testing.T) {
	recs := experiment{policies: 1, capacities: []int64{100, 1000}, seeds: 10, unit: records.Objects}.records()
	d := drawingOf(t, Chart{X: "capacity", Y: "hit_ratio"}, recs)
	l := d.line(d.panels[0].Lines[0])
	for i, capacity := range []int64{100, 1000} {
		var sum, squares float64
		for _, r := range recs {
			if r.Capacity == capacity {
				sum += r.Float(metric.HitRatio)
				squares += r.Float(metric.HitRatio) * r.Float(metric.HitRatio)
			}
		}
		mean := sum / 10
		margin := 2.26216 * math.Sqrt((squares-10*mean*mean)/9/10)
		if l.X[i] != float64(capacity) || math.Abs(l.Y[i]-mean) > 1e-9 || math.Abs(l.Low[i]-(mean-margin)) > 1e-6 ||
			math.Abs(l.High[i]-(mean+margin)) > 1e-6 {
			t.Errorf("at %v: %v from %v to %v, want %v ± %v", l.X[i], l.Y[i], l.Low[i], l.High[i], mean, margin)
		}
	}
}

func TestRecordWithoutTheAxisIsALevelLine(t *testing.T) {
	kind := kinds["axis"]
	d := drawingOf(t, kind.chart, kind.recs)
	if l := d.line(seriesNamed(t, d.panels[0], "policy-0")); !slices.Equal(l.X, []float64{0, 0.5}) ||
		l.Y[0] != l.Y[1] || l.Style.Marker == nil {
		t.Errorf("line without the axis: x %v, y %v", l.X, l.Y)
	}
	if l := d.line(seriesNamed(t, d.panels[0], "policy-1")); !slices.Equal(l.X, []float64{0, 0.1, 0.5}) {
		t.Errorf("line along the axis: x %v", l.X)
	}
}

func TestZeroOnLogarithmicAxes(t *testing.T) {
	recs := experiment{policies: 2, traces: 2, capacities: []int64{100, 1000}, unit: records.Objects}.records()
	recs[0].Set(metric.HitRatio, 0)
	recs[1].Set(metric.HitRatio, 0)
	c := Chart{Name: "zero", X: "capacity", Y: "hit_ratio", LogX: true, LogY: true}
	d := drawingOf(t, c, recs[:4])
	if len(d.panels) != 1 || len(d.panels[0].Lines) != 1 || d.note() != "not shown: 2 points at 0 or below, as the "+
		"axis is logarithmic" {
		t.Errorf("%d panels, note %q", len(d.panels), d.note())
	}
	dir := t.TempDir()
	must.Get(drawChart(dir, c, recs[:4]))(t)
	checkFigure(t, dir, "zero")
	c.X, c.Name = "noise", "noise"
	recs = experiment{policies: 2, capacities: []int64{100}, noise: []string{"0", "0.1",
		"1"}, unit: records.Objects}.records()
	if _, err := drawChart(dir, c, recs); err != nil { // noise 0, and a line from end to end
		t.Fatal(err)
	}
	c.LogY = false
	if d := drawingOf(t, c, recs); d.note() != "not shown: 1 point at 0 or below, as the axis is logarithmic" {
		t.Errorf("noise 0 on a logarithmic axis of noise: note %q", d.note())
	}
	c.LogX = false
	if d := drawingOf(t, c, recs); d.note() != "" {
		t.Errorf("noise 0 on a linear axis: note %q", d.note())
	}
	c.LogX, c.X, c.Name = true, records.DimTrace, "traces"
	if d := drawingOf(t, c, recs); d.note() != "" || len(d.panels) != 1 || len(d.panels[0].Lines) == 0 {
		t.Errorf("names have no logarithm, so nothing is left out: %d panels, note %q", len(d.panels), d.note())
	}
	c.X, c.Name, c.LogY = "noise", "noise", true
	for i := range recs {
		recs[i].Set(metric.HitRatio, 0)
	}
	if _, err := drawChart(dir, c, recs); !errors.As(err, new(*UndrawableError)) ||
		!strings.Contains(err.Error(), "figure noise: no value of noise and hit_ratio is above 0") {
		t.Errorf("nothing above 0: got error %v", err)
	}
}

func TestDrawChartErrors(t *testing.T) {
	recs := experiment{policies: 2, capacities: wide, unit: records.Objects}.records()
	dir := t.TempDir()
	for want, c := range map[string]Chart{
		`figure f: unknown dimension "size"`:              {Name: "f", X: "size", Y: "hit_ratio"},
		`figure f: no record has the metric byte_hit_rat`: {Name: "f", X: "capacity", Y: "byte_hit_ratio"},
		`figure f: unknown dimension "tracy"; di`:         {Name: "f", X: "capacity", Y: "hit_ratio", Panels: "tracy"},
	} {
		must.NotGet(drawChart(dir, c, recs))(t, want)
	}
	if names := fileNames(t, dir); len(names) > 0 {
		t.Errorf("failed charts left %v", names)
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	if _, err := drawChart(file, Chart{Name: "f", X: "capacity", Y: "hit_ratio"}, recs); err == nil ||
		!strings.Contains(err.Error(), "is a file, want a folder") {
		t.Errorf("a file as folder: got error %v", err)
	}
}

// A policy keeps its look in a chart that shows only some, and a line that the caller did not know of gets a free one.
func TestStylesStay(t *testing.T) {
	all := experiment{policies: 4, capacities: wide, noise: []string{"0", "1"}, unit: records.Objects}.records()
	styles := StylesOf(all, records.DimPolicy)
	d := drawingOf(t, Chart{X: "capacity", Y: "hit_ratio", Styles: styles}, all)
	seen := map[string]string{}
	for _, s := range d.panels[0].Lines {
		look := d.styles[s.Name].look()
		if other, ok := seen[look]; ok {
			t.Errorf("%s looks like %s", s.Name, other)
		}
		seen[look] = s.Name
	}
	for name, style := range styles {
		if fmt.Sprint(d.styles[name]) != fmt.Sprint(style) {
			t.Errorf("%s has another look", name)
		}
	}
	if len(styles) != 4 || len(d.styles) <= 4 {
		t.Errorf("%d looks of the experiment, %d of the chart", len(styles), len(d.styles))
	}
	for name, style := range StylesOf(all, "noise") {
		if strings.HasPrefix(name, "noise=") && style.Color == ReferenceStyle().Color {
			t.Errorf("%s looks like the optimum", name)
		}
	}
}

func TestPublishedNumbersAreMarks(t *testing.T) {
	kind := kinds["classic"]
	d := drawingOf(t, kind.chart, kind.recs)
	with := d.draw(d.panels[0])
	if last := with.legend.entries[len(with.legend.entries)-1]; last.label != printed.Name {
		t.Errorf("last entry of the legend is %q, want %q", last.label, printed.Name)
	}
	if with.Plot.X.Max != 20000 || with.Plot.Y.Max > 0.9 {
		t.Errorf("the axes end at %v and %v, as if to show the published number at 50000", with.Plot.X.Max, with.Plot.Y.Max)
	}
	if points := d.Marks[0].PointsOf(new(seriesNamed(t, d.panels[0], "policy-0")), "capacity"); len(points) != 0 {
		t.Errorf("%d numbers of another policy", len(points))
	}
	d.Y = "misses"
	if len(d.ofMetric()) != 0 {
		t.Error("numbers of another metric are drawn")
	}
}

func TestPanelsShareTheAxisUnlessTheyAreTraces(t *testing.T) {
	a, b := New("", "", ""), New("", "", "")
	for i, f := range []*Figure{a, b} {
		f.AddLine(Line{X: []float64{1, 2}, Y: []float64{float64(i), float64(i + 1)}})
	}
	s := sheet{panels: []*Figure{a, b}}
	s.share(false)
	if a.Plot.Y.Min != 0 || a.Plot.Y.Max != 2 || b.Plot.Y.Min != 0 || b.Plot.Y.Max != 2 {
		t.Errorf("axes from %v to %v and from %v to %v", a.Plot.Y.Min, a.Plot.Y.Max, b.Plot.Y.Min, b.Plot.Y.Max)
	}
	for n, columns := range map[int]int{2: 2, 3: 3, 4: 2, 5: 3, 7: 3} {
		s.panels = make([]*Figure, n)
		if s.columns() != columns || s.rows() != (n+columns-1)/columns {
			t.Errorf("%d panels make %d columns and %d rows", n, s.columns(), s.rows())
		}
	}
}

// Characters that the font of a PDF does not have are replaced, not garbled.
func TestPDFText(t *testing.T) {
	f := New("größe ± α", "x", "y")
	f.AddLine(Line{X: []float64{1, 2}, Y: []float64{1, 2}})
	d := must.Get(f.Draw("text", look.Options{}, canvas.PDF))(t)
	data := d.Files[0].Data
	if !bytes.HasPrefix(data, []byte("%PDF-")) || !bytes.Contains(data, []byte("D:19700101000000")) {
		t.Error("no PDF with a fixed date")
	}
	var content bytes.Buffer
	for part := range bytes.SplitSeq(data, []byte("stream\n")) {
		if r, err := zlib.NewReader(bytes.NewReader(part)); err == nil {
			io.Copy(&content, r)
		}
	}
	if !bytes.Contains(content.Bytes(), []byte("gr\xf6\xdfe \xb1 ?")) {
		t.Error("the title is not there in Windows 1252")
	}
}

// Whatever the records say, a chart is drawn or refused with a reason.
func TestAnyChart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := []string{"trace", "policy", "capacity", "capacity_share", "seed", "noise"}
		e := experiment{
			policies: rapid.IntRange(1, 8).Draw(t, "policies"), traces: rapid.IntRange(1, 3).Draw(t,
				"traces"), seeds: rapid.IntRange(0, 3).Draw(t, "seeds"),
			capacities: rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<62), 1, 4, rapid.ID).Draw(t, "capacities"),
			noise: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"0", "0.1", "1e300", "-3", "big", "NaN",
				"Inf"}), 1, 4, rapid.ID).Draw(t, "noise"),
			unit: rapid.SampledFrom([]string{records.Objects, records.Bytes}).Draw(t, "unit"),
		}
		recs := e.records()
		for i := range recs {
			recs[i].Set(metric.HitRatio,
				rapid.SampledFrom([]float64{0, 1, 0.5, 1e-300, recs[i].Float(metric.HitRatio)}).Draw(t, "ratio"))
			recs[i].SetInt(metric.Evictions, rapid.SampledFrom([]int64{0, 1, 1 << 62}).Draw(t, "evictions"))
		}
		c := Chart{
			Name: "any", X: rapid.SampledFrom(dims).Draw(t, "x"), Y: rapid.SampledFrom([]string{"hit_ratio",
				"evictions"}).Draw(t, "y"),
			Lines: rapid.SampledFrom(dims).Draw(t, "lines"), Panels: rapid.SampledFrom(append(dims, "")).Draw(t, "panels"),
			LogX: rapid.Bool().Draw(t, "log x"), LogY: rapid.Bool().Draw(t, "log y"), Marks: []results.Published{printed},
		}
		if _, err := c.Draw(recs, canvas.SVG); err != nil && !strings.Contains(err.Error(), "above 0") &&
			!strings.Contains(err.Error(), "unknown dimension") {
			t.Fatalf("%+v: %v", c, err)
		}
	})
}

func TestBarsOfLinesThatAreCategoriesStandInTheirMiddle(t *testing.T) {
	c := Chart{X: records.DimPolicy, Y: "hit_ratio", Lines: records.DimPolicy}
	recs := experiment{policies: 3, capacities: []int64{500}, unit: records.Objects}.records()
	panels := must.Get(results.Arrange(recs, results.Layout{Lines: c.Lines, Along: c.X, Metric: c.Y}))(t)
	d := newDrawing(c, panels)
	for _, line := range d.panels[0].Lines {
		if at := d.dodge(d.panels[0], line.Name); at != 0 {
			t.Errorf("%s stands %g beside its category", line.Name, at)
		}
	}
	c.Lines = records.DimTrace
	if d := newDrawing(c, panels); d.dodge(d.panels[0], d.panels[0].Lines[0].Name) == 0 {
		t.Error("bars of lines that are no categories stand behind one another")
	}
}

// Bars have no marks, so that those of a group differ in colour, also if they are those of one policy.
func TestBarsOfAGroupDifferInColour(t *testing.T) {
	var recs []records.Record
	for _, trace := range []string{"a", "b"} {
		for _, label := range []string{"lru", "lru(x)", "lru(y)"} {
			recs = append(recs, records.Record{Trace: trace, Label: label, Policy: "lru", CapacityText: "10", Capacity: 10,
				Values: metric.ValuesOf(map[string]float64{"hit_ratio": 0.5})})
		}
	}
	d := drawingOf(t, Chart{X: records.DimTrace, Y: "hit_ratio", Lines: records.DimPolicy}, recs)
	colours := map[any]bool{}
	for _, name := range []string{"lru", "lru(x)", "lru(y)"} {
		colours[d.color(name)] = true
	}
	if len(colours) != 3 || d.color("lru") != PolicyStyle("lru", "lru", "").Color {
		t.Errorf("%d colours of three bars: %v", len(colours), colours)
	}
}

// Lines go from left to right, whatever the order of the capacities in the experiment.
func TestLinesGoFromLeftToRight(t *testing.T) {
	recs := experiment{policies: 1, capacities: []int64{1000, 10, 100}}.records()
	d := drawingOf(t, Chart{X: "capacity", Y: "hit_ratio"}, recs)
	if l := d.line(d.panels[0].Lines[0]); !slices.Equal(l.X, []float64{10, 100, 1000}) ||
		l.Y[0] != recs[1].Float(metric.HitRatio) ||
		l.Y[2] != recs[0].Float(metric.HitRatio) {
		t.Errorf("line over %v: %v", l.X, l.Y)
	}
}

// One metric against another: the lines go through their points in the order of the dimension, not from left to right.
func TestMetricAgainstMetricGoesAlongTheDimension(t *testing.T) {
	recs := experiment{policies: 1, capacities: []int64{1000, 10, 100}}.records()
	for i, evictions := range []int64{3, 1, 7} {
		recs[i].SetInt(metric.Evictions, evictions)
	}
	d := drawingOf(t, Chart{X: "evictions", Y: "hit_ratio", Along: []string{"capacity"}}, recs)
	l := d.line(d.panels[0].Lines[0])
	if !slices.Equal(l.X, []float64{1, 7, 3}) || !slices.Equal(l.Y,
		[]float64{recs[1].Float(metric.HitRatio), recs[2].Float(metric.HitRatio), recs[0].Float(metric.HitRatio)}) {
		t.Errorf("line over %v: %v", l.X, l.Y)
	}
	if _, err := (Chart{X: "nothing", Y: "hit_ratio", Along: []string{"capacity"}}).arrange(recs); err == nil {
		t.Error("a metric that no record has is drawn")
	}
}

// Lines that have dimensions of their own each follow theirs, and one without any is a point.
func TestLinesGoAlongDimensionsOfTheirOwn(t *testing.T) {
	var recs []records.Record
	for _, at := range []struct {
		policy, axes    string
		hits, evictions float64
	}{{"a", "tau=0.7", 0.2, 5}, {"b", "n=2", 0.4, 1}, {"a", "tau=0.3", 0.1, 9}, {"b", "n=1,tau=0.3", 0.6, 2},
		{"c", "", 0.5, 4}} {
		recs = append(recs, records.Record{Trace: "t", Label: at.policy, Policy: at.policy, Axes: at.axes,
			CapacityText: "1", Values: metric.ValuesOf(map[string]float64{"hit_ratio": at.hits, "evictions": at.evictions})})
	}
	d := drawingOf(t, Chart{X: "evictions", Y: "hit_ratio", Along: []string{"n", "tau"}}, recs)
	want := map[string][]float64{"a": {9, 5}, "b": {2, 1}, "c": {4}}
	for _, s := range d.panels[0].Lines {
		if l := d.line(s); !slices.Equal(l.X, want[s.Name]) {
			t.Errorf("%s goes over %v, want %v", s.Name, l.X, want[s.Name])
		}
	}
	if len(d.panels[0].Lines) != len(want) {
		t.Errorf("%d lines, want %d", len(d.panels[0].Lines), len(want))
	}
	if _, err := (Chart{X: "evictions", Y: "hit_ratio", Along: []string{"eta", "p"}}).arrange(recs); err == nil {
		t.Error("dimensions that no record has are no error")
	}
}

// A share lies between 0 and 1, and so does the interval of its mean; that of misses may be as wide as it is.
func TestIntervalsOfSharesAreShares(t *testing.T) {
	for _, test := range []struct{ mean, low, high float64 }{{0.5, 0.3, 0.7}, {0.9, 0.7, 1}, {0.1, 0, 0.3}} {
		p := results.Point{Estimate: results.Estimate{Mean: test.mean, Margin: 0.2, Seeds: 2}}
		d := drawing{Chart: Chart{Y: "hit_ratio"}}
		if low, high := d.interval(p); math.Abs(low-test.low) > 1e-12 || math.Abs(high-test.high) > 1e-12 {
			t.Errorf("%v ± 0.2 is drawn from %v to %v", test.mean, low, high)
		}
	}
	d := drawing{Chart: Chart{Y: "misses"}}
	if _, high := d.interval(results.Point{Estimate: results.Estimate{Mean: 9, Margin: 2}}); high != 11 {
		t.Errorf("9 ± 2 misses are drawn up to %v", high)
	}
}

// drawChart draws a chart into a folder and returns the names of the files.
func drawChart(dir string, c Chart, recs []records.Record) (files []string, err error) {
	d, err := c.Draw(recs, canvas.SVG, canvas.PNG, canvas.PDF)
	if err != nil {
		return nil, err
	}
	for _, f := range d.Files {
		files = append(files, f.Name)
	}
	return files, Write(dir, d)
}
