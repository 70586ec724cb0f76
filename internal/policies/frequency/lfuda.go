package frequency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lfuDAEntry = policies.Entry{
	Name:    "lfu-da",
	Look:    policies.Look{Color: policies.Orange, Mark: policies.Circle},
	Memory:  policies.Memory{PerObject: 20, PerSlot: 0},
	Aliases: []string{"lfuda"},
	Summary: "LFU with dynamic aging: evicts the smallest sum of requests and age at the last request",
	Source: "Arlitt, Cherkasova, Dilley, Friedrich, Jin, Evaluating content management techniques for Web proxy " +
		"caches, SIGMETRICS PER 2000",
	Params: []policies.Param{{
		Name: "rule", Default: "paper", Choices: []string{"paper", "libcachesim"},
		Doc: "paper: a request sets the priority to the age and the requests since the load; libcachesim: a hit adds the " +
			"age to the priority",
	}},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Params.Text("rule") == "libcachesim" {
			return &doubling{heap: dense.NewKeyedHeap(c.Objects), priorities: make([]uint64, c.Objects)}, nil
		}
		return newAging(c, func(size float64) float64 { return size }, false), nil
	},
}

// doubling is LFU-DA as libCacheSim has it. The age is the lowest priority of the objects that may leave, once one has
// left. A new object has a priority one above it, a hit adds the age: priorities about double with each. Ties go to the
// object requested longest ago. An object whose hit left it below the age, because all others were above, leaves only
// after a further hit, or when no other object is left.
type doubling struct {
	heap       dense.KeyedHeap
	priorities []uint64
	age        uint64 // 0 before the first eviction
	clock      uint64 // hits and loads so far
}

// highest is the highest priority, up to which floats are exact. overlooked is that of objects below the age.
const (
	highest    = 1 << 52
	overlooked = 1 << 53
)

func (p *doubling) Hit(r policies.Request) {
	raised := min(p.priorities[r.Object]+p.age, highest)
	p.Remove(r.Object)
	p.put(r.Object, raised)
}

func (p *doubling) put(o policies.Object, priority uint64) {
	p.clock++
	p.priorities[o] = priority
	if priority < p.age {
		priority = overlooked
	}
	p.heap.Set(o, float64(priority), p.clock)
}

func (p *doubling) Miss(policies.Request) {}

func (p *doubling) Victim(policies.Request) policies.Object {
	o, priority := p.heap.Least()
	if priority < overlooked {
		p.age = uint64(priority)
	}
	p.Remove(o)
	return o
}

func (p *doubling) Insert(r policies.Request) { p.put(r.Object, min(p.age+1, highest)) }

// Remove also raises the age, if no object is left at it.
func (p *doubling) Remove(o policies.Object) {
	p.heap.Remove(o)
	if p.age == 0 || p.heap.Len() == 0 {
		return
	}
	if _, priority := p.heap.Least(); priority < overlooked {
		p.age = max(p.age, uint64(priority))
	}
}

func (p *doubling) Grow(objects int) {
	p.heap.Grow(objects)
	p.priorities = dense.Grown(p.priorities, objects)
}
