package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lirs2Entry = policies.Entry{
	Name:   "lirs2",
	Look:   policies.Look{Color: policies.Indigo, Mark: policies.Pentagon},
	Memory: policies.Memory{PerObject: 29, PerSlot: 0},
	Units:  policies.UnitsObjects,
	Summary: "lirs by the sum of an object's last two reuse distances: its last two requests are on the stack, and " +
		"the older one counts",
	Source: "Zhong, Zhao and Jiang, LIRS2: an improved LIRS replacement algorithm, SYSTOR 2021",
	Params: []policies.Param{
		{Name: "hot", Default: 0.99, Min: 0, Max: 1, Doc: "share of the capacity for hot (LIR) objects; at least one"},
		{Name: "nonresident", Default: 2.0, Min: 0, Doc: "bound on the evicted objects remembered, as a multiple of the " +
			"capacity"},
		{Name: "stack", Default: 8.0, Min: 2, Doc: "bound on the stack, which has two entries for each object, as a " +
			"multiple of the capacity"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newLIRS2(c), nil },
}

// lirs2 has a stack of the last two requests of each object, down to the oldest of the older requests of hot objects. A
// cold object that is requested while its older request is on the stack becomes hot, in the place of the one at the
// bottom. Evicted are cold objects, in the order of their last requests.
type lirs2 struct {
	stack    dense.Lists // of requests: object o has 2o and 2o+1
	onStack  []bool      // per request
	cold     dense.Lists // of objects: see the constants
	objects  []lirs2Object
	lengths  [2]int64 // of the lists of cold objects
	length   int64    // of the stack
	hot      int64
	cursor   uint32 // where the search for cold objects on a stack that is too long goes on; NoObject: nowhere
	last     policies.Object
	config   policies.Config
	capacity int64
	limits   struct{ hot, nonresident, stack int64 }
}

// The lists of cold objects.
const (
	lirs2Resident = iota
	lirs2Evicted
)

type lirs2Object struct {
	status lirs2Status
	newer  uint8 // which of its two entries is the newer request: 0 or 1
	single bool  // it was requested once: the older entry stands for a request that there was not
}

type lirs2Status uint8

const (
	lirs2Absent lirs2Status = iota
	lirs2Hot
	lirs2Cold
	lirs2Gone // evicted, and remembered
)

func newLIRS2(c policies.Config) *lirs2 {
	p := &lirs2{
		stack: dense.NewLists(2*c.Objects, 1), onStack: make([]bool, 2*c.Objects), cold: dense.NewLists(c.Objects, 2),
		objects: make([]lirs2Object, c.Objects), cursor: policies.NoObject, last: policies.NoObject, config: c,
	}
	p.limit(c.Capacity)
	return p
}

func (p *lirs2) limit(capacity int64) {
	p.capacity = capacity
	p.limits.hot = max(1, dense.Multiple(capacity, p.config.Params.Float("hot")))
	p.limits.nonresident = dense.Multiple(capacity, p.config.Params.Float("nonresident"))
	p.limits.stack = dense.Multiple(capacity, p.config.Params.Float("stack"))
}

func (p *lirs2) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.limit(capacity)
	for p.hot > p.limits.hot {
		p.cool()
	}
	p.prune()
}

func (p *lirs2) Grow(objects int) {
	p.stack.Grow(2 * objects)
	p.onStack = dense.Grown(p.onStack, 2*objects)
	p.cold.Grow(objects)
	p.objects = dense.Grown(p.objects, objects)
}

// Hit ignores a request that follows another one to its object.
func (p *lirs2) Hit(r policies.Request) {
	if r.Object == p.last {
		return
	}
	p.last = r.Object
	if p.objects[r.Object].status == lirs2Cold {
		p.unlist(r.Object, lirs2Resident)
	}
	p.request(r.Object)
	p.prune()
}

func (p *lirs2) Miss(policies.Request) {}

// Victim takes the cold object whose last request is oldest. If there is none, a hot one becomes cold first.
func (p *lirs2) Victim(policies.Request) policies.Object {
	if p.cold.Empty(lirs2Resident) {
		p.cool()
	}
	o, _ := p.cold.Back(lirs2Resident)
	p.unlist(o, lirs2Resident)
	p.list(o, lirs2Evicted)
	p.objects[o].status = lirs2Gone
	return o
}

func (p *lirs2) Insert(r policies.Request) {
	o := r.Object
	p.last = o
	switch p.objects[o].status {
	case lirs2Gone:
		p.unlist(o, lirs2Evicted)
		p.objects[o].status = lirs2Cold
		p.request(o)
	default:
		p.enter(o)
	}
	p.prune()
}

