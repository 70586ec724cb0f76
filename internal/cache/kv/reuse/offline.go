package reuse

import "github.com/cachesim/cachesim/internal/base/params"

var (
	greedyEntry = Entry{
		Name:    "greedy",
		Summary: "as soon as the set has less than a share of the exact one: each set serves for as long as it can",
		Source:  "cachesim",
		Params:  []params.Param{recallParam(0.5, "share of the exact set that every set must have")},
		Oracle:  true,
		New:     func(c Config) (Rule, error) { return greedy(c.Params.Float("recall")), nil },
	}
	boundEntry = Entry{
		Name: "bound",
		Summary: "so that the sets are as few as possible and each has a share of the exact one in every step: a " +
			"shortest path",
		Source: "cachesim",
		Params: []params.Param{recallParam(0.5, "share of the exact set that every set must have")},
		Oracle: true,
		Plans:  true,
		New:    func(c Config) (Rule, error) { return &bound{recall: c.Params.Float("recall")}, nil },
	}
)

// greedy is no bound: a set that is fetched before it has to be may serve for longer.
type greedy float64

func (r greedy) Reuse(l *Lookup) bool { return l.Overlap() >= float64(r) }

// bound plans all sets of a head. No rule of this recall needs fewer.
type bound struct {
	recall float64
	labels []int
}

func (r *bound) Reuse(l *Lookup) bool { return r.labels[l.Step] != l.Step }

// Plan finds a shortest path from the first step to the end. A set that is fetched in a step leads to every step up to
// the first one that it does not answer. Each step is compared with each later one at most once. On a tie, a set serves
// for as long as it can.
func (r *bound) Plan(steps int, overlap func(step, label int) float64) []int {
	fewest := make([]int, steps+1) // sets from a step on, one of which is fetched in the step
	next := make([]int, steps)     // when the one after it is fetched
	for label := steps - 1; label >= 0; label-- {
		next[label] = label + 1
		for step := label + 1; step < steps && overlap(step, label) >= r.recall; step++ {
			if fewest[step+1] <= fewest[next[label]] {
				next[label] = step + 1
			}
		}
		fewest[label] = 1 + fewest[next[label]]
	}
	r.labels = make([]int, steps)
	for label := 0; label < steps; label = next[label] {
		for step := label; step < next[label]; step++ {
			r.labels[step] = label
		}
	}
	return r.labels
}
