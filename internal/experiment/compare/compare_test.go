package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/peers"
)

// rec returns a record of a replay of 1000 requests.
func rec(trace, policy, capacity string, hits int64, change ...func(*records.Record)) records.Record {
	r := records.Record{Trace: trace, Origin: records.Origin{TraceFiles: trace, TraceChecksum: "sha256:" + trace},
		Policy: policy, Label: policy,
		Kind: records.Online, Cache: "exact", CapacityText: capacity, CapacityUnit: records.Objects, SampleRate: 1}
	fmt.Sscanf(capacity, "%d", &r.Capacity)
	r.SetInt(metric.Requests, 1000)
	r.SetInt(metric.Hits, hits)
	r.SetInt(metric.Misses, 1000-hits)
	r.Set(metric.HitRatio, float64(hits)/1000)
	for _, f := range change {
		f(&r)
	}
	return r
}

func seed(n uint64) func(*records.Record) { return func(r *records.Record) { r.Seed = n } }

func newRun(name string, recs ...records.Record) *Run {
	r := &Run{Name: name, path: name}
	r.add(name, recs)
	r.Notes = nil
	return r
}

func compared(t *testing.T, o Options, runs ...*Run) *Comparison {
	t.Helper()
	return must.Get(Compare(runs, o))(t)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The differences over three traces are 0.02, 0.01 and 0.02: their mean is 0.05/3, their standard deviation 0.01/√3,
// and with the 97.5% quantile of Student's t for two degrees of freedom, 4.302653, the margin is 4.302653 x 0.01/3.
func TestDifferenceOverTraces(t *testing.T) {
	old := newRun("old", rec("a", "lru", "10", 500), rec("b", "lru", "10", 600), rec("c", "lru", "10", 700))
	is := newRun("new", rec("a", "lru", "10", 520), rec("b", "lru", "10", 610), rec("c", "lru", "10", 720))
	c := compared(t, Options{}, old, is)
	row := c.Versus[0].Rows[0]
	near(t, "the old mean", row.Old, 0.6)
	near(t, "the new mean", row.New, 1.85/3)
	near(t, "the difference", row.Difference, 0.05/3)
	near(t, "the margin", float64(row.Margin), 4.302653*0.01/3)
	near(t, "the ratio", float64(row.Ratio), math.Cbrt(0.48/0.5*0.39/0.4*0.28/0.3))
	if row.Samples != 3 || row.Outcome != Better || row.Won != 3 || len(c.Versus[0].Rows) != 1 {
		t.Errorf("the row is %+v", row)
	}
}

// With 0.02, -0.01 and 0.02 the margin is larger than the mean.
func TestDifferenceWithinItsIntervalIsATie(t *testing.T) {
	old := newRun("old", rec("a", "lru", "10", 500), rec("b", "lru", "10", 600), rec("c", "lru", "10", 700))
	is := newRun("new", rec("a", "lru", "10", 520), rec("b", "lru", "10", 590), rec("c", "lru", "10", 720))
	c := compared(t, Options{}, old, is)
	row := c.Versus[0].Rows[0]
	near(t, "the margin", float64(row.Margin), 4.302653*0.01)
	if row.Outcome != Tie || row.Won != 2 || row.Lost != 1 {
		t.Errorf("the row is %+v", row)
	}
	if text := printed(t, c, "table"); !strings.Contains(text, " ~ ") ||
		!strings.Contains(text, "−3.30 to +5.30") || !strings.Contains(text, "over 3 traces") {
		t.Errorf("the table is\n%s", text)
	}
}

// On one trace, seeds are the samples: the differences are 0.01 and 0.03, the margin 12.706205 x 0.01.
func TestDifferenceOverSeeds(t *testing.T) {
	old := newRun("old", rec("a", "random", "10", 500, seed(1)), rec("a", "random", "10", 500, seed(2)))
	is := newRun("new", rec("a", "random", "10", 530, seed(2)), rec("a", "random", "10", 510, seed(1)))
	c := compared(t, Options{}, old, is)
	row := c.Versus[0].Rows[0]
	near(t, "the difference", row.Difference, 0.02)
	near(t, "the margin", float64(row.Margin), 12.706205*0.01)
	if row.Samples != 2 || row.Outcome != Tie || row.Tied != 1 {
		t.Errorf("the row is %+v", row)
	}
}

// Seeds of one trace are no independent samples where there are several traces.
func TestSeedsAreAveragedBeforeTraces(t *testing.T) {
	var old, is []records.Record
	for i, trace := range []string{"a", "b"} {
		for n := range uint64(3) {
			old = append(old, rec(trace, "random", "10", 500, seed(n)))
			is = append(is, rec(trace, "random", "10", 510+10*int64(i)+int64(n), seed(n)))
		}
	}
	c := compared(t, Options{}, newRun("old", old...), newRun("new", is...))
	row := c.Versus[0].Rows[0]
	near(t, "the difference", row.Difference, 0.016)
	near(t, "the margin", float64(row.Margin), 12.706205*0.005)
	if row.Samples != 2 || c.Versus[0].Cells[0].Samples != 3 {
		t.Errorf("%d samples in the row, %d in its first cell", row.Samples, c.Versus[0].Cells[0].Samples)
	}
}

func TestSinglePairHasNoInterval(t *testing.T) {
	c := compared(t, Options{}, newRun("old", rec("a", "lru", "10", 500)), newRun("new", rec("a", "lru", "10", 499)))
	row := c.Versus[0].Rows[0]
	if row.Samples != 1 || !math.IsNaN(float64(row.Margin)) || row.Outcome != Worse || row.Lost != 1 {
		t.Errorf("the row is %+v", row)
	}
	text := printed(t, c, "table")
	if !strings.Contains(text, "a single pair in each row: there is no interval") || strings.Contains(text, "95%") ||
		!strings.Contains(text, "−0.10") {
		t.Errorf("the table is\n%s", text)
	}
	if strings.Contains(printed(t, c, "json"), `"margin":0`) {
		t.Error("JSON has a margin")
	}
}

// Rows of one trace have no interval either if they are means over capacities, and some rows may have one.
func TestNotesOnIntervals(t *testing.T) {
	a, b := rec("a", "lru", "10", 500), rec("a", "lru", "20", 500)
	c := compared(t, Options{Rows: []string{"policy"}}, newRun("old", a, b), newRun("new", a, b))
	if text := printed(t, c, "table"); !strings.Contains(text, "one trace and one seed in each row: there is no ") {
		t.Errorf("the table is\n%s", text)
	}
	recs := []records.Record{rec("a", "lru", "10", 500), rec("a", "random", "10", 500, seed(1)),
		rec("a", "random", "10", 510, seed(2))}
	c = compared(t, Options{}, newRun("old", recs...), newRun("new", recs...))
	if text := printed(t, c, "table"); !strings.Contains(text, "over n seeds; a single one has none, and its") {
		t.Errorf("the table is\n%s", text)
	}
}

// Seeds that no random choice depends on need not be the same; others do.
func TestSeedsOfPoliciesWithoutChoices(t *testing.T) {
	old := newRun("old", rec("a", "lru", "10", 500, seed(1)), rec("a", "random", "10", 500, seed(1)))
	is := newRun("new", rec("a", "lru", "10", 500, seed(2)), rec("a", "random", "10", 510, seed(2)))
	c := compared(t, Options{}, old, is)
	if v := c.Versus[0]; len(v.Cells) != 1 || fmt.Sprint(v.OnlyOld) != "[random at 10, seed 1 on a (seed 1 and 2)]" ||
		fmt.Sprint(v.OnlyNew) != "[random at 10, seed 2 on a (seed 2 and 1)]" {
		t.Errorf("%d cells, without partners %s and %s", len(v.Cells), v.OnlyOld, v.OnlyNew)
	}
	c = compared(t, Options{Ignore: []string{"seed"}}, newRun("old", rec("a", "random", "10", 500, seed(1))),
		newRun("new", rec("a", "random", "10", 510, seed(2))))
	if len(c.Versus[0].Cells) != 1 {
		t.Error("different seeds are not compared with --ignore seed")
	}
}

// anyRun draws the results of a run on some traces, at some capacities and with some seeds.
func anyRun(t *rapid.T) (recs []records.Record) {
	for _, trace := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "traces")] {
		for _, policy := range []string{"lru", "random"} {
			for _, capacity := range []string{"10", "20"} {
				for n := range rapid.Uint64Range(1, 3).Draw(t, "seeds") {
					recs = append(recs, rec(trace, policy, capacity, rapid.Int64Range(0, 1000).Draw(t, "hits"), seed(n)))
				}
			}
		}
	}
	return recs
}