// enter loads an object that is not remembered.
func (p *lirs2) enter(o policies.Object) {
	p.objects[o] = lirs2Object{status: lirs2Cold, single: true}
	if p.hot < p.limits.hot {
		p.objects[o].status = lirs2Hot
		p.hot++
	} else {
		p.list(o, lirs2Resident)
	}
	p.push(2*o + 1)
	p.push(2 * o)
}

// request makes the older request of o, which is on no list of cold objects, the newer one.
func (p *lirs2) request(o policies.Object) {
	x := &p.objects[o]
	older := 2*o + 1 - uint32(x.newer)
	again := p.onStack[older] && !x.single // both requests are on the stack
	x.newer, x.single = 1-x.newer, false
	if p.onStack[older] {
		p.drop(older)
	}
	p.push(older)
	switch {
	case x.status == lirs2Hot:
	case again:
		x.status = lirs2Hot
		p.hot++
		if p.hot > p.limits.hot {
			p.cool()
		}
	default:
		p.list(o, lirs2Resident)
	}
}

// cool makes the hot object at the bottom of the stack a cold one.
func (p *lirs2) cool() {
	bottom, _ := p.stack.Back(0)
	o := bottom / 2
	p.objects[o].status = lirs2Cold
	p.hot--
	p.list(o, lirs2Resident)
	p.settle()
}

// push puts a request on the stack.
func (p *lirs2) push(at uint32) {
	p.stack.PushFront(0, at)
	p.onStack[at] = true
	p.length++
	if p.length == 1 {
		p.cursor = at
	}
}

// drop takes a request off the stack.
func (p *lirs2) drop(at uint32) {
	if p.stack.IsBack(0, at) {
		p.settle()
		if !p.onStack[at] {
			return
		}
	}
	p.unlink(at)
}

func (p *lirs2) unlink(at uint32) {
	if at == p.cursor {
		p.cursor = p.above(at)
	}
	p.stack.Unlink(at)
	p.onStack[at] = false
	p.length--
}

// above returns the next newer request on the stack, or NoObject.
func (p *lirs2) above(at uint32) uint32 {
	if next, ok := p.stack.Before(at); ok {
		return next
	}
	return policies.NoObject
}

// settle takes requests off the bottom of the stack until it is the older one of a hot object.
func (p *lirs2) settle() {
	for bottom, ok := p.stack.Back(0); ok; bottom, ok = p.stack.Back(0) {
		if x := p.objects[bottom/2]; x.status == lirs2Hot && bottom%2 != uint32(x.newer) {
			return
		}
		p.unlink(bottom)
		p.cursor = policies.NoObject
		if bottom, ok = p.stack.Back(0); ok {
			p.cursor = bottom
		}
	}
}

// prune takes cold objects off a stack that is too long, from the bottom, and forgets evicted ones. Without hot objects
// the stack is empty.
func (p *lirs2) prune() {
	p.settle()
	for p.length > p.limits.stack {
		at := p.cursor
		for at != policies.NoObject && p.objects[at/2].status == lirs2Hot {
			at = p.above(at)
		}
		if at == policies.NoObject {
			break
		}
		p.cursor = p.above(at)
		p.unlink(at)
	}
	for p.lengths[lirs2Evicted] > p.limits.nonresident {
		o, _ := p.cold.Back(lirs2Evicted)
		p.unlist(o, lirs2Evicted)
		p.forget(o)
	}
}

// forget drops all that is known of o, which is on no list of cold objects.
func (p *lirs2) forget(o policies.Object) {
	p.objects[o].status = lirs2Absent
	for _, at := range [...]uint32{2 * o, 2*o + 1} {
		if p.onStack[at] {
			p.drop(at)
		}
	}
}

func (p *lirs2) list(o policies.Object, list int) {
	p.cold.PushFront(list, o)
	p.lengths[list]++
}

func (p *lirs2) unlist(o policies.Object, list int) {
	p.cold.Unlink(o)
	p.lengths[list]--
}

func (p *lirs2) Remove(o policies.Object) {
	if p.objects[o].status == lirs2Hot {
		p.hot--
	} else {
		p.unlist(o, lirs2Resident)
	}
	p.forget(o)
	if o == p.last {
		p.last = policies.NoObject
	}
}

func (p *lirs2) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if x := p.objects[o].status; x == lirs2Hot || x == lirs2Cold {
			hits++
			p.Hit(r)
			continue
		}
		if p.hot+p.lengths[lirs2Resident] == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
