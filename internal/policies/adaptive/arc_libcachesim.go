package adaptive

import "github.com/cachesim/cachesim/internal/policies"

// arcByteSteps is ARC as libCacheSim has it where sizes count. The size of an object does not move the target, only the
// ratio of the ghost lists does. An object leaves its ghost list before room is made for it. Each victim drops at most
// one ghost. If all objects have the size 1 it is the paper's ARC.
type arcByteSteps struct {
	arcState
	missed arcList // the ghost list that had the missed object
}

func newARCByteSteps(c policies.Config) *arcByteSteps {
	p := &arcByteSteps{arcState: newARCState(c)}
	p.whole = c.Params.Bool("int")
	return p
}

func (p *arcByteSteps) Miss(r policies.Request) {
	p.forgetUnlessAsked(r)
	p.missed = p.where[r.Object]
	if p.missed != arcAbsent {
		p.adapt(policies.Request{Object: r.Object, Size: 1})
		p.take(r.Object)
	}
}

func (p *arcByteSteps) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Shrink {
		p.missed = arcAbsent
	} else if p.missed == arcAbsent {
		switch recent := p.size[arcT1] + p.size[arcB1]; {
		case recent+r.Size > p.capacity && p.size[arcB1] > 0:
			p.dropOldest(arcB1)
		case recent+r.Size > p.capacity:
			return p.dropOldest(arcT1)
		case recent+p.size[arcT2]+p.size[arcB2] >= 2*p.capacity && p.size[arcB2] > 0:
			p.dropOldest(arcB2)
		}
	}
	return p.replace(p.missed)
}

func (p *arcByteSteps) Insert(r policies.Request) {
	to := arcT1
	if p.missed != arcAbsent {
		to = arcT2
	}
	p.charge.Set(r.Object, r.Size)
	p.put(r.Object, to)
}