// changed returns the same cells with other hits.
func changed(t *rapid.T, recs []records.Record) []records.Record {
	recs = slices.Clone(recs)
	for i := range recs {
		recs[i] = rec(recs[i].Trace, recs[i].Policy, recs[i].CapacityText, rapid.Int64Range(0, 1000).Draw(t, "hits"),
			seed(recs[i].Seed))
	}
	return recs
}

func TestRunIsEqualToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := anyRun(t)
		c := must.Get(Compare([]*Run{newRun("old", recs...), newRun("new", recs...)}, Options{}))(t)
		for _, row := range c.Versus[0].Rows {
			if row.Outcome != Equal || row.Difference != 0 || row.Won+row.Lost != 0 {
				t.Fatalf("%+v", row)
			}
		}
		if v := c.Versus[0]; len(v.OnlyOld)+len(v.OnlyNew) != 0 {
			t.Fatalf("without partners are %s and %s", v.OnlyOld, v.OnlyNew)
		}
	})
}

// The other way round, differences have the other sign, ratios are inverse, and who won has lost.
func TestOrderReversesSigns(t *testing.T) {
	opposite := map[Outcome]Outcome{Equal: Equal, Tie: Tie, Better: Worse, Worse: Better}
	rapid.Check(t, func(t *rapid.T) {
		recs := anyRun(t)
		others := changed(t, recs)
		there := must.Get(Compare([]*Run{newRun("a", recs...), newRun("b", others...)}, Options{}))(t).Versus[0]
		back := must.Get(Compare([]*Run{newRun("b", others...), newRun("a", recs...)}, Options{}))(t).Versus[0]
		for i, row := range there.Rows {
			other := back.Rows[i]
			margins := math.Abs(row.Margin.orZero() - other.Margin.orZero())
			if math.Abs(row.Difference+other.Difference) > 1e-12 || margins > 1e-12 ||
				row.Outcome != opposite[other.Outcome] || row.Won != other.Lost || row.Lost != other.Won ||
				math.Abs(float64(row.Ratio*other.Ratio)-1) > 1e-9 {
				t.Fatalf("%+v\nthe other way round %+v", row, other)
			}
		}
	})
}

