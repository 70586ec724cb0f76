package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var carEntry = policies.Entry{
	Name:    "car",
	Look:    policies.Look{Color: policies.Magenta, Mark: policies.Box},
	Memory:  policies.Memory{PerObject: 10, PerSlot: 0},
	Summary: "arc with two clocks instead of two LRU lists: a hit only sets a bit",
	Source:  "Bansal, Modha, CAR: clock with adaptive replacement, FAST 2004",
	Params:  []policies.Param{wholeStepsParam},
	New: func(c policies.Config) (policies.Policy, error) {
		return &car{arcState: newARCState(c), referenced: make([]bool, c.Objects)}, nil
	},
}

// car follows Figure 2 of the paper. The clocks T1 and T2 are lists whose back is under the hand. As in the paper, the
// victim is chosen before the target adapts to the missed object: Insert adapts it.
type car struct {
	arcState
	referenced []bool
}

func (p *car) Hit(r policies.Request)  { p.referenced[r.Object] = true }
func (p *car) Miss(r policies.Request) { p.forgetUnlessAsked(r) }

// Victim turns the hand of the clock that is over its target until it meets an object without its reference bit.
func (p *car) Victim(policies.Request) policies.Object {
	for {
		from, ghosts := arcT2, arcB2
		if p.Used[arcT2] == 0 || p.Used[arcT1] > 0 && float64(p.Used[arcT1]) >= p.target {
			from, ghosts = arcT1, arcB1
		}
		o, _ := p.Pop(from)
		if !p.referenced[o] {
			p.Put(ghosts, o)
			return o
		}
		p.referenced[o] = false
		p.Put(arcT2, o)
	}
}

func (p *car) Insert(r policies.Request) {
	if !p.Has(r.Object) {
		p.forget(r.Size)
	} else {
		p.adapt(r)
	}
	p.load(r)
}

func (p *car) Remove(o policies.Object) {
	p.referenced[o] = false
	p.Take(o)
}

func (p *car) Grow(objects int) {
	p.Segments.Grow(objects)
	p.referenced = dense.Grown(p.referenced, objects)
}

func (p *car) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.In(arcT1, o) || p.In(arcT2, o) {
			hits++
			p.referenced[o] = true
			continue
		}
		r := policies.Request{Object: o, Size: 1}
		if p.full() {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
