package learned

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
)

var fpbEntry = policies.Entry{
	Name:     "fpb",
	Aliases:  []string{"follow-pred", "blindoracle"},
	Summary:  "follows predictions blindly: evicts the object that is predicted to be requested last; ties: least recently used",
	Source:   "LCR (arXiv 2509.20979), section 2.2",
	Units:    policies.UnitsObjects,
	Predicts: true,
	New:      func(c policies.Config) (policies.Policy, error) { return newFPB(c), nil },
}

// fpb keeps the resident objects in order of recency and asks for all predictions at each eviction.
type fpb struct {
	predictor predict.Predictor
	resident  []policies.Object // least recently used first
	next      []float64
}

func newFPB(c policies.Config) *fpb { return &fpb{predictor: c.Predictor} }

func (p *fpb) Hit(r policies.Request) {
	p.Remove(r.Object)
	p.Insert(r)
}

func (p *fpb) Miss(policies.Request) {}

func (p *fpb) Insert(r policies.Request) {
	p.resident = append(p.resident, r.Object)
	p.next = append(p.next, 0)
	p.predictor.Observe(r.Object, r.Pos)
}

func (p *fpb) Victim(r policies.Request) policies.Object {
	p.predictor.Predict(p.resident, r.Pos, p.next)
	latest := 0
	for i, at := range p.next {
		if at > p.next[latest] {
			latest = i
		}
	}
	v := p.resident[latest]
	p.Remove(v)
	return v
}

func (p *fpb) Remove(o policies.Object) {
	for i, other := range p.resident {
		if other == o {
			p.resident = append(p.resident[:i], p.resident[i+1:]...)
			p.next = p.next[:len(p.next)-1]
			return
		}
	}
}
