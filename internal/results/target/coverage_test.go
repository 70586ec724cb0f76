package target_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/brief"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
)

// length is the requests of a piece.
const length = 27_000

// zipf is requests to objects that are independent of each other.
func zipf(requests, objects int) *traces.Trace {
	t := &traces.Trace{Name: "zipf", NumObjects: objects, SampleRate: 1}
	table, bits := random.NewZipf(objects, 0.9), random.Stream(7, 1)
	for range requests {
		t.Objects = append(t.Objects, uint32(table.Draw(bits)))
	}
	return t
}

// piece is a part of a trace as a user would have it: its objects in the order of their first requests.
func piece(whole *traces.Trace, from, to int) *traces.Trace {
	t := &traces.Trace{Name: "piece", SampleRate: 1}
	number := map[uint32]uint32{}
	for _, o := range whole.Objects[from:to] {
		if _, known := number[o]; !known {
			number[o] = uint32(len(number))
		}
		t.Objects = append(t.Objects, number[o])
	}
	t.NumObjects = len(number)
	return t
}

// replayed is the records of a trace with their blocks.
func replayed(t *testing.T, tr *traces.Trace, warmup int) ([]records.Record, *blocks.Set) {
	t.Helper()
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup, Blocks: true})
	set := blocks.NewSet(1)
	var recs []records.Record
	for _, policy := range []string{"lru", "sieve"} {
		for _, n := range []int64{50, 100, 200, 400} {
			result := simtest.Replay(t, r, simtest.Cell(t, policy, capacity.Of(n, false)))
			set.Add(&result.Record, result.Blocks)
			recs = append(recs, result.Record)
		}
	}
	return recs, set
}

// coverage is in how many pieces of a long trace the intervals hold what the long trace has: the hit ratio of lru at
// 200 objects, and the capacity that it needs for a hit ratio of 40%.
func coverage(t *testing.T, whole *traces.Trace, pieces int) (hitRatios, needs int) {
	flag := target.Flag{Target: target.Target{Value: 0.4}, IsSet: true}
	answerOf := func(recs []records.Record, set *blocks.Set) target.Need {
		a := target.FromRecords(flag, recs, set, func(*records.Record) string { return records.Objects })[0]
		for _, n := range a.Needs {
			if n.Policy == "lru" {
				return n
			}
		}
		t.Fatalf("no answer for lru: %+v", a)
		return target.Need{}
	}
	recs, _ := replayed(t, whole, 2000)
	trueRatio, trueNeed := recs[2].Float(metric.HitRatio), answerOf(recs, nil).Capacity
	for i := range pieces {
		recs, set := replayed(t, piece(whole, i*length, (i+1)*length), 2000)
		drawn, _ := set.Drawn(&recs[2])
		low, high := blocks.Interval(recs[2].Float(metric.HitRatio), drawn.HitRatios)
		if low <= trueRatio && trueRatio <= high {
			hitRatios++
		}
		if n := answerOf(recs, set).Interval; n != nil && n.Low <= trueNeed && trueNeed <= n.High {
			needs++
		}
	}
	return hitRatios, needs
}

// TestCoverage measures how often the intervals hold what a longer trace has: in 190 of 200 pieces for hit ratios,
// and in 194 for capacities. A trend breaks them: the pieces are not like the whole.
func TestCoverage(t *testing.T) {
	pieces := brief.Of(200, 40)
	whole := zipf(pieces*length, 3000)
	ratios, needs := coverage(t, whole, pieces)
	t.Logf("%d and %d of %d", ratios, needs, pieces)
	for what, n := range map[string]int{"hit ratios": ratios, "capacities": needs} {
		if share := float64(n) / float64(pieces); share < 0.925 || share > brief.Of(0.985, 1) {
			t.Errorf("the intervals of %s hold the long trace's in %.1f%% of the pieces, want about 95%%", what, 100*share)
		}
	}
	trend, _ := coverage(t, drifts(pieces*length, 3000), pieces)
	t.Logf("with a trend: %d of %d", trend, pieces)
	if trend > pieces/2 {
		t.Errorf("with a trend, %d of %d intervals hold", trend, pieces)
	}
}

// drifts is a trace whose skew grows from its beginning to its end.
func drifts(requests, objects int) *traces.Trace {
	t := &traces.Trace{Name: "drifting", NumObjects: objects, SampleRate: 1}
	bits := random.Stream(7, 1)
	const steps = 20
	for i := range steps {
		table := random.NewZipf(objects, 0.7+0.4*float64(i)/steps)
		for range requests / steps {
			t.Objects = append(t.Objects, uint32(table.Draw(bits)))
		}
	}
	return t
}