// A miss ratio of 0 has no ratio; a difference it has.
func TestRatiosOfNoMissesAreLeftOut(t *testing.T) {
	old := newRun("old", rec("a", "lru", "10", 1000), rec("b", "lru", "10", 500))
	is := newRun("new", rec("a", "lru", "10", 900), rec("b", "lru", "10", 750))
	row := compared(t, Options{}, old, is).Versus[0].Rows[0]
	near(t, "the ratio", float64(row.Ratio), 0.5)
	near(t, "the difference", row.Difference, 0.075)
	c := compared(t, Options{}, newRun("old", rec("a", "lru", "10", 1000)), newRun("new", rec("a", "lru", "10", 1000)))
	if !math.IsNaN(float64(c.Versus[0].Rows[0].Ratio)) || !strings.Contains(printed(t, c, "json"), `"ratio":null`) {
		t.Errorf("no ratio is %v", c.Versus[0].Rows[0].Ratio)
	}
}

// Of misses fewer are better, and of evictions neither more nor fewer.
func TestDirections(t *testing.T) {
	more := func(r *records.Record) { r.SetInt(metric.Evictions, 5) }
	old, is := rec("a", "lru", "10", 500), rec("a", "lru", "10", 400, more)
	for name, want := range map[string]Outcome{"hit_ratio": Worse, "hits": Worse, "misses": Worse} {
		c := compared(t, Options{Metric: name}, newRun("o", old), newRun("n", is))
		if got := c.Versus[0].Rows[0]; got.Outcome != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	old.SetInt(metric.Evictions, 4)
	c := compared(t, Options{Metric: "evictions"}, newRun("o", old), newRun("n", is))
	if row := c.Versus[0].Rows[0]; row.Outcome != Above || row.Won != 1 {
		t.Errorf("evictions: %+v", row)
	}
	if _, err := Compare([]*Run{newRun("o", old), newRun("n", is)}, Options{Metric: "evictions",
		Gate: Gate{FailIf: FailIfWorse}}); err == nil {
		t.Error("evictions can become worse")
	}
}

// What another program printed with few digits is a tie within these digits.
func TestRoundedValues(t *testing.T) {
	printedAs := func(x float64) *Run {
		row := peers.Row{Record: rec("a", "lru", "10", 0), Rounding: map[string]float64{"hit_ratio": 0.00005}}
		row.Set(metric.HitRatio, x)
		return &Run{Name: "theirs", path: "theirs", theirs: true, results: []*result{{Row: row}}}
	}
	ours := func() *Run {
		return newRun("ours", rec("a", "lru", "10", 0, func(r *records.Record) { r.Set(metric.HitRatio, 0.12344) }))
	}
	for x, want := range map[float64]Outcome{0.1234: Tie, 0.1235: Better, 0.1233: Worse} {
		if got := compared(t, Options{}, ours(), printedAs(x)).Versus[0].Rows[0].Outcome; got != want {
			t.Errorf("0.12344 and %v printed: %s, want %s", x, got, want)
		}
	}
}

func TestOtherTracesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*records.Record){
		"a is not the same trace in old and new: the checksums are sha256:a and sha256:012345678901...; ": func(
			r *records.Record) {
			r.TraceChecksum = "sha256:0123456789012345678901234567890123456789"
		},
		"it was generated by zipf and by scan; ": func(r *records.Record) {
			r.TraceChecksum, r.TraceGenerator = "", "scan"
		},
		"it has 1,000 and 900 requests; ": func(r *records.Record) { r.SetInt(metric.Requests, 900) },
	} {
		generated := func(r *records.Record) { r.TraceGenerator = "zipf" }
		runs := func() []*Run {
			return []*Run{newRun("old", rec("a", "lru", "10", 1, generated)), newRun("new", rec("a", "lru", "10", 2, change))}
		}
		if _, err := Compare(runs(), Options{}); err == nil || !strings.Contains(err.Error(), want+
			"--allow-trace-change compares it nevertheless") {
			t.Errorf("got %v, want %s", err, want)
		}
		c := compared(t, Options{AllowTraceChange: true}, runs()...)
		if len(c.Notes) != 1 || !strings.HasPrefix(c.Notes[0], "a is not the same trace in old and new: ") {
			t.Errorf("notes are %q", c.Notes)
		}
	}
}

