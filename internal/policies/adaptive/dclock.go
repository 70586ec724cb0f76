package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var dclockEntry = policies.Entry{
	Name:    "dclock",
	Look:    policies.Look{Color: policies.Indigo, Mark: policies.Hexagon},
	Memory:  policies.Memory{PerObject: 18, PerSlot: 0},
	Aliases: []string{"double-clock"},
	Summary: "the page cache of Linux: new objects are inactive, a second request makes them active, and an evicted one " +
		"that returns soon is active at once",
	Source: "Weiner, mm: thrash detection-based file cache sizing, Linux 3.15 (mm/workingset.c), 2014",
	Params: []policies.Param{
		{Name: "active", Default: 0.5, Min: 0, Max: 1, Doc: "largest share of the capacity for active objects, and " +
			"capacity for evicted ones as a share of the cache's"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newDClock(c), nil },
}

// The lists of dclock. The ghosts come first: an object above them is resident.
const (
	dclockGhosts = iota
	dclockInactive
	dclockActive
)

// dclock measures time by what has been evicted from the inactive list or activated. An evicted object that returns
// would have stayed in the cache if the inactive list had had as much more room as the time that has passed. If the
// active list is at least as large as that, the object competes with what is there.
type dclock struct {
	dense.Segments
	referenced []bool  // active objects only
	evictedAt  []int64 // ghosts only
	now        int64
	capacity   int64
	share      float64
	activate   bool // the missed object
}

func newDClock(c policies.Config) *dclock {
	p := &dclock{Segments: dense.NewSegments(c.Objects, c.Unit, 0, 0, 0), referenced: make([]bool, c.Objects),
		evictedAt: make([]int64, c.Objects), share: c.Params.Float("active")}
	p.Resize(c.Capacity)
	return p
}

// Resize leaves room for at least one inactive object.
func (p *dclock) Resize(capacity int64) {
	p.capacity = capacity
	active := min(dense.Multiple(capacity, p.share), capacity-1)
	copy(p.Limit, []int64{active, capacity, active})
	p.Trim(dclockGhosts)
	p.demote(0)
}

func (p *dclock) Grow(objects int) {
	p.Segments.Grow(objects)
	p.referenced, p.evictedAt = dense.Grown(p.referenced, objects), dense.Grown(p.evictedAt, objects)
}

func (p *dclock) Hit(r policies.Request) {
	o := r.Object
	if p.In(dclockActive, o) {
		p.referenced[o] = true
		return
	}
	size := p.Charged.Of(o)
	if !p.makeRoom(size) {
		return
	}
	p.Take(o)
	p.Put(dclockActive, o)
	p.now += size
}

// makeRoom makes room for an object in the active list. It reports whether that can have the object.
func (p *dclock) makeRoom(size int64) bool {
	if size > p.Limit[dclockActive] {
		return false
	}
	p.demote(size)
	return true
}

// demote makes the oldest active objects inactive that were not requested since they came to their place, until there
// is room for a size.
func (p *dclock) demote(size int64) {
	for p.Used[dclockActive]+size > p.Limit[dclockActive] {
		o, _ := p.List.Back(dclockActive)
		if p.referenced[o] {
			p.referenced[o] = false
			p.Renew(o)
			continue
		}
		p.Take(o)
		p.Put(dclockInactive, o)
	}
}

func (p *dclock) Miss(r policies.Request) {
	p.activate = false
	o := r.Object
	if !p.Has(o) {
		return
	}
	p.Take(o)
	if r.Reason == policies.Demand && p.now-p.evictedAt[o] <= p.Used[dclockActive] {
		p.activate = p.makeRoom(r.Size)
		if p.activate {
			p.now += r.Size
		}
	}
}

func (p *dclock) Victim(policies.Request) policies.Object {
	o, ok := p.Pop(dclockInactive)
	if !ok { // after removals
		o, _ = p.Pop(dclockActive)
		p.referenced[o] = false
	}
	p.evictedAt[o] = p.now
	p.now += p.Charged.Of(o)
	p.Remember(dclockGhosts, o)
	return o
}

func (p *dclock) Insert(r policies.Request) {
	if p.activate {
		p.Load(dclockActive, r.Object, r.Size)
	} else {
		p.Load(dclockInactive, r.Object, r.Size)
	}
}

func (p *dclock) Remove(o policies.Object) {
	p.referenced[o] = false
	p.Take(o)
}

// Resized implements SizeFollower.
func (p *dclock) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	p.demote(0)
}

func (p *dclock) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if at := p.Segment[o]; at == dclockActive+1 {
			hits++
			p.referenced[o] = true
			continue
		} else if at == dclockInactive+1 {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.Used[dclockInactive]+p.Used[dclockActive] == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
