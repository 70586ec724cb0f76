package frequency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lfuEntry = policies.Entry{
	Name:    "lfu",
	Aliases: []string{"cachetools-lfu"},
	Look:    policies.Look{Color: policies.Pink, Mark: policies.Square},
	Memory:  policies.Memory{PerObject: 12, PerSlot: 0},
	Summary: "evicts the object requested least often since it was loaded",
	Source:  "Shah, Mitra, Matani, An O(1) algorithm for implementing the LFU cache eviction scheme, 2010",
	Type:    (*holdingLFU)(nil),
	Params: []policies.Param{
		{Name: "ties", Default: "lru", Choices: []string{"lru", "fifo"},
			Doc: "which of the least frequent objects is evicted: the one requested longest ago, or loaded longest ago"},
		{Name: "perfect", Default: false, Doc: "keep the count of an evicted object instead of starting again at 1"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		var past []uint32
		if c.Params.Bool("perfect") {
			past = make([]uint32, c.Objects)
		}
		byLoad := c.Params.Text("ties") == "fifo"
		if byLoad || c.Holds {
			inHeap := lfuInHeap{heap: dense.NewLazyHeap(c.Objects), past: past, free: c.Capacity}
			inHeap.heap.ByLoad = byLoad
			if c.Holds {
				return newHoldingLFU(c, inHeap), nil
			}
			return &inHeap, nil
		}
		return &lfu{frequencies: dense.NewFrequencies[struct{}](c.Objects, c.Requests), past: past, free: c.Capacity}, nil
	},
}

var crLFUEntry = policies.Entry{
	Name:   "cr-lfu",
	Look:   policies.Look{Color: policies.Green, Mark: policies.Pentagon},
	Memory: policies.Memory{PerObject: 12, PerSlot: 0},
	Summary: "churn-resistant lfu: evicts the object requested least often since it was loaded, and of several the one " +
		"requested last",
	Source: "Rodriguez et al., Learning cache replacement with CACHEUS, FAST 2021, of which it is an expert",
	New: func(c policies.Config) (policies.Policy, error) {
		return &lfu{frequencies: dense.NewFrequencies[struct{}](c.Objects, c.Requests), free: c.Capacity, newest: true}, nil
	},
}

// lfu is LFU with ties broken by recency: the least recently requested object is evicted first.
type lfu struct {
	frequencies dense.Frequencies[struct{}]
	past        []uint32 // requests of each object before its last eviction; nil unless perfect
	free        int64    // objects that still fit, batch path only
	newest      bool     // ties go to the object requested last: cr-lfu
}

func (p *lfu) Hit(r policies.Request)                  { p.frequencies.Touch(r.Object) }
func (p *lfu) Miss(policies.Request)                   {}
func (p *lfu) Victim(policies.Request) policies.Object { return p.evict() }

func (p *lfu) evict() policies.Object {
	v := p.least()
	p.Remove(v)
	return v
}

// least returns one of the objects with the fewest requests.
func (p *lfu) least() policies.Object {
	if p.newest {
		return p.frequencies.NewestLeast()
	}
	return p.frequencies.OldestLeast()
}

func (p *lfu) Insert(r policies.Request) { p.frequencies.Add(r.Object, frequencyAtLoad(r, p.past)) }

// frequencyAtLoad returns how often r's object was requested up to its load, which counts as one request if no other
// does. past is nil unless earlier requests count.
func frequencyAtLoad(r policies.Request, past []uint32) uint32 {
	switch {
	case past == nil:
		return 1
	case r.Reason != policies.Demand:
		return max(past[r.Object], 1)
	}
	return past[r.Object] + 1
}

func (p *lfu) Remove(o policies.Object) {
	if p.past != nil {
		p.past[o] = p.frequencies.Frequency(o)
	}
	p.frequencies.Remove(o)
}

func (p *lfu) Grow(objects int) {
	p.frequencies.Grow(objects)
	if p.past != nil {
		p.past = dense.Grown(p.past, objects)
	}
}

func (p *lfu) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.frequencies.TouchAbove(o) {
			hits++
			continue
		}
		if p.frequencies.Has(o) {
			hits++
			p.frequencies.Climb(o)
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			p.evict()
			evictions++
		}
		frequency := uint32(1)
		if p.past != nil {
			frequency += p.past[o]
		}
		p.frequencies.Add(o, frequency)
	}
	return hits, evictions
}

// lfuInHeap is LFU with ties broken by load: the object loaded longest ago is evicted first. It needs a heap, since
// lists that objects join as their frequency grows lose the order of loading. So does a cache that holds objects: on
// release they would join those lists out of order. There either tie-break is possible.
type lfuInHeap struct {
	heap dense.LazyHeap
	past []uint32 // as in lfu
	free int64
}

func (p *lfuInHeap) Hit(r policies.Request) { p.hit(r.Object) }
func (p *lfuInHeap) hit(o policies.Object)  { p.heap.Raise(o, p.heap.Priority(o)+1) }
func (p *lfuInHeap) Miss(policies.Request)  {}

func (p *lfuInHeap) Victim(policies.Request) policies.Object {
	v, frequency := p.heap.PopLeast()
	p.remember(v, frequency)
	return v
}

func (p *lfuInHeap) remember(o policies.Object, frequency float64) {
	if p.past != nil {
		p.past[o] = uint32(frequency)
	}
}

func (p *lfuInHeap) Insert(r policies.Request) {
	p.heap.Add(r.Object, float64(frequencyAtLoad(r, p.past)))
}

func (p *lfuInHeap) Remove(o policies.Object) {
	p.remember(o, p.heap.Priority(o))
	p.heap.Remove(o)
}

func (p *lfuInHeap) Grow(objects int) {
	p.heap.Grow(objects)
	if p.past != nil {
		p.past = dense.Grown(p.past, objects)
	}
}

func (p *lfuInHeap) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.heap.Has(o) {
			hits++
			p.hit(o)
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			p.Victim(policies.Request{})
			evictions++
		}
		p.Insert(policies.Request{Object: o})
	}
	return hits, evictions
}
