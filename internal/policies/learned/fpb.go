package learned

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/predict"
)

var fpbEntry = policies.Entry{
	Name:    "fpb",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Circle},
	Memory:  policies.Memory{PerObject: 20, PerSlot: 14},
	Aliases: []string{"follow-pred", "blindoracle"},
	Summary: "follows predictions blindly: evicts the object predicted to be requested last; ties go to the least " +
		"recently used",
	Source: "LCR (arXiv 2509.20979), section 2.2; Wei, Better and simpler learning-augmented online caching, APPROX " +
		"2020 (BlindOracle)",
	Units:    policies.UnitsObjects,
	Predicts: true,
	Holds:    true,
	Guarantee: func(policies.Values, int) policies.Guarantee {
		return policies.Guarantee{Consistency: "1", Robustness: "unbounded"}
	},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Holds {
			return holdingFPB{newFPB(c)}, nil
		}
		return newFPB(c), nil
	},
	InSets: func(c policies.SetsConfig) (policies.SetsPolicy, error) {
		return slabs.NewRanked(c.Geometry, c.Predictor, slabs.Among(slabs.MaxWays)), nil
	},
	DescribeInSets: func(policies.Values, int) (d policies.SetsDescription, why string) {
		d.Candidates = []int{slabs.MaxWays}
		return d, ""
	},
}

// fpb evicts the latest object of a forecast over all residents.
type fpb struct {
	predictor predict.Predictor
	residents forecast
	capacity  int // batch path only
}

func newFPB(c policies.Config) *fpb {
	return &fpb{predictor: c.Predictor, residents: newForecast(c.Predictor, c.Objects), capacity: int(c.Capacity)}
}

func (p *fpb) Hit(r policies.Request) { p.request(r.Object, r.Pos) }

func (p *fpb) Miss(policies.Request) {}

func (p *fpb) Victim(r policies.Request) policies.Object { return p.evict(r.Pos) }

func (p *fpb) Insert(r policies.Request) {
	p.residents.add(r.Object)
	p.insert(r)
}

// insert reports the request that loaded an object, if there was one.
func (p *fpb) insert(r policies.Request) {
	p.residents.request(r.Object, r.Pos)
	if r.Reason == policies.Demand {
		p.predictor.Observe(r.Object, r.Pos)
	}
}

func (p *fpb) Grow(objects int) { p.residents.grow(objects) }

func (p *fpb) Remove(o policies.Object) { p.residents.remove(o) }

func (p *fpb) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if p.residents.has(o) {
			hits++
		} else {
			if p.residents.size() == p.capacity {
				p.evict(first + i)
				evictions++
			}
			p.residents.add(o)
		}
		p.request(o, first+i)
	}
	return hits, evictions
}

func (p *fpb) request(o policies.Object, pos int) {
	p.residents.request(o, pos)
	p.predictor.Observe(o, pos)
}

func (p *fpb) evict(pos int) policies.Object {
	v := p.residents.latest(pos)
	p.residents.remove(v)
	return v
}

// holdingFPB is fpb in a cache that holds objects: its forecast contains only residents that are not held.
type holdingFPB struct{ *fpb }

func (p holdingFPB) Insert(r policies.Request) { p.insert(r) }

func (p holdingFPB) Hold(o policies.Object) { p.residents.remove(o) }

func (p holdingFPB) Release(o policies.Object) { p.residents.add(o) }
