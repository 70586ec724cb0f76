package libraries

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var golangLRUEntries = []policies.Entry{{
	Name:   "golang-lru-2q",
	Look:   policies.Look{Color: policies.Violet, Mark: policies.Arrow},
	Memory: policies.Memory{PerObject: 9},
	Summary: "2Q as the library golang-lru runs it: two LRU lists, of objects requested once and more often, and a " +
		"ghost queue of what left the first",
	Source: "hashicorp/golang-lru 2.0.7, TwoQueueCache; Johnson and Shasha, 2Q, VLDB 1994",
	Units:  policies.UnitsObjects,
	Params: []policies.Param{
		{Name: "recent", Default: 0.25, Min: 0, Max: 1, Doc: "share of the capacity for objects requested once"},
		{Name: "ghost", Default: 0.5, Min: 0, Max: 1, Doc: "capacity of the ghost queue as a share of the cache's"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newGolangTwoQueue(c), nil },
}, {
	Name:   "golang-lru-arc",
	Look:   policies.Look{Color: policies.Indigo, Mark: policies.Arrow},
	Memory: policies.Memory{PerObject: 9},
	Summary: "ARC as the library golang-lru runs it: each ghost list is as long as the cache at most, and drops an " +
		"object now and then to keep the split",
	Source: "hashicorp/golang-lru 2.0.7, arc.ARCCache; Megiddo, Modha, ARC, FAST 2003",
	Units:  policies.UnitsObjects,
	New:    func(c policies.Config) (policies.Policy, error) { return newGolangARC(c), nil },
}}

// The lists of golangTwoQueue. What is above the ghost is resident.
const (
	twoQueueGhost = iota
	twoQueueRecent
	twoQueueFrequent
)

type golangTwoQueue struct {
	dense.Segments
	returning bool // the missed object was in the ghost queue
	free      int64

	recent, ghost float64 // shares of the capacity
}

func newGolangTwoQueue(c policies.Config) *golangTwoQueue {
	p := &golangTwoQueue{
		Segments: dense.NewSegments(c.Objects, true, 0, 0, 0),
		free:     c.Capacity,
		recent:   c.Params.Float("recent"),
		ghost:    c.Params.Float("ghost"),
	}
	p.Resize(c.Capacity)
	return p
}

func (p *golangTwoQueue) Resize(capacity int64) {
	p.Limit[twoQueueGhost] = dense.Multiple(capacity, p.ghost)
	p.Limit[twoQueueRecent] = dense.Multiple(capacity, p.recent)
	p.Trim(twoQueueGhost)
}

func (p *golangTwoQueue) Hit(r policies.Request) {
	if p.In(twoQueueFrequent, r.Object) {
		p.Renew(r.Object)
		return
	}
	p.Take(r.Object)
	p.Put(twoQueueFrequent, r.Object)
}

func (p *golangTwoQueue) Miss(r policies.Request) {
	p.returning = p.Has(r.Object)
	if p.returning && r.Reason != policies.Demand { // only a request shows that it should have stayed
		p.Take(r.Object)
		p.returning = false
	}
}

func (p *golangTwoQueue) Victim(r policies.Request) policies.Object {
	return p.evict(p.returning || r.Reason == policies.Shrink)
}

// evict takes from the recent list what is above its limit, for a new object also the last that it has room for.
func (p *golangTwoQueue) evict(returning bool) policies.Object {
	n, limit := p.Used[twoQueueRecent], p.Limit[twoQueueRecent]
	if n > 0 && (n > limit || n == limit && !returning) || p.List.Empty(twoQueueFrequent) {
		o, _ := p.Pop(twoQueueRecent)
		p.Remember(twoQueueGhost, o)
		return o
	}
	o, _ := p.Pop(twoQueueFrequent)
	return o
}

func (p *golangTwoQueue) Insert(r policies.Request) {
	to := twoQueueRecent
	if p.returning {
		to = twoQueueFrequent
	}
	if p.Has(r.Object) { // unless the victim has pushed it out of the ghost queue
		p.Take(r.Object)
	}
	p.Put(to, r.Object)
}

func (p *golangTwoQueue) Remove(o policies.Object) { p.Take(o) }

func (p *golangTwoQueue) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		r := policies.Request{Object: o, Pos: first + i, Size: 1}
		if p.Of(o) > twoQueueGhost {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.free > 0 {
			p.free--
		} else {
			p.evict(p.returning)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}

// The lists of golangARC, as in the paper.
const (
	golangT1 = iota
	golangT2
	golangB1
	golangB2
)

type golangARC struct {
	dense.Segments
	missed           int   // the ghost list that had the missed object, or dense.NoSegment
	target           int64 // of T1
	capacity, unused int64
}

func newGolangARC(c policies.Config) *golangARC {
	return &golangARC{
		Segments: dense.NewSegments(c.Objects, true, 0, 0, c.Capacity, c.Capacity),
		capacity: c.Capacity,
		unused:   c.Capacity,
	}
}

func (p *golangARC) Resize(capacity int64) {
	p.capacity = capacity
	p.target = min(p.target, capacity)
	for _, ghosts := range [...]int{golangB1, golangB2} {
		p.Limit[ghosts] = capacity
		p.Trim(ghosts)
	}
}

func (p *golangARC) Hit(r policies.Request) {
	p.Take(r.Object)
	p.Put(golangT2, r.Object)
}

// Miss moves the target by the ratio of the ghost lists, in whole numbers.
func (p *golangARC) Miss(r policies.Request) {
	p.missed = p.Of(r.Object)
	if p.missed != dense.NoSegment && r.Reason != policies.Demand {
		p.Take(r.Object)
		p.missed = dense.NoSegment
	}
	switch p.missed {
	case golangB1:
		p.target = min(p.target+max(1, p.Used[golangB2]/p.Used[golangB1]), p.capacity)
	case golangB2:
		p.target = max(p.target-max(1, p.Used[golangB1]/p.Used[golangB2]), 0)
	}
}

func (p *golangARC) Victim(r policies.Request) policies.Object {
	return p.replace(p.missed == golangB2 && r.Reason != policies.Shrink)
}

// replace evicts from T1 what is above the target, and remembers it. Where T2 has nothing T1 drops its last object.
func (p *golangARC) replace(missedB2 bool) policies.Object {
	n := p.Used[golangT1]
	switch {
	case n > 0 && (n > p.target || n == p.target && missedB2):
		o, _ := p.Pop(golangT1)
		p.Remember(golangB1, o)
		return o
	case p.List.Empty(golangT2):
		o, _ := p.Pop(golangT1)
		return o
	}
	o, _ := p.Pop(golangT2)
	p.Remember(golangB2, o)
	return o
}

func (p *golangARC) Insert(r policies.Request) {
	if p.missed != dense.NoSegment {
		if p.Has(r.Object) { // unless the victim has pushed it out
			p.Take(r.Object)
		}
		p.Put(golangT2, r.Object)
		return
	}
	if p.Used[golangB1] > p.capacity-p.target {
		p.Pop(golangB1)
	}
	if p.Used[golangB2] > p.target {
		p.Pop(golangB2)
	}
	p.Put(golangT1, r.Object)
}

func (p *golangARC) Remove(o policies.Object) { p.Take(o) }

func (p *golangARC) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		r := policies.Request{Object: o, Pos: first + i, Size: 1}
		if at := p.Of(o); at == golangT1 || at == golangT2 {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.unused > 0 {
			p.unused--
		} else {
			p.replace(p.missed == golangB2)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
