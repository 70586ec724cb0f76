package frequency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// gdsfWithNew is GDSF as Caffeine's simulator has it. The new object takes part in the choice of victims: if its
// priority is among the lowest, it is not admitted, and nothing is evicted. Otherwise the objects of lowest priority
// are evicted, and the age is the priority of the last. Ties go to the smallest key; without keys, to the object that
// was requested first.
type gdsfWithNew struct {
	heap     dense.KeyedHeap
	requests []uint32  // since the object was loaded
	worth    []float64 // cost of a miss by size
	key      func(policies.Object) uint64
	packets  bool // a miss costs packets
	charges  dense.Charges
	age      float64
	capacity int64
	used     int64
	missed   float64      // priority of the missed object, by the age before the eviction
	victims  []gdsfVictim // what is evicted for it
	asked    int          // how many of the victims the cache has asked for
}

type gdsfVictim struct {
	object   policies.Object
	priority float64
}

func newGDSFWithNew(c policies.Config) *gdsfWithNew {
	p := &gdsfWithNew{
		heap:     dense.NewKeyedHeap(c.Objects),
		requests: make([]uint32, c.Objects),
		worth:    make([]float64, c.Objects),
		key:      c.Key,
		packets:  c.Params.Text("cost") == "packets",
		charges:  dense.NewCharges(c.Objects, c.Unit),
		capacity: c.Capacity,
	}
	if p.key == nil {
		p.key = func(o policies.Object) uint64 { return uint64(o) }
	}
	return p
}

func (p *gdsfWithNew) Hit(r policies.Request) {
	o := r.Object
	p.requests[o]++
	p.prioritize(o)
}

func (p *gdsfWithNew) prioritize(o policies.Object) {
	p.heap.Set(o, p.age+float64(float64(p.requests[o])*p.worth[o]), p.key(o))
}

func (p *gdsfWithNew) Miss(r policies.Request) {
	p.victims, p.asked = p.victims[:0], 0
	p.requests[r.Object], p.worth[r.Object] = 1, p.worthOf(r.Size)
	p.missed = p.age + p.worth[r.Object]
}

func (p *gdsfWithNew) worthOf(size int64) float64 {
	cost := 1.0
	if p.packets {
		cost = packets(float64(size))
	}
	return cost / float64(size)
}

// Resized implements SizeFollower. The priority follows, and may fall.
func (p *gdsfWithNew) Resized(o policies.Object, size int64) {
	p.used += p.charges.Change(o, size)
	p.worth[o] = p.worthOf(size)
	p.prioritize(o)
}

func (p *gdsfWithNew) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Shrink {
		o, priority := p.heap.Least()
		p.age = priority
		p.Remove(o)
		return o
	}
	if p.asked == len(p.victims) && !p.choose(r) {
		return r.Object
	}
	p.asked++
	return p.victims[p.asked-1].object
}

// choose takes the victims for r out of the heap. It puts them back and returns false if r's object is one of them. It
// chooses at least one: a cache that asks again has kept a victim.
func (p *gdsfWithNew) choose(r policies.Request) bool {
	p.heap.Set(r.Object, p.missed, p.key(r.Object))
	p.victims, p.asked = p.victims[:0], 0
	need := p.used + r.Size - p.capacity
	for need > 0 || len(p.victims) == 0 {
		o, priority := p.heap.Least()
		p.heap.Remove(o)
		if o == r.Object {
			for _, v := range p.victims {
				p.heap.Set(v.object, v.priority, p.key(v.object))
			}
			p.victims = p.victims[:0]
			return false
		}
		need -= p.charges.Of(o)
		p.victims = append(p.victims, gdsfVictim{o, priority})
	}
	for _, v := range p.victims {
		p.used -= p.charges.Of(v.object)
		p.age = v.priority
	}
	p.heap.Remove(r.Object)
	return true
}

func (p *gdsfWithNew) Insert(r policies.Request) {
	p.charges.Set(r.Object, r.Size)
	p.used += p.charges.Of(r.Object)
	p.heap.Set(r.Object, p.missed, p.key(r.Object))
}

func (p *gdsfWithNew) Remove(o policies.Object) {
	p.heap.Remove(o)
	p.used -= p.charges.Of(o)
}

func (p *gdsfWithNew) Resize(capacity int64) { p.capacity = capacity }

func (p *gdsfWithNew) Grow(objects int) {
	p.heap.Grow(objects)
	p.requests = dense.Grown(p.requests, objects)
	p.worth = dense.Grown(p.worth, objects)
	p.charges.Grow(objects)
}
