package frequency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// LFU-DA and GDSF age their residents: a request sets the priority of an object to
//
//	age + requests since it was loaded * cost / size
//
// and the age of the cache is the priority of its last victim, the object of lowest priority. So objects that are no
// longer requested are overtaken in time. The two policies differ in the cost of a miss. Ties go to the least recently
// requested object: it is evicted first.

// newAging returns the policy for a cost of a miss by size. If all objects have the same size, their priorities are in
// the order of age + requests, whatever the cost. If the new object competes, it has its priority before room is made,
// and is not admitted once it has the lowest: it is then the last victim.
func newAging(c policies.Config, cost func(size float64) float64, competes bool) policies.Policy {
	if c.Unit { // no priority exceeds the number of requests
		return newUnitAging(c, min(windowFor(c.Objects), dense.CeilPowerOfTwo(c.Requests+1)), competes)
	}
	return &aging{heap: dense.NewLazyHeap(c.Objects), cost: cost, charges: dense.NewCharges(c.Objects, c.Unit),
		competes: competes}
}

// aging is the policy for objects of any size.
type aging struct {
	heap     dense.LazyHeap
	age      float64
	cost     func(size float64) float64
	charges  dense.Charges
	competes bool
	missed   float64 // priority of the missed object, by the age before the evictions for it
}

func (p *aging) priority(o policies.Object, requests uint32) float64 {
	return p.age + p.worth(float64(p.charges[o]), requests)
}

// worth is what an object of a size has besides the age.
func (p *aging) worth(size float64, requests uint32) float64 {
	return float64(requests) * p.cost(size) / size
}

func (p *aging) Hit(r policies.Request) {
	p.heap.Raise(r.Object, p.priority(r.Object, p.heap.Requests(r.Object)+1))
}

func (p *aging) Miss(r policies.Request) { p.missed = p.age + p.worth(float64(r.Size), 1) }

func (p *aging) Victim(r policies.Request) policies.Object {
	if p.competes && r.Reason != policies.Shrink {
		if _, priority := p.heap.Least(); p.missed < priority {
			p.age = p.missed
			return r.Object
		}
	}
	v, priority := p.heap.PopLeast()
	p.age = priority
	return v
}

func (p *aging) Insert(r policies.Request) {
	p.charges.Set(r.Object, r.Size)
	priority := p.missed
	if !p.competes {
		priority = p.priority(r.Object, 1)
	}
	p.heap.Add(r.Object, priority)
}

func (p *aging) Remove(o policies.Object) { p.heap.Remove(o) }

// Resized implements SizeFollower. The priority follows, and may fall.
func (p *aging) Resized(o policies.Object, size int64) {
	p.charges.Set(o, size)
	p.heap.Reset(o, p.priority(o, p.heap.Requests(o)))
}

func (p *aging) Grow(objects int) {
	p.heap.Grow(objects)
	p.charges.Grow(objects)
}

// agingWindow is how many priorities, counted from the age, have a list of their own in unitAging.
const agingWindow = 1 << 14

// windowFor returns the window for a number of objects. It takes no more memory than the objects themselves.
func windowFor(objects int) int { return min(agingWindow, dense.CeilPowerOfTwo(max(objects, 64))) }

// unitAging is the policy for objects of one size. Priorities are then whole numbers. Each priority from the age up to,
// but not including, age + window has a list, in order of the last request. The few objects above that wait in one
// list, also in order of their last request. A request costs amortized constant time, evictions included: the age grows
// by no more than the number of requests. Memory: 16 bytes per object.
type unitAging struct {
	nodes    []agingNode // the objects, the sentinels of the window's lists, the sentinel of the objects above it
	n        uint32
	window   uint32 // a power of two
	age      uint32
	gather   uint32 // age at which the objects above the window are looked at
	free     int64  // objects that still fit, batch path only
	competes bool
	missed   uint32 // priority of the missed object, by the age before the eviction for it
}

type agingNode struct {
	prev, next uint32
	requests   uint32 // since the object was loaded; 0 where it is absent
	priority   uint32
}

func newUnitAging(c policies.Config, window int, competes bool) *unitAging {
	p := &unitAging{
		nodes:    make([]agingNode, c.Objects+window+1),
		n:        uint32(c.Objects),
		window:   uint32(window),
		gather:   uint32(max(window/2, 1)),
		free:     c.Capacity,
		competes: competes,
	}
	p.emptyLists()
	return p
}