// A share of a changed trace is another number, and the sentence comes all the same.
func TestSharesOfOtherTraces(t *testing.T) {
	share := func(n int64, sum string) func(*records.Record) {
		return func(r *records.Record) { r.Capacity, r.TraceChecksum = n, sum }
	}
	runs := func() []*Run {
		return []*Run{newRun("old", rec("a", "lru", "10%", 1, share(46, "sha256:1"))),
			newRun("new", rec("a", "lru", "10%", 2, share(45, "sha256:2")))}
	}
	if _, err := Compare(runs(), Options{}); err == nil || !strings.HasPrefix(err.Error(), "a is not the same trace") {
		t.Errorf("got %v", err)
	}
	if c := compared(t, Options{AllowTraceChange: true}, runs()...); len(c.Versus[0].Cells) != 1 {
		t.Errorf("%+v", c.Versus[0])
	}
}

func TestMatching(t *testing.T) {
	warm := func(r *records.Record) { r.Warmup = 100; r.SetInt(metric.Requests, 900) }
	next := func(r *records.Record) { r.Prefetcher = "next" }
	wide := func(r *records.Record) { r.Label, r.Params = "s3fifo(small=0.2)", "small=0.2" }
	for name, test := range map[string]struct {
		old, is records.Record
		ignore  string
		err     string
	}{
		"warm-up": {rec("a", "lru", "10", 1), rec("a", "lru", "10", 1, warm), "warmup", "in warmup 0 and 100; --ignore"},
		"prefetcher": {rec("a", "lru", "10", 1), rec("a", "lru", "10", 1, next), "prefetcher",
			"in prefetcher none and next;"},
		"policy": {rec("a", "lru", "10", 1), rec("a", "fifo", "10", 1), "policy", "in policy lru and fifo;"},
		"capacity": {rec("a", "lru", "10", 1), rec("a", "lru", "20", 1), "capacity",
			"in capacity 10 objects and 20 objects;"},
		"parameters": {rec("a", "s3fifo", "10", 1), rec("a", "s3fifo", "10", 1, wide), "params",
			"in policy s3fifo and s3fifo(small=0.2);"},
		"trace": {rec("a", "lru", "10", 1), rec("b", "lru", "10", 1), "", "in trace a and b;"},
	} {
		runs := func() []*Run { return []*Run{newRun("old", test.old), newRun("new", test.is)} }
		if _, err := Compare(runs(), Options{}); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: got %v, want %s", name, err, test.err)
		}
		if test.ignore == "" {
			continue
		}
		if c := compared(t, Options{Ignore: []string{test.ignore}}, runs()...); len(c.Versus[0].Cells) != 1 {
			t.Errorf("%s: no cell with --ignore %s", name, test.ignore)
		}
	}
	_, err := Compare([]*Run{newRun("old", rec("a", "lru", "10", 1)), newRun("new", rec("a", "lru", "10", 1))},
		Options{Ignore: []string{"trace"}})
	if err == nil || !strings.HasPrefix(err.Error(), `--ignore: unknown property "trace"`) {
		t.Errorf("traces are ignored: %v", err)
	}
}

