package results

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/records"
)

func cell(trace, policy string, capacity int64, ratio float64, change ...func(*records.Record)) records.Record {
	r := records.Record{
		Trace: trace, Policy: policy, Label: policy, Kind: "online", Cache: "exact",
		Capacity: capacity, CapacityText: fmt.Sprint(capacity), CapacityUnit: records.Objects,
		Values: metric.ValuesOf(map[string]float64{"requests": 1_000_000, "hit_ratio": ratio}),
	}
	switch policy {
	case "opt":
		r.Kind = "offline"
	case "pfoo-l":
		r.Kind = "bound"
	}
	for _, c := range change {
		c(&r)
	}
	r.SetInt(metric.Hits, int64(math.Round(r.Float(metric.HitRatio)*1e6)))
	r.SetInt(metric.Misses, r.Int(metric.Requests)-r.Int(metric.Hits))
	return r
}

func axes(text string) func(*records.Record) { return func(r *records.Record) { r.Axes = text } }

func seed(n uint64) func(*records.Record) {
	return func(r *records.Record) {
		r.Seed = n
		r.Set(metric.HitRatio, r.Float(metric.HitRatio)+0.01*float64(n))
	}
}

// classic is the input of a table of policies over capacities.
func classic() []records.Record {
	return []records.Record{
		cell("oltp", "lru", 250, 0.1647),
		cell("oltp", "lru", 1000, 0.32834),
		cell("oltp", "arc", 250, 0.20411, seed(0)),
		cell("oltp", "arc", 1000, 0.38926),
		cell("oltp", "random", 250, 0.17, seed(0)),
		cell("oltp", "random", 250, 0.17, seed(1)),
		cell("oltp", "random", 250, 0.17, seed(2)),
		cell("oltp", "opt", 250, 0.3839),
		cell("oltp", "opt", 1000, 0.5361),
		cell("oltp", "pfoo-l", 250, 0.4),
		cell("oltp", "infinite", 250, 0.9),
		cell("gli", "lru", 250, 0.0091),
		cell("gli", "arc", 250, 0.0091),
	}
}

var published = &Published{
	Name: "ARC paper", Metric: "hit_ratio", Within: 0.00005, Points: []PublishedPoint{
		{At: map[string]string{"trace": "oltp", "policy": "lru", "capacity": "250"}, Value: 0.1647},
		{At: map[string]string{"trace": "oltp", "policy": "lru", "capacity": "1000"}, Value: 0.3283},
		{At: map[string]string{"trace": "oltp", "policy": "arc", "capacity": "1000"}, Value: 0.3893},
		{At: map[string]string{"trace": "oltp", "policy": "opt", "capacity": "250"}, Value: 0.3847},
		{At: map[string]string{"trace": "oltp", "policy": "nobody", "capacity": "250"}, Value: 0.5},
	},
}

var pivots = map[string]struct {
	pivot Pivot
	recs  []records.Record
}{
	"policies": {Pivot{Cells: "hit_ratio"}, classic()},
	"misses":   {Pivot{Title: "Misses", Cells: "misses"}, classic()},
	"against":  {Pivot{Title: "Beside the paper", Cells: "hit_ratio", Against: published}, classic()},
	"shares": {
		Pivot{Rows: "trace", Columns: "policy", Cells: "hit_ratio"},
		[]records.Record{
			cell("a", "lru", 10, 0.1),
			cell("a", "arc", 10, 0.2),
			cell("a", "opt", 10, 0.5),
			cell("b", "lru", 10, 0.3),
			cell("b", "arc", 10, 0.3),
		},
	},
	"axis": {
		Pivot{Columns: "small", Cells: "hit_ratio", Panels: "capacity"},
		[]records.Record{
			cell("oltp", "s3fifo", 250, 0.2, axes("small=0.1")),
			cell("oltp", "s3fifo", 250, 0.21, axes("small=0.2")),
			cell("oltp", "lru", 250, 0.205),
			cell("oltp", "s3fifo", 500, 0.3, axes("small=0.1")),
			cell("oltp", "s3fifo", 500, 0.31, axes("small=0.2")),
			cell("oltp", "lru", 500, 0.305),
		},
	},
	"apart": {
		Pivot{Cells: "hit_ratio"},
		[]records.Record{
			cell("oltp", "s3fifo", 250, 0.2, axes("small=0.1")),
			cell("oltp", "s3fifo", 250, 0.21, axes("small=0.2")),
			cell("oltp", "lru", 250, 0.205),
		},
	},
	"percents": {
		Pivot{Cells: "hit_ratio"},
		[]records.Record{
			cell("a", "lru", 48, 0.2, func(r *records.Record) { r.CapacityText = "1%" }),
			cell("a", "lru", 48<<20, 0.9, func(r *records.Record) { r.CapacityText, r.CapacityUnit = "20%", records.Bytes }),
		},
	},
	"odd": {Pivot{Cells: "hit_ratio"}, []records.Record{cell("a|b\x1b[31m", "lru\n|*x*", 250, 0.2)}},
}

