package compare

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// overTraces returns fifo with 600 misses on five traces, and a policy that misses 10% to 50% less.
func overTraces() (recs []records.Record) {
	for i := range int64(5) {
		trace := fmt.Sprintf("t%d", i)
		recs = append(recs, rec(trace, "fifo", "10", 400), rec(trace, "sieve", "10", 1000-(600-60*(i+1))))
	}
	return recs
}

// The reductions are 0.1, 0.2, 0.3, 0.4 and 0.5. P10 lies at 0.4 of the way from the first to the second, as NumPy has
// it: numpy.percentile([.1, .2, .3, .4, .5], [10, 25, 50, 75, 90]) is [.14, .2, .3, .4, .46]. The standard deviation is
// √0.025, and the 97.5% quantile of Student's t for four degrees of freedom 2.776445.
func TestReductions(t *testing.T) {
	c := compared(t, Options{Against: "fifo"}, newRun("run", overTraces()...))
	if len(c.Reductions.Rows) != 1 {
		t.Fatalf("%d rows, want that of sieve", len(c.Reductions.Rows))
	}
	r := c.Reductions.Rows[0]
	near(t, "the mean", r.Mean, 0.3)
	near(t, "the margin", float64(r.Margin), 2.776445*math.Sqrt(0.025/5))
	for i, want := range []float64{0.14, 0.2, 0.3, 0.4, 0.46} {
		near(t, fmt.Sprintf("P%d", percentiles[i]), r.Percentiles[i], want)
	}
	if r.Policy != "sieve" || r.Capacity != "10" || r.Traces != 5 || r.BestOn != 5 || r.WorseOn != 0 ||
		c.Reductions.Title != "miss ratio reduction from fifo" {
		t.Errorf("%s: %+v", c.Reductions.Title, r)
	}
}

// Where a policy misses more, the reduction is negative: of the baseline's misses, or of its own if it is symmetric, as
// in the scripts of the authors of S3-FIFO.
func TestReductionsBelowZero(t *testing.T) {
	recs := []records.Record{rec("a", "fifo", "10", 800), rec("a", "mru", "10", 200)}
	c := compared(t, Options{Against: "fifo"}, newRun("run", recs...))
	near(t, "the reduction", c.Reductions.Rows[0].Mean, (0.2-0.8)/0.2)
	if r := c.Reductions.Rows[0]; r.WorseOn != 1 || r.BestOn != 0 {
		t.Errorf("%+v", r)
	}
	c = compared(t, Options{Against: "fifo", Symmetric: true}, newRun("run", recs...))
	near(t, "the symmetric reduction", c.Reductions.Rows[0].Mean, -(0.8-0.2)/0.8)
	if text := printed(t, c, "table"); !strings.Contains(text, "share of its own value") ||
		!strings.Contains(text, "−75.0%") {
		t.Errorf("the table is\n%s", text)
	}
}

// A share of the trace is one capacity on all traces. Seeds are averaged before the ratio is taken.
func TestReductionsAtShares(t *testing.T) {
	share := func(n int64) func(*records.Record) { return func(r *records.Record) { r.Capacity = n } }
	recs := []records.Record{
		rec("a", "fifo", "10%", 0, share(5)), rec("a", "random", "10%", 400, share(5), seed(1)),
		rec("a", "random", "10%", 200, share(5), seed(2)), rec("b", "fifo", "10%", 500, share(7)),
		rec("b", "random", "10%", 500, share(7), seed(1)), rec("b", "random", "10%", 700, share(7), seed(2)),
		rec("b", "random", "1%", 700, share(1), seed(2)),
	}
	c := compared(t, Options{Against: "fifo"}, newRun("run", recs...))
	if len(c.Reductions.Rows) != 1 || c.Reductions.Rows[0].Capacity != "10%" {
		t.Fatalf("%+v", c.Reductions.Rows)
	}
	near(t, "the mean", c.Reductions.Rows[0].Mean, (0.3+0.2)/2)
	if !slices.Equal(c.Notes, []string{"run: 1 result not compared with fifo, which has no result there"}) {
		t.Errorf("notes are %q", c.Notes)
	}
}

