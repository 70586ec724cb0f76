package recency

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var slruEntry = policies.Entry{
	Name:   "slru",
	Look:   policies.Look{Color: policies.Violet, Mark: policies.Triangle},
	Memory: policies.Memory{PerObject: 9, PerSlot: 0},
	Summary: "LRU segments one above another: a hit lifts an object to the next, overflow of a segment falls to the " +
		"one below",
	Source: "Karedla, Love and Wherry, Caching strategies to improve disk system performance, IEEE Computer 1994 (2 " +
		"segments); Huang et al., An analysis of Facebook photo caching, SOSP 2013 (n segments)",
	Params: []policies.Param{
		{Name: "segments", Default: 2, Min: 1, Max: 64, Doc: "number of segments"},
		{Name: "protected", Default: 0.0, Min: 0, Max: 1, Doc: "share of the capacity for the segments above the lowest, " +
			"in equal parts; 0 makes all segments equal"},
		{Name: "rule", Default: "room", Choices: []string{"room", "caffeine", "libcachesim"},
			Doc: "where a new object enters: room, the lowest segment with room; caffeine, always the lowest; libcachesim, " +
				"as room, and what a hit pushes out of the lowest segment is evicted, even if the cache has room"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Params.Text("rule") == "libcachesim" {
			return newSLRUEvicting(c), nil
		}
		return newSLRU(c), nil
	},
}

type slru struct {
	dense.Segments
	top       int // the highest segment in use
	most      int // number of segments, as many as the capacity permits
	protected float64
	// lowestOnly says that new objects enter the lowest segment, even where only others have room.
	lowestOnly bool
	capacity   int64
	filled     int64 // resident objects, batch path only
}

func newSLRU(c policies.Config) *slru {
	p := &slru{most: c.Params.Int("segments"), protected: c.Params.Float("protected"), capacity: c.Capacity}
	p.lowestOnly = c.Params.Text("rule") == "caffeine"
	p.Segments = dense.NewSegments(c.Objects, c.Unit, make([]int64, p.most)...)
	p.divide()
	return p
}

// divide sets the limits of the segments.
func (p *slru) divide() {
	n := min(int64(p.most), p.capacity)
	upper := p.capacity / n
	if p.protected > 0 && n > 1 {
		upper = dense.Multiple(p.capacity, p.protected) / (n - 1)
		upper = max(1, min(upper, (p.capacity-1)/(n-1)))
	}
	p.top = int(n) - 1
	for k := range p.Limit {
		p.Limit[k] = 0
		if k <= p.top {
			p.Limit[k] = upper
		}
	}
	p.Limit[0] = p.capacity - upper*(n-1)
}

// lowestShare returns the size of the lowest segment if each gets its share, rounded down.
func (p *slru) lowestShare() int64 {
	if p.protected > 0 {
		return p.capacity - int64(math.Ceil(float64(p.capacity)*p.protected))
	}
	return p.Limit[p.top]
}

// Resize lets the overflow of the new segments fall, from the highest down.
func (p *slru) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.capacity = capacity
	p.divide()
	for k := p.most - 1; k > 0; k-- {
		p.spill(k)
	}
}

func (p *slru) Hit(r policies.Request) { p.hit(r.Object) }
func (p *slru) Miss(policies.Request)  {}

// Admit refuses an object that does not fit every segment.
func (p *slru) Admit(r policies.Request) bool {
	return p.Charged == nil || r.Size <= min(p.Limit[0], p.Limit[p.top])
}

func (p *slru) Victim(policies.Request) policies.Object { return p.evict() }
func (p *slru) Insert(r policies.Request)               { p.Load(p.target(r.Size), r.Object, r.Size) }
func (p *slru) Remove(o policies.Object)                { p.Take(o) }

// Resized lets the overflow of the object's segment fall. The object itself may fall with it.
func (p *slru) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	for k := int(p.Segment[o]) - 1; k > 0; k-- {
		p.spill(k)
	}
}

func (p *slru) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	segment, top, list := p.Segment, p.top, p.List
	for _, o := range objects {
		k := int(segment[o])
		if k > top {
			hits++
			list.MoveToFront(top, o)
			continue
		}
		if k > 0 {
			hits++
			p.lift(o, k)
			continue
		}
		if p.miss(o) {
			evictions++
		}
	}
	return hits, evictions
}

// miss is Victim and Insert if every object is charged 1. In a full cache o usually takes the place of the victim, in
// the lowest segment.
func (p *slru) miss(o policies.Object) (evicted bool) {
	if p.filled < p.capacity {
		p.filled++
		p.Put(p.target(1), o)
		return false
	}
	if p.List.Empty(0) {
		p.evict()
		p.Put(p.target(1), o)
		return true
	}
	v := p.List.PopBack(0)
	p.List.PushFront(0, o)
	p.Segment[v], p.Segment[o] = 0, 1
	return true
}

// lift is hit for objects that are charged 1, with o in segment k-1. o moves to segment k; if that is full, its last
// object takes the place of o.
func (p *slru) lift(o policies.Object, k int) {
	list, segment := &p.List, p.Segment
	list.Unlink(o)
	list.PushFront(k, o)
	segment[o] = uint8(k + 1)
	if p.Used[k] < p.Limit[k] {
		p.Used[k-1]--
		p.Used[k]++
		return
	}
	v := list.PopBack(k)
	list.PushFront(k-1, v)
	segment[v] = uint8(k)
}

// hit lifts o by one segment. Overflow there falls, until every segment except the lowest is within its limit.
func (p *slru) hit(o policies.Object) {
	k := int(p.Segment[o])
	if k > p.top {
		p.Renew(o)
		return
	}
	p.Take(o)
	p.Put(k, o)
	for ; k > 0; k-- {
		p.spill(k)
	}
}

// spill moves the last objects of segment k to the segment below until it is within its limit.
func (p *slru) spill(k int) {
	for p.Used[k] > p.Limit[k] {
		v, _ := p.Pop(k)
		p.Put(k-1, v)
	}
}

// target returns the segment that a new object enters: the lowest with room for its size, or the lowest if none has
// room.
func (p *slru) target(size int64) int {
	if p.lowestOnly {
		return 0
	}
	for k, limit := range p.Limit[:p.top+1] {
		if p.Used[k]+size <= limit {
			return k
		}
	}
	return 0
}

// evict removes the last object of the lowest segment that is not empty.
func (p *slru) evict() policies.Object {
	for k := 0; ; k++ {
		if o, ok := p.Pop(k); ok {
			return o
		}
	}
}
