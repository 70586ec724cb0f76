package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/serving/hlem/nodemodels"
	"github.com/cachesim/cachesim/internal/sim"
)

func collectAll(t *testing.T, cells []experiment.Cell) []records.Record {
	t.Helper()
	finished := must.Get(ReadFinished(cells, sweep(t, cells, t.TempDir(), experiment.Options{})))(t)
	c := must.Get(Collect(cells, finished))(t)
	if len(c.Timings) != len(cells) {
		t.Errorf("%d times of %d cells", len(c.Timings), len(cells))
	}
	return c.Records
}

func TestRecordsComeInTheOrderOfThePlanBesideTheirOptima(t *testing.T) {
	cells := smallGrid()
	recs := collectAll(t, cells)
	var asked []experiment.Cell
	for _, c := range cells {
		if !c.Auxiliary {
			asked = append(asked, c)
		}
	}
	if len(recs) != len(asked) {
		t.Fatalf("%d records of %d cells", len(recs), len(asked))
	}
	for i, rec := range recs {
		if rec.Cell != asked[i].Hash {
			t.Errorf("record %d is of %s at %s", i, rec.Label, rec.CapacityText)
		}
		if rec.Optimum != "opt" || rec.Int(metric.OptMisses) > rec.Int(metric.Misses) ||
			rec.Float(metric.CompetitiveRatio) != float64(rec.Int(metric.Misses))/float64(rec.Int(metric.OptMisses)) {
			t.Errorf("%s: %d misses beside %d of %s, ratio %v", asked[i], rec.Int(metric.Misses),
				rec.Int(metric.OptMisses), rec.Optimum, rec.Float(metric.CompetitiveRatio))
		}
	}
}

func TestSizedRecordsLieBetweenBounds(t *testing.T) {
	const trace = "zipf(objects=300,requests=5000,size=lognormal)"
	feasible, bound, lru := newCell(trace, "belady-size", "5%"), newCell(trace, "pfoo-l", "5%"), newCell(trace, "lru",
		"5%")
	for _, c := range []*experiment.Cell{&feasible, &bound, &lru} {
		c.Sizes = capacity.Bytes
	}
	lru.Against = []string{feasible.WithHash().Hash, bound.WithHash().Hash}
	rec := collectAll(t, numbered(feasible, lru, bound))[1]
	if rec.Optimum != "belady-size" || !rec.Has(metric.LowerBoundMisses) ||
		rec.Float(metric.CompetitiveRatio) > rec.Float(metric.CompetitiveRatioMax) {
		t.Errorf("record %+v", rec)
	}
}

func TestAnOptimumThatIsNotInThePlanIsAnError(t *testing.T) {
	lru := newCell(zipfA, "lru", "5")
	lru.Against = []string{"00"}
	cells := numbered(lru)
	finished := must.Get(ReadFinished(cells, sweep(t, cells, t.TempDir(), experiment.Options{})))(t)
	must.NotGet(Collect(cells, finished))(t, "no cell 00")
}

func TestTwoNamesOfAReplayGiveTwoRecords(t *testing.T) {
	first, second := newCell(zipfA, "lru", "10"), newCell(zipfA, "lru", "10")
	second.Label, second.Workload.Name, second.Axes = "again", "other", "x=1"
	recs := collectAll(t, numbered(first, second))
	if len(recs) != 2 || recs[0].Int(metric.Misses) != recs[1].Int(metric.Misses) || recs[1].Label != "again" ||
		recs[1].Trace != "other" ||
		recs[1].Axes != "x=1" {
		t.Errorf("records %+v", recs)
	}
}

func TestTimingsStandApart(t *testing.T) {
	cells := smallGrid()
	dir := sweep(t, cells, t.TempDir(), experiment.Options{})
	finished := must.Get(ReadFinished(cells, dir))(t)
	c := must.Get(Collect(cells, finished))(t)
	must.Do(t, c.Write(dir))
	text := must.Get(os.ReadFile(filepath.Join(dir, timingsName)))(t)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(cells)+1 || !strings.HasPrefix(lines[1], cells[0].Hash) {
		t.Errorf("%d lines of %d cells: %s", len(lines), len(cells), lines[1])
	}
	for _, rec := range c.Records {
		if rec.Has(metric.NsPerRequest) {
			t.Fatal(fmt.Sprint("a time is in the record of ", rec.Label))
		}
	}
}

// Traces that differ by seed have the same name, but they are separate points.
func TestTheBestIsMarkedTraceByTrace(t *testing.T) {
	cells := mustExpand(t, mustParse(t, `
traces: [{name: z, generate: "zipf(objects=300,requests=3000)"}]
policies: [lru, fifo]
capacities: 30
seeds: 4
`))
	best := map[string]int{}
	for _, rec := range collectAll(t, cells) {
		if rec.Best {
			best[rec.TraceGenerator]++
		}
	}
	if len(best) != 4 {
		t.Errorf("best of each trace: %v, want one for each of 4 seeds", best)
	}
}

func TestTimedRecordsHaveTheirOwnTimes(t *testing.T) {
	took := func(ns float64) sim.Times {
		return sim.Times{metric.NsPerRequest.Name: ns, nodemodels.DecisionTime.Name: 2 * ns}
	}
	c := Collection{
		Records: make([]records.Record, 2),
		Timings: []Timing{{Times: took(1.5)}, {Cell: experiment.Cell{Auxiliary: true}, Times: took(2.5)}, {Times: took(3.5)}},
	}
	timed := c.Timed()
	if timed[0].Float(metric.NsPerRequest) != 1.5 || timed[1].Float(metric.NsPerRequest) != 3.5 ||
		timed[1].Float(nodemodels.DecisionTime) != 7 || c.Records[0].Has(metric.NsPerRequest) {
		t.Error("times belong to the records of their cells, and to no others")
	}
}
