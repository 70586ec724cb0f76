package search_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/brief"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/target"
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

// coverage is in how many pieces of a long trace the intervals hold what the long trace has: the hit ratio of lru at
// 200 objects, and the capacities that policies need for a hit ratio of 40%.
func coverage(t *testing.T, whole *traces.Trace, pieces int) (hitRatios int, needs map[string]int) {
	needsOf := func(tr *traces.Trace) (*replays, map[string]target.Need) {
		r := newReplays(t, tr, 2000)
		a := r.answer(target.Target{Value: 0.4}, []string{"lru", "sieve", "s3fifo"}, capacity.Of(200, false))
		needs := map[string]target.Need{}
		for _, n := range a.Needs {
			needs[n.Policy] = n
		}
		return r, needs
	}
	all, truly := needsOf(whole)
	trueRatio := all.records[0].Float(metric.HitRatio)
	needs = map[string]int{}
	for i := range pieces {
		r, some := needsOf(piece(whole, i*length, (i+1)*length))
		at200 := &r.records[0]
		drawn, _ := r.blocks.Drawn(at200)
		low, high := blocks.Interval(at200.Float(metric.HitRatio), drawn.HitRatios)
		if low <= trueRatio && trueRatio <= high {
			hitRatios++
		}
		for policy, n := range some {
			// The capacity of the whole trace is above the one, and at most the other.
			above, most := truly[policy].Below.Capacity, truly[policy].Capacity
			if of := n.Interval; of != nil && of.Low <= most && above < of.High {
				needs[policy]++
			}
		}
	}
	return hitRatios, needs
}

// TestCoverage measures how often the intervals hold what a longer trace has; docs/report.md has the numbers. A trend
// breaks them: the pieces are not like the whole.
func TestCoverage(t *testing.T) {
	pieces := brief.Of(200, 40)
	whole := zipf(pieces*length, 3000)
	ratios, needs := coverage(t, whole, pieces)
	t.Logf("%d hit ratios and %v capacities of %d", ratios, needs, pieces)
	needs["hit ratios"] = ratios
	for what, n := range needs {
		least := 0.925
		if what == "sieve" { // which has more hits in a longer trace: 54 objects are enough there, about 56 in a piece
			least = 0.8
		}
		if share := float64(n) / float64(pieces); share < least || share > brief.Of(0.985, 1) {
			t.Errorf("the intervals of %s hold the long trace's in %.1f%% of the pieces, want about 95%%", what, 100*share)
		}
	}
	trend, trending := coverage(t, drifts(pieces*length, 3000), pieces)
	t.Logf("with a trend: %d and %v of %d", trend, trending, pieces)
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
