package offline

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
)

var optEntry = policies.Entry{
	Name:    "opt",
	Look:    policies.Look{Dashes: []float64{6, 3}},
	Memory:  policies.Memory{PerObject: 1, PerSlot: 0},
	Aliases: []string{"belady", "min"},
	Summary: "evicts the object whose next request is farthest away; every miss is loaded (optimal if sizes are " +
		"equal)",
	Source:    "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 1966",
	Type:      (*opt)(nil),
	Kind:      policies.Offline,
	Reference: func(r policies.Rules) bool { return !r.Bytes && !r.Similar && !r.Bypass },
	New:       func(c policies.Config) (policies.Policy, error) { return newOPT(c, false), nil },
}

var optBypassEntry = policies.Entry{
	Name:   "opt-bypass",
	Look:   policies.Look{Dashes: []float64{6, 2, 1.5, 2}},
	Memory: policies.Memory{PerObject: 1, PerSlot: 0},
	Summary: "as opt, but a missed object that is needed later than every resident one is not loaded (optimal if a miss " +
		"need not be loaded)",
	Source:    "McFarling, Cache replacement with dynamic exclusion, ISCA 1992",
	Type:      holding{},
	Kind:      policies.Offline,
	Reference: func(r policies.Rules) bool { return !r.Bytes && !r.Similar && r.Bypass },
	Units:     policies.UnitsObjects,
	Bypass:    true,
	New:       newOPTBypass,
}

// opt is Belady's policy. A resident object is stored as the position of its next request, so the request at position i
// hits if and only if i is stored, and the batch path needs no other record of what is resident. Past positions are
// left in place: they are never the farthest, since the next request to every resident object lies ahead.
type opt struct {
	nextUse    []uint32
	coming     *oracle.Bitmap // positions at which a resident object is requested next
	bypass     bool
	holds      bool // coming and finished contain only objects that are not held
	numObjects int

	// batch path
	free int64 // objects that still fit
	over int64 // residents that are never requested again; it makes no difference which of them is evicted

	// one-by-one path, allocated on its first Miss
	known    *schedule
	objectAt []policies.Object // per position in coming: the object; Config.Sequence, unless own
	own      bool
	finished *oracle.Bitmap // residents that are never requested again
}

func newOPT(c policies.Config, bypass bool) *opt {
	return &opt{
		nextUse: c.NextUse, known: newSchedule(c), coming: oracle.NewBitmap(c.Requests), bypass: bypass, holds: c.Holds,
		numObjects: c.Objects, free: c.Capacity, objectAt: c.Sequence, own: c.Sequence == nil,
	}
}

func newOPTBypass(c policies.Config) (policies.Policy, error) {
	p := newOPT(c, true)
	if c.Holds {
		return holding{p}, nil
	}
	return p, nil
}

// holding is opt-bypass in caches that may hold what they load. It does not load an object that is never requested
// again, even if there is room: while held, the object would keep that room from others. It implements
// policies.Admitter.
type holding struct{ *opt }

func (p holding) Admit(r policies.Request) bool {
	return r.Reason != policies.Demand || p.nextUse[r.Pos] != policies.Never
}

func (p *opt) Hit(r policies.Request) {
	if p.known.due[r.Object] == policies.Never { // it was loaded before its first request, when its next use was not known
		p.finished.Clear(r.Object)
	}
	p.known.pass(r)
	p.file(r.Object)
}

func (p *opt) Miss(r policies.Request) {
	if p.finished == nil {
		p.finished = oracle.NewBitmap(p.numObjects)
		if p.own {
			p.objectAt = make([]policies.Object, len(p.nextUse))
		}
	}
	p.known.miss(r)
}

func (p *opt) Victim(r policies.Request) policies.Object {
	bypass := p.bypass && r.Reason == policies.Demand
	if bypass && p.nextUse[r.Pos] == policies.Never {
		return r.Object // it can bring no hit, so nothing is evicted for it, not even what is never requested again
	}
	if o, ok := p.finished.Max(); ok {
		p.finished.Clear(o)
		return o
	}
	farthest, _ := p.coming.Max()
	if bypass && p.nextUse[r.Pos] > farthest {
		return r.Object
	}
	p.coming.Clear(farthest)
	return p.objectAt[farthest]
}

func (p *opt) Insert(r policies.Request) { p.file(r.Object) }

func (p *opt) Remove(o policies.Object) {
	due := p.known.due[o]
	if due == policies.Never {
		p.finished.Clear(o)
		return
	}
	p.coming.Clear(due)
}

func (p *opt) Grow(objects int) {
	p.numObjects = objects
	p.known.grow(objects)
	if p.finished != nil {
		p.finished.Grow(objects)
	}
}

func (p *opt) Hold(o policies.Object) { p.Remove(o) }

// Release stores o under the position of its next request.
func (p *opt) Release(o policies.Object) {
	due := p.known.due[o]
	if due == policies.Never {
		p.finished.Set(o)
		return
	}
	p.coming.Set(due)
	if p.own {
		p.objectAt[due] = o
	}
}

// file stores o under the position of its next request, unless o is held: then Release does.
func (p *opt) file(o policies.Object) {
	if !p.holds {
		p.Release(o)
	}
}

func (p *opt) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	coming, free, over := p.coming, p.free, p.over
	for k, next := range p.nextUse[first : first+len(objects)] {
		switch {
		case coming.Has(uint32(first + k)):
			hits++
		case free > 0:
			free--
		case p.bypass && next == policies.Never:
			continue
		case over > 0:
			over--
			evictions++
		default:
			farthest, _ := coming.Max()
			if p.bypass && next > farthest {
				continue
			}
			coming.Clear(farthest)
			evictions++
		}
		if next == policies.Never {
			over++
		} else {
			coming.Set(next)
		}
	}
	p.free, p.over = free, over
	return hits, evictions
}
