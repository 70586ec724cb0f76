package learned

import (
	"errors"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var fpbBinaryEntry = policies.Entry{
	Name:   "fpb-binary",
	Look:   policies.Look{Color: policies.Green, Mark: policies.Ring},
	Memory: policies.Memory{PerObject: 23, PerSlot: 8},
	Summary: "evicts at random one of the objects that the optimum is predicted to evict before their next request, or " +
		"any object if there is none",
	Source: "LCR (arXiv 2509.20979), section 2.2; BinaryEvictor of OptiSys-ZJU/Cache-Coliseum",
	Units:  policies.UnitsObjects,
	Random: true,
	Type:   (*fpbBinary)(nil),
	New:    newFPBBinary,
}

// fpbBinary keeps labelled objects apart from the others. A label stays from one request of an object to the next.
type fpbBinary struct {
	policies.ByPredictions
	predictor predict.Predictor
	labeler   predict.Labeler
	leaving   dense.Set // labelled: the optimum evicts them before their next request
	staying   dense.Set
	bits      *rand.Rand
	capacity  int // batch path only
}

func newFPBBinary(c policies.Config) (policies.Policy, error) {
	labeler, ok := predict.LabelerOf(c.Predictor)
	if !ok {
		return nil, errors.New("the predictor does not know what the optimum evicts; write --predictor oracle or " +
			"'noisy(p=0.1)', with the exact cache")
	}
	return &fpbBinary{
		predictor: c.Predictor, labeler: labeler, leaving: dense.NewSet(c.Objects), staying: dense.NewSet(c.Objects),
		bits: rand.New(rand.NewPCG(c.Seed, 0)), capacity: int(c.Capacity),
	}, nil
}

func (p *fpbBinary) Hit(r policies.Request)                  { p.hit(r.Object, r.Pos) }
func (p *fpbBinary) Miss(policies.Request)                   {}
func (p *fpbBinary) Victim(policies.Request) policies.Object { return p.evict() }

func (p *fpbBinary) Insert(r policies.Request) {
	if r.Reason != policies.Demand { // labels belong to requests
		p.staying.Add(r.Object)
		return
	}
	p.load(r.Object, r.Pos)
}

func (p *fpbBinary) Remove(o policies.Object) {
	if p.leaving.Has(o) {
		p.leaving.Remove(o)
	} else {
		p.staying.Remove(o)
	}
}

func (p *fpbBinary) Grow(objects int) {
	p.leaving.Grow(objects)
	p.staying.Grow(objects)
}

func (p *fpbBinary) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if p.leaving.Has(o) || p.staying.Has(o) {
			hits++
			p.hit(o, first+i)
			continue
		}
		if len(p.leaving.All)+len(p.staying.All) == p.capacity {
			p.evict()
			evictions++
		}
		p.load(o, first+i)
	}
	return hits, evictions
}

func (p *fpbBinary) hit(o policies.Object, pos int) {
	p.Remove(o)
	p.load(o, pos)
}

func (p *fpbBinary) load(o policies.Object, pos int) {
	p.predictor.Observe(o, pos)
	if p.labeler.Evict(o) {
		p.leaving.Add(o)
	} else {
		p.staying.Add(o)
	}
}

func (p *fpbBinary) evict() policies.Object {
	among := &p.leaving
	if len(among.All) == 0 {
		among = &p.staying
	}
	v := among.All[p.bits.IntN(len(among.All))]
	among.Remove(v)
	return v
}

func (p *fpbBinary) FollowsOptimum() {}