func TestPivotGolden(t *testing.T) {
	for name, c := range pivots {
		for format, ext := range map[string]string{"table": "txt", "markdown": "md", "csv": "csv"} {
			tables, err := c.pivot.Tables(c.recs)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got strings.Builder
			must.Do(t, tables.Print(&got, format, PrintOptions{}))
			path := filepath.Join("testdata", "pivot", name+"."+ext)
			if *update {
				must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must.Do(t, os.WriteFile(path, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			must.Do(t, err)
			if got.String() != string(want) {
				t.Errorf("%s as %s is\n%s\nwant\n%s", name, format, got.String(), want)
			}
		}
	}
}

func TestArrangeErrors(t *testing.T) {
	recs := classic()
	for name, c := range map[string]struct {
		layout Layout
		recs   []records.Record
		want   string
	}{
		"no records": {Layout{Lines: "policy", Along: "capacity", Metric: "misses"}, nil, "no records"},
		"dimension": {Layout{Lines: "polcy", Along: "capacity", Metric: "misses"}, recs, `unknown dimension "polcy"; did ` +
			`you mean "policy"?`},
		"metric": {Layout{Lines: "policy", Along: "capacity", Metric: "mises"}, recs, `unknown metric "mises"; did you ` +
			`mean "misses"?`},
		"absent": {Layout{Lines: "policy", Along: "capacity", Metric: "byte_hit_ratio"}, recs,
			"no record has the metric byte_hit_ratio"},
		"twice": {Layout{Lines: "policy", Along: "capacity", Metric: "misses"}, []records.Record{cell("a", "lru", 10, 0.1),
			cell("a",
				"lru", 10, 0.2)},
			"lru: two records of lru on a at capacity 10 from seed 0: misses is 900000 and 800000"},
	} {
		must.NotGet(Arrange(c.recs, c.layout))(t, c.want, name)
	}
	if _, err := (Pivot{Cells: "misses", Rows: "x"}).Tables(recs); err == nil ||
		!strings.Contains(err.Error(), "table of misses: unknown dimension") {
		t.Errorf("pivot: got error %v", err)
	}
	tables := must.Get(Pivot{Cells: "misses"}.Tables(recs))(t)
	if err := tables.Print(&strings.Builder{}, "json", PrintOptions{}); err == nil ||
		!strings.Contains(err.Error(), `unknown format "json"`) {
		t.Errorf("format: got error %v", err)
	}
}

// For a bound only hits and misses mean something, and a duplicate record counts once.
func TestArrangeLeavesOut(t *testing.T) {
	panels := must.Get(Arrange(append(classic(), classic()...),
		Layout{Lines: "policy", Along: "capacity", Panels: "trace", Metric: "evictions"}))(t)
	var names []string
	for _, s := range panels[0].Lines {
		names = append(names, s.Name)
		for _, p := range s.Points {
			if want := map[string]int{"random": 3}[s.Name]; p.Seeds != max(1, want) {
				t.Errorf("%s has %d seeds", s.Name, p.Seeds)
			}
		}
	}
	if !slices.Equal(names, []string{"lru", "arc", "random", "opt", "infinite"}) {
		t.Errorf("series %v", names)
	}
}

// Confidence intervals by the table of Student's t: 12.706 for 2 samples, 2.262 for 10.
func TestAverage(t *testing.T) {
	for _, c := range []struct {
		samples      []float64
		mean, margin float64
	}{
		{[]float64{0.3}, 0.3, 0},
		{[]float64{0.3, 0.3, 0.3}, 0.3, 0},
		{[]float64{1, 3}, 2, 12.7062 * math.Sqrt2 / math.Sqrt2},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5.5, 2.26216 * math.Sqrt(55.0/6) / math.Sqrt(10)},
	} {
		e := Average(c.samples)
		if math.Abs(e.Mean-c.mean) > 1e-12 || math.Abs(e.Margin-c.margin) > 1e-4 || e.Seeds != len(c.samples) {
			t.Errorf("%v: got %+v, want %v ± %v", c.samples, e, c.mean, c.margin)
		}
	}
}

// Every record is in exactly one series of each of its panels, and every mean is between the smallest and the largest
// value.
func TestArrangeKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := []string{"trace", "policy", "capacity", "seed", "small"}
		layout := Layout{
			Panels: rapid.SampledFrom(append(dims, "")).Draw(t, "panels"), Lines: rapid.SampledFrom(dims).Draw(t, "lines"),
			Along: rapid.SampledFrom(dims).Draw(t, "along"), Metric: "hit_ratio",
		}
		var recs []records.Record
		for _, trace := range []string{"a", "b"} {
			for _, policy := range []string{"lru", "s3fifo"} {
				for seedOf := range rapid.Uint64Range(1, 3).Draw(t, "seeds") {
					for _, small := range []string{"small=0.1", "small=0.2"} {
						r := cell(trace, policy, 10, rapid.Float64Range(0, 1).Draw(t, "ratio"), axes(small),
							func(r *records.Record) { r.Seed = seedOf })
						if policy == "lru" && small != "small=0.1" {
							continue
						}
						if policy == "lru" {
							r.Axes = ""
						}
						recs = append(recs, r)
					}
				}
			}
		}
		panels := must.Get(Arrange(recs, layout))(t)
		for _, p := range panels {
			want := 0
			for i := range recs {
				if v, ok := recs[i].Dim(layout.Panels); !ok || p.Name == PlaceName(layout.Panels, v) {
					want++
				}
			}
			got := 0
			for _, s := range p.Lines {
				for _, point := range s.Points {
					got += point.Seeds
					if point.Mean < 0 || point.Mean > 1 {
						t.Fatalf("mean %v", point.Mean)
					}
				}
			}
			if got != want {
				t.Fatalf("panel %q averages %d records, want %d: %+v", p.Name, got, want, layout)
			}
		}
	})
}