// A result that a run has twice counts once if its values are the same, and is an error otherwise.
func TestRepetitions(t *testing.T) {
	once, other := rec("a", "lru", "10", 1), rec("a", "lru", "10", 2)
	c := compared(t, Options{}, newRun("old", once, once), newRun("new", once))
	if !slices.Equal(c.Notes, []string{"old: 1 result left out, the same as another one"}) ||
		len(c.Versus[0].Cells) != 1 {
		t.Errorf("notes are %q", c.Notes)
	}
	if _, err := Compare([]*Run{newRun("old", once), newRun("new", once, other)}, Options{}); err == nil ||
		err.Error() != "new has two results of lru at 10 on a; remove one of them, or leave it out with --only" {
		t.Errorf("got %v", err)
	}
	_, err := Compare([]*Run{newRun("old", once), newRun("new", once, rec("a", "fifo", "10", 1))},
		Options{Ignore: []string{"policy"}})
	if err == nil || !strings.Contains(err.Error(), "because --ignore policy makes them one cell") {
		t.Errorf("got %v", err)
	}
}

func TestOnly(t *testing.T) {
	recs := []records.Record{rec("a", "lru", "10", 1), rec("a", "fifo", "10", 2), rec("b", "lru", "20", 3)}
	for only, want := range map[string]int{"policy=lru": 2, "policy=lru,fifo": 3, "trace=b": 1, "capacity=20": 1} {
		c := compared(t, Options{Only: []string{only}}, newRun("old", recs...), newRun("new", recs...))
		if got := len(c.Versus[0].Cells); got != want {
			t.Errorf("%s: %d cells, want %d", only, got, want)
		}
	}
	for only, want := range map[string]string{
		"policy=lur": `--only "policy=lur": unknown policy "lur"; did you mean "lru"?`,
		"policy":     `--only "policy": want a dimension and its places`,
		"size=3":     `--only "size=3": unknown dimension "size"`,
	} {
		_, err := Compare([]*Run{newRun("old", recs...), newRun("new", recs...)}, Options{Only: []string{only}})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", only, err, want)
		}
	}
	_, err := Compare([]*Run{newRun("old", recs...), newRun("new", recs[2])}, Options{Only: []string{"trace=a"}})
	if err == nil || err.Error() != `--only "trace=a": nothing of new is left` {
		t.Errorf("got %v", err)
	}
}

// Parameters that one label hides, and other ways to read a trace, are noted once.
func TestWhatElseDiffers(t *testing.T) {
	with := func(params, format string) func(*records.Record) {
		return func(r *records.Record) { r.Params, r.InputFormat = params, format }
	}
	c := compared(t, Options{}, newRun("old", rec("a", "s3fifo", "10", 1, with("small=0.1", "csv")),
		rec("a", "s3fifo", "20", 1, with("small=0.1", "csv")), rec("a", "lru", "20", 1, with("", "csv"))),
		newRun("new", rec("a", "s3fifo", "10", 1, with("small=0.2", "csv:key=2")),
			rec("a", "s3fifo", "20", 1, with("small=0.2", "csv:key=2")), rec("a", "lru", "20", 1, with("x=1", ""))))
	want := []string{"old and new: parameters of s3fifo differ: small=0.1 and small=0.2",
		"old and new: a was read in two ways: csv and csv:key=2"}
	if !slices.Equal(c.Notes, want) {
		t.Errorf("notes are %q", c.Notes)
	}
}