// Conditions on policies leave the baseline in either order, conditions on traces do not.
func TestReductionsOfSome(t *testing.T) {
	for _, only := range [][]string{{"policy=sieve", "trace=t0,t1"}, {"trace=t0,t1", "policy=sieve"}} {
		c := compared(t, Options{Against: "fifo", Only: only}, newRun("run", overTraces()...))
		if r := c.Reductions.Rows; len(r) != 1 || r[0].Traces != 2 || len(c.Notes) != 0 {
			t.Errorf("%q: %+v, notes %q", only, r, c.Notes)
		}
	}
}

// JSON has no margin of a single trace.
func TestReductionsAsJSON(t *testing.T) {
	const margin = `"margin":null`
	c := compared(t, Options{Against: "fifo"}, newRun("run", overTraces()[:2]...))
	if text := printed(t, c, "json"); !strings.Contains(text, margin) || strings.Contains(text, `"failed"`) {
		t.Errorf("JSON of one trace is %s", text)
	}
	c = compared(t, Options{Against: "fifo"}, newRun("run", overTraces()...))
	if text := printed(t, c, "json"); strings.Contains(text, margin) || !strings.Contains(text, `"p10":0.1`) {
		t.Errorf("JSON is %s", text)
	}
}

// Numbers that differ from trace to trace are compared by their order.
func TestReductionsAtRanks(t *testing.T) {
	var recs []records.Record
	for i, trace := range []string{"a", "b"} {
		for _, size := range []int{100, 20} {
			capacity := fmt.Sprint(size + i)
			recs = append(recs, rec(trace, "fifo", capacity, 0), rec(trace, "lru", capacity, int64(size)))
		}
	}
	c := compared(t, Options{Against: "fifo"}, newRun("run", recs...))
	var got []string
	for _, r := range c.Reductions.Rows {
		got = append(got, fmt.Sprintf("%s %.2f", r.Capacity, r.Mean))
	}
	if want := []string{"size 1 of 2 0.02", "size 2 of 2 0.10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A run without the baseline is compared with that of another run, and the policy that is left by --only with one that
// is not.
func TestBaselineElsewhere(t *testing.T) {
	theirs := newRun("theirs", rec("t0", "arc", "10", 700))
	c := compared(t, Options{Against: "fifo", Only: []string{"policy=arc,sieve"}}, newRun("ours",
		append(overTraces(), rec("t0", "arc", "10", 700))...), theirs)
	if !slices.Contains(c.Notes, "theirs has no fifo; it is compared with that of ours") {
		t.Errorf("notes are %q", c.Notes)
	}
	var got []string
	for _, r := range c.Reductions.Rows {
		got = append(got, r.Run+" "+r.Policy)
	}
	slices.Sort(got)
	if want := []string{"ours arc", "ours sieve", "theirs arc"}; !slices.Equal(got, want) {
		t.Errorf("rows are %q, want %q", got, want)
	}
}

func TestBaselineErrors(t *testing.T) {
	named := func(label string) func(*records.Record) { return func(r *records.Record) { r.Label = label } }
	for want, recs := range map[string][]records.Record{
		`--against: unknown policy "lru-k"`: {rec("a", "lru", "10", 1)},
		"--against: lru-k is the policy of several rows": {rec("a", "lru-k", "10", 1, named("lru-k(k=2)")),
			rec("a", "lru-k", "10", 1, named("lru-k(k=3)"))},
		"--against lru-k: no other policy has hit_ratio": {rec("a", "lru-k", "10", 1)},
	} {
		_, err := Compare([]*Run{newRun("run", recs...)}, Options{Against: "lru-k"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := Compare([]*Run{newRun("run", overTraces()...)}, Options{Against: "fifo", Metric: "evictions"})
	if err == nil || !strings.HasPrefix(err.Error(), "--against: more evictions is neither better nor worse") {
		t.Errorf("got %v", err)
	}
	c := compared(t, Options{Against: "fifo"}, newRun("run", append(overTraces(), rec("z", "fifo", "10", 1000),
		rec("z", "sieve", "10", 1000))...))
	if !slices.Equal(c.Notes, []string{"run: 1 result left out, where fifo has no misses"}) {
		t.Errorf("notes are %q", c.Notes)
	}
}

// The baseline has no prefetcher if a policy has one, and of what is to be large there are increases.
func TestBaselineWithoutParts(t *testing.T) {
	next := func(r *records.Record) { r.Prefetcher = "next" }
	c := compared(t, Options{Against: "lru", Metric: "hits"}, newRun("run", rec("a", "lru", "10", 400),
		rec("a", "lru", "10", 500, next)))
	if len(c.Reductions.Rows) != 1 || c.Reductions.Title != "hits increase over lru" {
		t.Fatalf("%s: %+v", c.Reductions.Title, c.Reductions.Rows)
	}
	near(t, "the increase", c.Reductions.Rows[0].Mean, 0.25)
	if r := c.Reductions.Rows[0]; r.BestOn != 1 || r.WorseOn != 0 {
		t.Errorf("more hits are not better: %+v", r)
	}
	if got := c.Reductions.Rows[0].Policy; got != "lru, next" {
		t.Errorf("the policy is %q", got)
	}
}

// A percentile lies between the values around it, and is in order with others.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 20).Draw(t, "values")
		slices.Sort(values)
		last := values[0]
		for _, p := range percentiles {
			x := percentile(p, values)
			if x < last || x > values[len(values)-1] {
				t.Fatalf("P%d of %v is %v", p, values, x)
			}
			last = x
		}
		if n := len(values); n%2 == 1 && percentile(50, values) != values[n/2] {
			t.Fatalf("the median of %v is %v", values, percentile(50, values))
		}
	})
}

// Each figure is drawn, the same bytes every time, under a name that every file system has.
func TestFigures(t *testing.T) {
	named := func(r *records.Record) { r.CapacityText = "10%" }
	var recs []records.Record
	for _, r := range overTraces() {
		named(&r)
		recs = append(recs, r)
	}
	draw := func() map[string][]byte {
		c := compared(t, Options{Against: "fifo"}, newRun("old", recs...), newRun("new", recs...))
		files := map[string][]byte{}
		for _, d := range must.Get(c.Figures(look.Options{}))(t) {
			for _, f := range d.Files {
				files[f.Name] = f.Data
			}
		}
		return files
	}
	files, again := draw(), draw()
	for _, name := range []string{"difference.svg", "difference.png", "reduction_at_10p.svg", "reduction_at_10p.png"} {
		if len(files[name]) == 0 || !bytes.Equal(files[name], again[name]) {
			t.Errorf("%s has %d bytes, and then %d", name, len(files[name]), len(again[name]))
		}
	}
	for name, texts := range map[string][]string{
		"difference.svg":       {"Hit ratio: new against old, 5 traces", "sieve at 10%", "with 95% intervals"},
		"reduction_at_10p.svg": {"Miss ratio reduction from fifo at 10%, 5 traces", "sieve in new", "box: P25 to P75"},
	} {
		for _, text := range texts {
			if !bytes.Contains(files[name], []byte(text)) {
				t.Errorf("%s does not say %q", name, text)
			}
		}
	}
	if got := fileName("size 1 of 2/.."); got != "size_1_of_2_.." {
		t.Errorf("the name of a file is %q", got)
	}
}

// So many rows that a figure shows the first of them.
func TestFiguresOfManyRows(t *testing.T) {
	var recs []records.Record
	for i := range mostDrawn + 5 {
		recs = append(recs, rec("a", "lru", fmt.Sprint(10+i), 500))
	}
	c := compared(t, Options{}, newRun("old", recs...), newRun("new", recs...))
	d := must.Get(c.Figures(look.Options{}))(t)
	if len(d) != 1 || !strings.HasSuffix(d[0].Title, ", the first 60 rows") {
		t.Errorf("the figure is called %q", d[0].Title)
	}
	c = compared(t, Options{}, newRun("old", recs[:mostDrawn]...), newRun("new", recs[:mostDrawn]...))
	if d := must.Get(c.Figures(look.Options{}))(t); strings.Contains(d[0].Title, "rows") {
		t.Errorf("the figure of all rows is called %q", d[0].Title)
	}
}

// Differences of metrics that are no shares are drawn in their unit.
func TestFigureOfCounts(t *testing.T) {
	c := compared(t, Options{Metric: metric.Misses.Name}, newRun("old", rec("a", "lru", "10", 500)),
		newRun("new", rec("a", "lru", "10", 400)))
	d := must.Get(c.Figures(look.Options{}))(t)
	if svg := string(d[0].SVG()); !strings.Contains(svg, "misses, new") || strings.Contains(svg, "percentage points") {
		t.Error("the figure does not say what it shows")
	}
}
