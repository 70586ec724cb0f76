package baselines

import "github.com/cachesim/cachesim/internal/policies"

var infiniteEntry = policies.Entry{
	Name:    "infinite",
	Look:    policies.Look{Dashes: []float64{1, 2}},
	Memory:  policies.Memory{PerObject: 1, PerSlot: 0},
	Summary: "has room for everything: only the first request to an object misses",
	Source: "the compulsory misses of Hill and Smith, Evaluating associativity in CPU caches, IEEE Transactions on " +
		"Computers 1989",
	Unbounded: true,
	New: func(c policies.Config) (policies.Policy, error) {
		return &infinite{keeper: newKeeper(c)}, nil
	},
}

// infinite has to choose victims only in a cache that does have a limit.
type infinite struct {
	keeper
	seen []bool // batch path only
}

func (p *infinite) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	if p.seen == nil {
		p.seen = make([]bool, p.objects)
	}
	for _, o := range objects {
		if p.seen[o] {
			hits++
		}
		p.seen[o] = true
	}
	return hits, 0
}