// Rows are at the places of chosen dimensions; the others are averaged. Capacities of one trace are one sample.
func TestRows(t *testing.T) {
	var old, is []records.Record
	for i, trace := range []string{"a", "b"} {
		for j, capacity := range []string{"10", "20"} {
			old = append(old, rec(trace, "lru", capacity, 500))
			is = append(is, rec(trace, "lru", capacity, 510+int64(20*i+10*j)))
		}
	}
	for rows, want := range map[string]string{
		"":               "10 lru n=2 d=0.0200 | 20 lru n=2 d=0.0300",
		"policy":         "lru n=2 d=0.0250",
		"trace,policy":   "a lru n=1 d=0.0150 | b lru n=1 d=0.0350",
		"trace,capacity": "a 10 n=1 d=0.0100 | a 20 n=1 d=0.0200 | b 10 n=1 d=0.0300 | b 20 n=1 d=0.0400",
	} {
		o := Options{}
		if rows != "" {
			o.Rows = strings.Split(rows, ",")
		}
		var got []string
		for _, row := range compared(t, o, newRun("old", old...), newRun("new", is...)).Versus[0].Rows {
			got = append(got, fmt.Sprintf("%s n=%d d=%.4f", strings.Join(row.Places, " "), row.Samples, row.Difference))
		}
		if rows == "trace,capacity" {
			slices.Sort(got)
		}
		if strings.Join(got, " | ") != want {
			t.Errorf("%s: got %q, want %q", rows, got, want)
		}
	}
	_, err := Compare([]*Run{newRun("old", old...), newRun("new", is...)}, Options{Rows: []string{"polcy"}})
	if err == nil || !strings.HasPrefix(err.Error(), `--rows: unknown dimension "polcy"; did you mean "policy"?`) {
		t.Errorf("got %v", err)
	}
}

// Capacities that would be rounded to one text are different rows.
func TestCapacitiesThatLookAlike(t *testing.T) {
	recs := []records.Record{rec("a", "lru", "x", 1, bytesOf(5<<20)), rec("a", "lru", "y", 1, bytesOf(5<<20+1))}
	rows := compared(t, Options{}, newRun("old", recs...), newRun("new", recs...)).Versus[0].Rows
	if len(rows) != 2 || rows[0].Places[0] != "5,242,880 B" || rows[1].Places[0] != "5,242,881 B" {
		t.Errorf("rows are %+v", rows)
	}
}

// Axes of an experiment tell rows apart, and so do parts in which the policies of a run differ.
func TestAxesAndParts(t *testing.T) {
	at := func(axes string) func(*records.Record) { return func(r *records.Record) { r.Axes = axes } }
	next := func(r *records.Record) { r.Prefetcher = "next" }
	recs := []records.Record{rec("a", "lru", "10", 1, at("alpha=0.8")), rec("a", "lru", "10", 2, at("alpha=1.2")),
		rec("a", "lru", "10", 3, at("alpha=1.2"), next)}
	var got []string
	for _, row := range compared(t, Options{}, newRun("old", recs...), newRun("new", recs...)).Versus[0].Rows {
		got = append(got, strings.Join(row.Places, "; "))
	}
	want := []string{"10; lru, no prefetcher; 0.8", "10; lru, no prefetcher; 1.2", "10; lru, next; 1.2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Results without the metric are counted; if none has it, the error says which metrics there are.
func TestMetricThatSomeLack(t *testing.T) {
	slow := func(r *records.Record) { r.Set(metric.ByteHitRatio, 0.5) }
	runs := func() []*Run {
		return []*Run{newRun("old", rec("a", "lru", "10", 1, slow), rec("a", "fifo", "10", 1)),
			newRun("new", rec("a", "lru", "10", 1, slow), rec("a", "fifo", "10", 1))}
	}
	c := compared(t, Options{Metric: "byte_hit_ratio"}, runs()...)
	if !slices.Equal(c.Notes, []string{"1 cell of old and new left out: without byte_hit_ratio in both"}) {
		t.Errorf("notes are %q", c.Notes)
	}
	_, err := Compare(runs(), Options{Metric: "competitive_ratio"})
	if err == nil || !strings.Contains(err.Error(), "has competitive_ratio in both; want one of requests, hits, misses") {
		t.Errorf("got %v", err)
	}
	if _, err = Compare(runs(), Options{Metric: "hit_rato"}); err == nil || !strings.Contains(err.Error(),
		`unknown metric "hit_rato"; did you mean "hit_ratio"?`) {
		t.Errorf("got %v", err)
	}
}

func TestOneRunNeedsABaseline(t *testing.T) {
	_, err := Compare([]*Run{newRun("old", rec("a", "lru", "10", 1))}, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "only one run is given") {
		t.Errorf("got %v", err)
	}
}

func printed(t *testing.T, c *Comparison, format string) string {
	t.Helper()
	var out strings.Builder
	must.Do(t, c.Print(&out, format, 0))
	return out.String()
}
