package policies

import "github.com/cachesim/cachesim/internal/policies/dense"

// gdsfWithNew is GDSF as Caffeine's simulator has it. The new object takes part in the choice of victims: if it is
// among the objects of lowest priority that would have to leave, it is not admitted, and none of them leaves. Otherwise
// all of them do, and the age is the priority of the last. Of equal priorities the smallest key leaves first; without
// keys the object that was requested first.
type gdsfWithNew struct {
	heap     dense.KeyedHeap
	requests []uint32  // since the object was loaded
	worth    []float64 // cost of a miss by size
	key      func(Object) uint64
	packets  bool // a miss costs packets
	charges  dense.Charges
	age      float64
	capacity int64
	used     int64
	missed   float64      // priority of the missed object, by the age before the eviction
	leaving  []gdsfLeaver // what has to leave for it
	asked    int          // how many of those the cache has asked for
}

type gdsfLeaver struct {
	object   Object
	priority float64
}

func newGDSFWithNew(c Config) *gdsfWithNew {
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
		p.key = func(o Object) uint64 { return uint64(o) }
	}
	return p
}

func (p *gdsfWithNew) Hit(r Request) {
	o := r.Object
	p.requests[o]++
	p.heap.Set(o, p.age+float64(float64(p.requests[o])*p.worth[o]), p.key(o))
}

func (p *gdsfWithNew) Miss(r Request) {
	p.leaving, p.asked = p.leaving[:0], 0
	cost := 1.0
	if p.packets {
		cost = packets(float64(r.Size))
	}
	p.requests[r.Object], p.worth[r.Object] = 1, cost/float64(r.Size)
	p.missed = p.age + p.worth[r.Object]
}

func (p *gdsfWithNew) Victim(r Request) Object {
	if r.Reason == Shrink {
		o, priority := p.heap.Least()
		p.age = priority
		p.Remove(o)
		return o
	}
	if p.asked == len(p.leaving) && !p.choose(r) {
		return r.Object
	}
	p.asked++
	return p.leaving[p.asked-1].object
}

// choose takes the objects that have to leave for r out of the heap. It puts them back and returns false if r's object
// is one of them. It chooses at least one: a cache that asks again has kept one that was to leave.
func (p *gdsfWithNew) choose(r Request) bool {
	p.heap.Set(r.Object, p.missed, p.key(r.Object))
	p.leaving, p.asked = p.leaving[:0], 0
	need := p.used + r.Size - p.capacity
	for need > 0 || len(p.leaving) == 0 {
		o, priority := p.heap.Least()
		p.heap.Remove(o)
		if o == r.Object {
			for _, v := range p.leaving {
				p.heap.Set(v.object, v.priority, p.key(v.object))
			}
			p.leaving = p.leaving[:0]
			return false
		}
		need -= p.charges.Of(o)
		p.leaving = append(p.leaving, gdsfLeaver{o, priority})
	}
	for _, v := range p.leaving {
		p.used -= p.charges.Of(v.object)
		p.age = v.priority
	}
	p.heap.Remove(r.Object)
	return true
}

func (p *gdsfWithNew) Insert(r Request) {
	p.charges.Set(r.Object, r.Size)
	p.used += p.charges.Of(r.Object)
	p.heap.Set(r.Object, p.missed, p.key(r.Object))
}

func (p *gdsfWithNew) Remove(o Object) {
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
