package claims

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/statistics"
)

// Verdicts know how much records differ between seeds. The interval of a margin is a jackknife: the claim is evaluated
// again without each seed, for all policies at once. So effects of a seed on both sides cancel.
//
// With few seeds, batches of the runs are left out instead, if the records have the claim's metrics in batches. All
// policies have the same requests of a seed, so effects of a batch on both sides cancel, too.

const (
	confidence = 0.95
	// maxGroups limits how often a claim is evaluated; more seeds are left out in groups.
	maxGroups = 20
	// fewSeeds are not enough for an interval over seeds, where batches are known: with two, Student's t is 12.7.
	fewSeeds = 5
)

// everySeed is the group that leaves nothing out.
const everySeed = -1

// seedGroups assigns the seeds of all cells with several records to groups.
func (e *evaluator) seedGroups() (groupOf map[uint64]int, groups int) {
	var seeds []uint64
	for _, s := range e.slots {
		for _, c := range s.cells {
			if len(c.recs) < 2 {
				continue
			}
			for _, rec := range c.recs {
				seeds = append(seeds, e.d.in.Records[rec].Seed)
			}
		}
	}
	slices.Sort(seeds)
	seeds = slices.Compact(seeds)
	groupOf = make(map[uint64]int, len(seeds))
	for i, seed := range seeds {
		groupOf[seed] = i % maxGroups
	}
	return groupOf, min(len(seeds), maxGroups)
}

// remaining returns the records of a cell without the group that is left out. A cell that would be empty stays
// as it is.
func (e *evaluator) remaining(recs []int32) []int32 {
	if e.leftOut == everySeed || len(recs) < 2 {
		return recs
	}
	rest := slices.DeleteFunc(slices.Clone(recs), func(rec int32) bool {
		return e.groupOf[e.d.in.Records[rec].Seed] == e.leftOut
	})
	if len(rest) == 0 {
		return recs
	}
	return rest
}

// vary gives every test of all its interval. It returns all without each group of seeds; nil if seeds are not what the
// intervals are from.
func (e *evaluator) vary(all []outcome) (without [][]outcome) {
	if e.bySeeds || e.reason != "" {
		return nil
	}
	groupOf, groups := e.seedGroups()
	var seeds []uint64
	if groups < fewSeeds {
		if seeds = e.batchedSeeds(); seeds != nil {
			groups = len(seeds) * metric.Batches
		}
	}
	if groups < 2 {
		return nil
	}
	without = make([][]outcome, groups)
	for g := range without {
		less := e.again()
		if seeds == nil {
			less.groupOf, less.leftOut = groupOf, g
		} else {
			less.withoutBatch = &batch{seeds[g/metric.Batches], g % metric.Batches}
		}
		without[g] = e.claim.says.judge(less)
	}
	for i := range all {
		for j := range all[i].tests {
			all[i].tests[j].vary(halfWidth(marginsOf(without, i, j)))
		}
	}
	if seeds != nil {
		return nil
	}
	return without
}

// halfWidth is half the width of the interval of a value, from its values without each of the groups.
func halfWidth(without []float64) float64 {
	return statistics.StudentQuantile((1+confidence)/2, float64(len(without)-1)) * deviation(without)
}

type batch struct {
	seed uint64
	at   int
}

// batchedSeeds returns the seeds of all records of the claim, if all of them have in batches every metric that the
// claim names; nil otherwise.
func (e *evaluator) batchedSeeds() (seeds []uint64) {
	names := slices.DeleteFunc(e.claim.Figures(), func(name string) bool { return !e.isMetric(name) })
	for _, s := range e.slots {
		for _, c := range s.cells {
			for _, rec := range c.recs {
				r := &e.d.in.Records[rec]
				seeds = append(seeds, r.Seed)
				if slices.ContainsFunc(names, func(name string) bool { return r.InBatches(name) == nil }) {
					return nil
				}
			}
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// isMetric reports whether a name in a claim is measured, and neither published nor a dimension.
func (e *evaluator) isMetric(name string) bool {
	_, published := e.d.in.References[name]
	return !published && e.d.find(name) < 0
}

// less returns the value of a metric in a record without the batch that is left out. The batches of a seed have the
// same weight: without one, the value moves as their mean does.
func (e *evaluator) less(rec int32, name string, value float64) float64 {
	r := &e.d.in.Records[rec]
	if e.withoutBatch == nil || r.Seed != e.withoutBatch.seed {
		return value
	}
	values := r.InBatches(name)
	if values == nil {
		return value
	}
	all, n := mean(values), float64(len(values))
	return value + (all-values[e.withoutBatch.at])/(n-1)
}

// marginsOf returns the margins of one test without each of the groups. Where one cannot be computed, nothing is known.
func marginsOf(without [][]outcome, outcome, test int) []float64 {
	margins := make([]float64, len(without))
	for g := range without {
		margins[g] = math.Inf(1)
		if o := without[g][outcome]; o.why == "" {
			margins[g] = o.tests[test].margin
		}
	}
	return margins
}

// deviation is the standard error of the jackknife.
func deviation(margins []float64) float64 {
	if slices.Contains(margins, math.Inf(1)) {
		return math.Inf(1)
	}
	n, mean, squares := float64(len(margins)), mean(margins), 0.0
	for _, x := range margins {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt((n - 1) / n * squares)
}

// doubt says how far the difference that decides may be from the measured one: ", ±0.21%"; "" without seeds.
func (o outcome) doubt(says statement) string {
	u, decisive := unitOfAll(says.operands()), o.tests[says.decides(o)]
	switch {
	case decisive.half == 0:
		return ""
	case math.IsInf(decisive.half, 1):
		return ", which cannot be computed without some of the seeds"
	case says.decide(o.tests) == Undecided:
		return ", a tie within ±" + u.writeDifference(decisive.half)
	}
	return ", ±" + u.writeDifference(decisive.half)
}