// emptyLists links each sentinel to itself.
func (p *unitAging) emptyLists() {
	for list := int(p.n); list < len(p.nodes); list++ {
		p.nodes[list].prev, p.nodes[list].next = uint32(list), uint32(list)
	}
}

// Grow makes room for objects up to objects-1, with a window that suits their number.
func (p *unitAging) Grow(objects int) {
	if objects <= int(p.n) {
		return
	}
	residents, before := p.inOrder(), p.nodes
	p.window = max(p.window, uint32(windowFor(objects)))
	p.nodes = make([]agingNode, objects+int(p.window)+1)
	copy(p.nodes, before[:p.n])
	p.n = uint32(objects)
	p.emptyLists()
	p.gather = p.age + max(p.window/2, 1)
	for _, o := range residents {
		p.link(o, p.nodes[o].requests, p.nodes[o].priority)
	}
}

// inOrder returns the residents, with those above the window first. Among residents of equal priority the next victim
// comes first.
func (p *unitAging) inOrder() (residents []policies.Object) {
	for i := range p.window + 1 {
		list := p.beyond()
		if i > 0 {
			list = p.list(p.age + i - 1)
		}
		for o := p.nodes[list].next; o != list; o = p.nodes[o].next {
			residents = append(residents, o)
		}
	}
	return residents
}

// list returns the sentinel of the list for a priority in the window.
func (p *unitAging) list(priority uint32) uint32 { return p.n + priority&(p.window-1) }

// beyond returns the sentinel of the list of the objects above the window.
func (p *unitAging) beyond() uint32 { return p.n + p.window }

// put makes o, with its new number of requests, the last object of its list.
func (p *unitAging) put(o policies.Object, requests uint32) { p.link(o, requests, p.age+requests) }

// link makes o the last object of the list for its priority.
func (p *unitAging) link(o policies.Object, requests, priority uint32) {
	list := p.list(priority)
	if priority-p.age >= p.window {
		list = p.beyond()
	}
	last := p.nodes[list].prev
	p.nodes[o] = agingNode{prev: last, next: list, requests: requests, priority: priority} // in one write: it is read soon
	p.nodes[last].next = o
	p.nodes[list].prev = o
}

func (p *unitAging) unlink(o policies.Object) {
	node := p.nodes[o]
	p.nodes[node.prev].next = node.next
	p.nodes[node.next].prev = node.prev
}

func (p *unitAging) Hit(r policies.Request) {
	p.unlink(r.Object)
	p.put(r.Object, p.nodes[r.Object].requests+1)
}

func (p *unitAging) Miss(policies.Request) { p.missed = p.age + 1 }

func (p *unitAging) Victim(r policies.Request) policies.Object {
	competes := p.competes && r.Reason != policies.Shrink
	for {
		if list := p.list(p.age); p.nodes[list].next != list {
			v := p.nodes[list].next
			p.Remove(v)
			return v
		}
		if competes && p.age >= p.missed { // which all others exceed
			return r.Object
		}
		// No resident has a priority below the age, so the search need only move up.
		if p.age++; p.age == p.gather {
			p.gatherBeyond()
		}
	}
}

// gatherBeyond moves the objects that the window has reached to their lists, and sets the age at which to look again:
// before the window can reach further ones. They go to the front of those lists: they were requested at a lower age
// than the objects that are already there.
func (p *unitAging) gatherBeyond() {
	p.gather = p.age + max(p.window/2, 1)
	for o := p.nodes[p.beyond()].prev; o != p.beyond(); {
		node := p.nodes[o]
		if node.priority-p.age < p.window {
			p.unlink(o)
			list := p.list(node.priority)
			first := p.nodes[list].next
			p.nodes[o].prev, p.nodes[o].next = list, first
			p.nodes[list].next = o
			p.nodes[first].prev = o
		}
		o = node.prev
	}
}

func (p *unitAging) Insert(r policies.Request) {
	if p.competes { // the cache may have shrunk since the miss
		p.link(r.Object, 1, max(p.missed, p.age))
		return
	}
	p.put(r.Object, 1)
}

func (p *unitAging) Remove(o policies.Object) {
	p.unlink(o)
	p.nodes[o].requests = 0
}

func (p *unitAging) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if requests := p.nodes[o].requests; requests != 0 {
			hits++
			p.unlink(o)
			p.put(o, requests+1)
			continue
		}
		r := policies.Request{Object: o}
		p.Miss(r)
		if p.free > 0 {
			p.free--
		} else if p.Victim(r) == o {
			continue
		} else {
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