func TestPublishedPoints(t *testing.T) {
	p := Published{Points: []PublishedPoint{
		{At: map[string]string{"policy": "lru"}, Value: 1},
		{At: map[string]string{"policy": "lru", "capacity": "250.0"}, Value: 2},
		{At: map[string]string{"policy": "arc", "small": "0.1"}, Value: 3},
	}}
	for _, c := range []struct {
		r    records.Record
		want float64
	}{
		{cell("a", "lru", 250, 0), 2},
		{cell("a", "lru", 500, 0), 1},
		{cell("a", "arc", 250, 0, axes("small=0.10")), 3},
		{cell("a", "arc", 250, 0), 3},
	} {
		if x, ok := p.For(&c.r); !ok || x != c.want {
			t.Errorf("%s at %d: got %v, %v, want %v", c.r.Label, c.r.Capacity, x, ok, c.want)
		}
	}
	// The most specific number counts, wherever it is listed.
	slices.Reverse(p.Points)
	if x, ok := p.For(new(cell("a", "lru", 250, 0))); !ok || x != 2 {
		t.Errorf("reversed: got %v, %v", x, ok)
	}
	for _, r := range []records.Record{cell("a", "fifo", 250, 0), cell("a", "arc", 250, 0, axes("small=0.2"))} {
		if x, ok := p.For(&r); ok {
			t.Errorf("%s: got %v", r.Label, x)
		}
	}
}

func TestAgrees(t *testing.T) {
	p := Published{Within: 0.00005}
	for _, c := range []struct {
		ours, published float64
		want            bool
	}{
		{0.38465, 0.3847, true}, {0.384751, 0.3847, false}, {0.38464, 0.3847, false}, {0, 0, true}, {0.0001, 0, false},
	} {
		if got := p.Agrees(c.ours, c.published); got != c.want {
			t.Errorf("%v beside %v: %v", c.ours, c.published, got)
		}
	}
	exact := Published{}
	tenth, fifth := 0.1, 0.2 // variables, because Go adds constants exactly
	if tenth+fifth == 0.3 || !exact.Agrees(tenth+fifth, 0.3) || exact.Agrees(1_000_000, 1_000_001) {
		t.Error("exact numbers agree up to rounding alone")
	}
}

