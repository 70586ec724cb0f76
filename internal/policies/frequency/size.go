package frequency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var sizeEntry = policies.Entry{
	Name:    "size",
	Look:    policies.Look{Color: policies.Blue, Mark: policies.Pentagon},
	Memory:  policies.Memory{PerObject: 4, PerSlot: 24},
	Summary: "evicts the largest object",
	Source:  "Williams, Abrams, Standridge, Abdulla and Fox, Removal policies in network caches, SIGCOMM 1996 (SIZE)",
	Params: []policies.Param{
		{Name: "ties", Default: "lru", Choices: []string{"lru", "heap"}, Doc: "which of the largest objects is evicted: " +
			"lru, the one requested longest ago; heap, the top of a binary heap that compares sizes only, as in libCacheSim"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newBySize(c), nil },
}

// bySize is a heap of the residents, the largest on top. Sizes are exact in a float64 below 2^53 bytes.
type bySize struct {
	heap    dense.KeyedHeap
	charges dense.Charges
	lru     bool
	now     uint64 // requests so far, if they break ties
	room    int64  // batch path: objects that still fit
}

func newBySize(c policies.Config) *bySize {
	return &bySize{heap: dense.NewKeyedHeap(c.Objects), charges: dense.NewCharges(c.Objects, c.Unit),
		lru: c.Params.Text("ties") == "lru", room: c.Capacity}
}

// rank puts o where its size belongs.
func (p *bySize) rank(o policies.Object) {
	if p.lru {
		p.now++
	}
	p.heap.Set(o, -float64(p.charges.Of(o)), p.now)
}

// Hit changes nothing where the heap breaks ties.
func (p *bySize) Hit(r policies.Request) {
	if p.lru {
		p.rank(r.Object)
	}
}

func (p *bySize) Miss(policies.Request) {}

func (p *bySize) Victim(policies.Request) policies.Object {
	o, _ := p.heap.Least()
	p.heap.Remove(o)
	return o
}

func (p *bySize) Insert(r policies.Request) {
	p.charges.Set(r.Object, r.Size)
	p.rank(r.Object)
}

func (p *bySize) Remove(o policies.Object) { p.heap.Remove(o) }

// Resized implements SizeFollower.
func (p *bySize) Resized(o policies.Object, size int64) {
	p.charges.Set(o, size)
	p.rank(o)
}

func (p *bySize) Grow(objects int) {
	p.heap.Grow(objects)
	p.charges.Grow(objects)
}

func (p *bySize) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if p.heap.Has(o) {
			hits++
			p.Hit(r)
			continue
		}
		if p.room > 0 {
			p.room--
		} else {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
