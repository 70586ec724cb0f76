package sim_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestLRUInOnePassEqualsReplay holds the records of one pass over reuse distances to those of replaying each capacity.
func TestLRUInOnePassEqualsReplay(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		for seed := range brief.Of[uint64](10, 3) {
			tr := policytest.Trace(seed, 3000, 100)
			if bytes && seed == 9 {
				policytest.ChangeSizes(tr)
			}
			var capacities []capacity.Capacity
			for _, c := range []int64{500, 1, 7, 21, 60, 100, 180, 2000} {
				capacities = append(capacities, capacity.Of(c, bytes))
			}
			options := simtest.Options{Policies: "lru", Capacities: capacities, Warmup: int(seed) * 100}
			want := simtest.Run(t, tr, options)
			options.OnePass = true
			got := simtest.Run(t, tr, options)
			if len(got) != len(want) {
				t.Fatalf("%d records, want %d", len(got), len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("bytes=%v, seed %d:\none pass %+v\nreplayed %+v", bytes, seed, got[i], want[i])
				}
			}
		}
	}
}

func TestLRUInOnePassIsOneJob(t *testing.T) {
	tr := policytest.Trace(1, 1000, 50)
	var capacities []capacity.Capacity
	for c := int64(1); c <= 50; c++ {
		capacities = append(capacities, capacity.Of(c, false))
	}
	options := simtest.Options{Policies: "lru,fifo", Capacities: capacities, OnePass: true}
	cells := slices.Concat(must.Get(options.Cells())(t)...)
	jobs := sim.NewReplayer(tr, sim.ReplayerOptions{}).Jobs(cells)
	if len(jobs) != 51 || len(jobs[0].Cells()) != 50 {
		t.Errorf("%d jobs, the first of %d cells; want one pass for 50 capacities of lru, and 50 replays of fifo",
			len(jobs), len(jobs[0].Cells()))
	}
	options.OnePass = false
	cells = slices.Concat(must.Get(options.Cells())(t)...)
	if jobs := sim.NewReplayer(tr, sim.ReplayerOptions{}).Jobs(cells); len(jobs) != 100 {
		t.Errorf("%d jobs where no pass is shared, want 100", len(jobs))
	}
}

// Cells that are asked for at a time share a replay where their outcome is the same, and only there.
func TestKeysTellOutcomesApart(t *testing.T) {
	cell := func(policy string, seed uint64, c capacity.Capacity) string {
		cell := simtest.Cell(t, policy, c)
		cell.Seed = seed
		return cell.Key()
	}
	plain := capacity.Of(10, false)
	if cell("lru", 0, plain) != cell("lru", 1, capacity.Of(10, false)) {
		t.Error("lru at 10 has two keys, though neither its seed nor how the capacity is written matters")
	}
	seen := map[string]bool{}
	for _, key := range []string{
		cell("random", 0, plain), cell("random", 1, plain), cell("lru", 0, plain), cell("s3fifo", 0, plain),
		cell("s3fifo(small=0.2)", 0, plain),
		cell("lru", 0, capacity.Of(10, true)),
		cell("lru", 0, capacity.Capacity{Amount: 10, Simulated: 5}),
		cell("lru", 0, capacity.Capacity{Amount: 11, Simulated: 10}),
	} {
		if seen[key] {
			t.Errorf("%s stands for two outcomes", key)
		}
		seen[key] = true
	}
}

// The bound of misses that no policy can undercut may lie between whole numbers; the ratio is to the bound itself.
func TestHoldAgainstABound(t *testing.T) {
	rec := records.Record{Values: metric.ValuesOf(map[string]float64{"misses": 10})}
	sim.HoldAgainst(&rec, records.Record{Kind: policies.Bound.String(),
		Values: metric.ValuesOf(map[string]float64{"misses": 4, "lower_bound_misses": 3.2})})
	if rec.Float(metric.LowerBoundMisses) != 3.2 || rec.Float(metric.CompetitiveRatioMax) != 10/3.2 ||
		rec.Has(metric.CompetitiveRatio) ||
		rec.Has(metric.OptMisses) {
		t.Errorf("bound %v, ratio up to %v", rec.Float(metric.LowerBoundMisses), rec.Float(metric.CompetitiveRatioMax))
	}
}

// The infinite cache is no bound: more than all of its hits are possible, where similar queries answer each other.
func TestNormalizedHitRatioAboveOne(t *testing.T) {
	rec := records.Record{Values: metric.ValuesOf(map[string]float64{"hits": 4})}
	sim.HoldAgainst(&rec, records.Record{Policy: "infinite", Values: metric.ValuesOf(map[string]float64{"hits": 3})})
	if rec.Float(metric.NormalizedHitRatio) != 4.0/3 {
		t.Errorf("normalized hit ratio %v, want 4/3", rec.Float(metric.NormalizedHitRatio))
	}
}

// lru-stack is lru whichever of its capacities share a pass: in objects and bytes, with objects that are empty, change
// their size or exceed the cache, over files that each start empty, and after a warm-up.
func TestLRUStackEqualsLRU(t *testing.T) {
	for seed := range brief.Of[uint64](40, 12) {
		tr := policytest.Trace(seed, 2000, 100)
		bytes, warmup := seed%2 == 0, 0
		if seed%4 == 0 {
			policytest.ChangeSizes(tr)
		}
		if seed%3 == 0 {
			tr.Starts = []int{0, 500, 501, 1700}
		} else {
			warmup = int(seed) * 17
		}
		if seed%5 == 0 && tr.RequestSizes == nil {
			tr.ObjectSizes[tr.Objects[3]], tr.ObjectSizes[tr.Objects[7]] = 0, 0
		}
		var capacities []capacity.Capacity
		for _, c := range []int64{900, 3, 15, 40, 100, 333} {
			capacities = append(capacities, capacity.Of(c, bytes))
		}
		recs := simtest.Run(t, tr, simtest.Options{Policies: "lru,lru-stack", Capacities: capacities, Warmup: warmup})
		for i := 0; i < len(recs); i += 2 {
			lru, stack := recs[i], recs[i+1]
			lru.Policy = stack.Policy
			lru.Label = stack.Label
			if !reflect.DeepEqual(lru, stack) {
				t.Fatalf("seed %d, bytes %t:\nlru       %+v\nlru-stack %+v", seed, bytes, lru, stack)
			}
		}
	}
}
