package claims

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/records"
)

// correlated returns windows of a run whose noise is an autoregressive process around a mean.
func correlated(random *rand.Rand, windows int, mean, deviation float64) []float64 {
	const memory = 0.6
	x := make([]float64, windows)
	noise := random.NormFloat64()
	for i := range x {
		noise = memory*noise + 0.8*random.NormFloat64() // has the variance 1
		x[i] = mean + deviation*noise
	}
	return x
}

// inWindows is a record of a policy whose value is the mean of windows, with its batches.
func inWindows(t *testing.T, label string, windows []float64) records.Record {
	r := rec(t, "t "+label+" 1 1/2")
	r.Set(metric.HitRatio, statistics.Mean(windows))
	r.SetBatches(metric.HitRatio, statistics.Batches(windows, metric.Batches, statistics.Mean))
	return r
}

func added(x, y []float64) []float64 {
	both := make([]float64, len(x))
	for i := range x {
		both[i] = x[i] + y[i]
	}
	return both
}

// The interval of batch means contains the true difference in 95% of the runs, although windows are correlated: equal
// policies are a tie that often, whether their requests are the same or not.
func TestBatchesCoverTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(29, 14))
	const runs = 1000
	for name, shared := range map[string]float64{"the same requests": 5, "other requests": 0} {
		ties := 0
		for range runs {
			load := correlated(random, 400, 40, shared)
			in := Input{Records: []records.Record{
				inWindows(t, "a", added(load, correlated(random, 400, 0, 1))),
				inWindows(t, "b", added(load, correlated(random, 400, 0, 1))),
			}}
			if r := verdictOf(t, in, "hit_ratio(a) < hit_ratio(b)"); r.Verdict == Undecided {
				ties++
			}
		}
		if share := float64(ties) / runs; share < 0.93 || share > 0.97 {
			t.Errorf("%s: %.1f%% of the runs of equal policies are ties, want 95%%", name, 100*share)
		}
	}
}

// What a batch of requests does to both sides cancels.
func TestBatchesOfTheSameRequestsArePaired(t *testing.T) {
	random := rand.New(rand.NewPCG(29, 15))
	load := correlated(random, 400, 40, 5)
	better := added(load, correlated(random, 400, -1, 0.1))
	other := correlated(random, 400, 39, 5)
	in := Input{Records: []records.Record{
		inWindows(t, "a", load), inWindows(t, "paired", better), inWindows(t, "alone", other),
	}}
	if r := verdictOf(t, in, "hit_ratio(paired) < hit_ratio(a)"); r.Verdict != Reproduced {
		t.Errorf("with the same requests: %+v, want that it holds", r)
	}
	if r := verdictOf(t, in, "hit_ratio(alone) == hit_ratio(a)"); r.Verdict != Undecided {
		t.Errorf("with other requests: %+v, want a tie", r)
	}
	// a metric without batches has no interval in one run
	if r := verdictOf(t, in, "hits(a) == hits(paired)"); r.Verdict != Reproduced {
		t.Errorf("without batches: %+v", r)
	}
}

// Batches of few seeds take the place of the seeds, and five seeds decide by themselves.
func TestFewSeedsAreInBatches(t *testing.T) {
	random := rand.New(rand.NewPCG(29, 16))
	var in Input
	for seed := range uint64(5) {
		load := correlated(random, 400, 40+10*float64(seed%2), 1)
		for label, by := range map[string]float64{"a": 0, "b": -0.3} {
			r := inWindows(t, label, added(load, correlated(random, 400, by, 0.1)))
			r.Seed = seed
			in.Records = append(in.Records, r)
		}
		if r := verdictOf(t, in, "hit_ratio(b) < hit_ratio(a)"); r.Verdict != Reproduced {
			t.Errorf("%d seeds: %+v, want that it holds", seed+1, r)
		}
	}
}

// A metric that a claim names over a group counts, too: hits are in no batches, so that the interval is over the seeds.
func TestMetricsOverAGroupAreInBatchesOrNot(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 0/6\n t a 1 1/6"), Groups: map[string][]string{"g": {"a"}}}
	in.Records[1].Seed = 1
	if r := verdictOf(t, in, "3 == min over g of hits"); r.Verdict != Undecided {
		t.Errorf("%+v", r)
	}
}
