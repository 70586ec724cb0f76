package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var tuQueueEntry = policies.Entry{
	Name:    "tuqueue",
	Look:    policies.Look{Color: policies.Orange, Mark: policies.Hexagon},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 0},
	Aliases: []string{"tu-queue"},
	Summary: "three LRU lists without ghosts: a hot one for new objects, a warm one for those requested again after " +
		"they have left it, and a cold one for what overflows both, which evicts",
	Source: "Unangst, 2Q buffer cache algorithm (OpenBSD), flak 2014; the segmented LRU of memcached is derived from it",
	Params: []policies.Param{
		{Name: "hot", Default: 0.33, Min: 0, Max: 1, Doc: "largest share of the capacity for the hot list"},
		{Name: "warm", Default: 0.33, Min: 0, Max: 1, Doc: "largest share of the capacity for the warm list"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newTuQueue(c), nil },
}

// The lists of tuqueue.
const (
	tuCold = iota
	tuWarm
	tuHot
)

type tuQueue struct {
	dense.Segments
	config   policies.Config
	capacity int64 // batch path only
}

func newTuQueue(c policies.Config) *tuQueue {
	return &tuQueue{Segments: dense.NewSegments(c.Objects, c.Unit, tuLimits(c, c.Capacity)...), config: c,
		capacity: c.Capacity}
}

// tuLimits are the limits of the lists; the cold one has none of its own. The hot one has room for one object.
func tuLimits(c policies.Config, capacity int64) []int64 {
	hot := max(1, dense.Multiple(capacity, c.Params.Float("hot")))
	return []int64{capacity, dense.Multiple(capacity, c.Params.Float("warm")), hot}
}

func (p *tuQueue) Resize(capacity int64) {
	copy(p.Limit, tuLimits(p.config, capacity))
	p.cool(tuHot)
	p.cool(tuWarm)
}

func (p *tuQueue) Hit(r policies.Request) {
	if !p.In(tuCold, r.Object) {
		p.Renew(r.Object)
		return
	}
	p.Take(r.Object)
	p.Put(tuWarm, r.Object)
	p.cool(tuWarm)
}

// cool moves the oldest objects of a list that is over its limit to the front of the cold one.
func (p *tuQueue) cool(list int) {
	for p.Used[list] > p.Limit[list] {
		o, _ := p.Pop(list)
		p.Put(tuCold, o)
	}
}

func (p *tuQueue) Miss(policies.Request) {}

// Victim takes the oldest object of the cold list. If that is empty, it takes one that would come there next.
func (p *tuQueue) Victim(policies.Request) policies.Object {
	for _, list := range [...]int{tuCold, tuHot} {
		if o, ok := p.Pop(list); ok {
			return o
		}
	}
	o, _ := p.Pop(tuWarm)
	return o
}

func (p *tuQueue) Insert(r policies.Request) {
	p.Load(tuHot, r.Object, r.Size)
	p.cool(tuHot)
}

func (p *tuQueue) Remove(o policies.Object) { p.Take(o) }

// Resized implements SizeFollower.
func (p *tuQueue) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	p.cool(tuHot)
	p.cool(tuWarm)
}

func (p *tuQueue) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		at := p.Segment[o]
		if at > tuCold+1 {
			hits++
			p.List.MoveToFront(int(at)-1, o)
			continue
		}
		r := policies.Request{Object: o, Size: 1}
		if at == tuCold+1 {
			hits++
			p.Hit(r)
			continue
		}
		if p.Used[tuCold]+p.Used[tuWarm]+p.Used[tuHot] == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
