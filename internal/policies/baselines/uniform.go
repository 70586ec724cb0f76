package baselines

import "github.com/cachesim/cachesim/internal/policies"

var uniformEntry = policies.Entry{
	Name:    "uniform",
	Look:    policies.Look{Color: policies.Pink, Mark: policies.Ring},
	Memory:  policies.Memory{PerObject: 1, PerSlot: 0},
	Summary: "loads objects until the cache is full and never evicts: what a cache without replacement gives",
	Source: "the MinIO cache of Mohan, Phanishayee, Raniwala and Chidambaram, Analyzing and mitigating data stalls in " +
		"DNN training, VLDB 2021",
	Bypass: true,
	New:    func(c policies.Config) (policies.Policy, error) { return newUniform(c), nil },
}

type uniform struct {
	keeper
	resident []bool // batch path only
	free     int64  // objects, batch path only
}

func newUniform(c policies.Config) *uniform {
	return &uniform{keeper: newKeeper(c), free: c.Capacity}
}

func (p *uniform) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	if p.resident == nil {
		p.resident = make([]bool, p.objects)
	}
	resident := p.resident
	for _, o := range objects {
		if resident[o] {
			hits++
		} else if p.free > 0 {
			p.free--
			resident[o] = true
		}
	}
	return hits, 0
}