func TestMetricText(t *testing.T) {
	for _, c := range []struct {
		metric string
		x      float64
		want   string
	}{
		{"hit_ratio", 0.471234,
			"47.12%"}, {"misses", 914145, "914,145"}, {"misses", 914145.5, "914,146"}, {"competitive_ratio", 1.2, "1.200"},
		{"ns_per_request", 12.34, "12.3"}, {"ghost hits", 0.123456, "0.1235"},
	} {
		if got := records.MetricText(c.metric, c.x); got != c.want {
			t.Errorf("%s of %v: %s, want %s", c.metric, c.x, got, c.want)
		}
	}
	for _, c := range []struct {
		metric string
		x      float64
		want   string
	}{
		{"hit_ratio", 0.0002,
			"+0.02"}, {"hit_ratio", -0.0002, "−0.02"}, {"hit_ratio", 0.000001, "0"}, {"misses", 1200, "+1,200"},
		{"misses", 0, "0"},
	} {
		if got := records.DifferenceText(c.metric, c.x); got != c.want {
			t.Errorf("difference of %s of %v: %s, want %s", c.metric, c.x, got, c.want)
		}
	}
}

// Published numbers along a line are part of its series; published numbers of other lines are not.
func TestPublishedPointsOfASeries(t *testing.T) {
	p := Published{Points: []PublishedPoint{
		{At: map[string]string{"policy": "lru", "capacity": "250"}, Value: 1},
		{At: map[string]string{"policy": "lru", "capacity": "750"}, Value: 2},
		{At: map[string]string{"policy": "arc", "capacity": "750"}, Value: 3},
	}}
	panels := must.Get(Arrange([]records.Record{cell("a", "lru", 250, 0.1), cell("a", "lru", 500, 0.2)},
		Layout{Lines: records.DimPolicy, Along: records.DimCapacity, Metric: "hit_ratio"}))(t)
	got := ""
	for _, point := range p.PointsOf(&panels[0].Lines[0], records.DimCapacity) {
		got += fmt.Sprintf("%s: %v, ", point.Place.Text, point.Mean)
	}
	if want := "250: 1, 750: 2, "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// 1% is another number on every trace, so the number is left out of the header of a column with several traces.
func TestHeadingOfACapacityThatDiffers(t *testing.T) {
	percent := func(r *records.Record) { r.CapacityText = "1%" }
	for _, test := range []struct {
		second int64
		want   string
	}{{48, "1% (48)"}, {90, "1%"}} {
		cells := []records.Record{cell("a", "lru", 48, 0.2, percent), cell("b", "lru", test.second, 0.3, percent)}
		tables := must.Get(Pivot{Rows: records.DimTrace, Cells: "hit_ratio"}.Tables(cells))(t)
		if got := tables.Tables[0].Columns[0].Name; got != test.want {
			t.Errorf("48 and %d: heading %q, want %q", test.second, got, test.want)
		}
	}
}

// TestSharesOfOneTraceAreToldApart: capacities whose shares have the same text are different places, those of different
// traces are the same one.
func TestSharesOfOneTraceAreToldApart(t *testing.T) {
	var recs []records.Record
	for i, share := range []float64{0.0002112, 0.0002114, 0.5, 0.0002108} {
		r := cell([]string{"a", "a", "a", "b"}[i], "lru", int64(100+i), 0.1*float64(i+1))
		r.CapacityShare = &share
		recs = append(recs, r)
	}
	placesOf := func(recs []records.Record) (places []string) {
		panels := must.Get(Arrange(recs, Layout{Lines: records.DimTrace, Along: records.DimCapacityShare,
			Metric: "misses"}))(t)
		for _, line := range panels[0].Lines {
			for _, p := range line.Points {
				places = append(places, line.Name+" "+p.Place.Text)
			}
		}
		return places
	}
	if got, want := placesOf(recs), []string{"a 0.02112%", "a 0.02114%", "a 50%", "b 0.02108%"}; !slices.Equal(got,
		want) {
		t.Errorf("places %q, want %q", got, want)
	}
	if got, want := placesOf(recs[1:]), []string{"a 0.021%", "a 50%", "b 0.021%"}; !slices.Equal(got, want) {
		t.Errorf("places %q, want %q", got, want)
	}
}
