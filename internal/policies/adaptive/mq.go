package adaptive

import (
	"math"
	"math/bits"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var mqEntry = policies.Entry{
	Name:    "mq",
	Look:    policies.Look{Color: policies.Olive, Mark: policies.Triangle},
	Memory:  policies.Memory{PerObject: 21, PerSlot: 0},
	Summary: "LRU queues by the logarithm of the request count; objects not requested for a lifetime sink by one queue",
	Source:  "Zhou, Philbin, Li, The multi-queue replacement algorithm for second level buffer caches, USENIX 2001",
	Params: []policies.Param{
		{Name: "queues", Default: 8, Min: 1, Max: 32, Doc: "number of queues"},
		{Name: "lifetime", Default: 0, Max: 1 << 40, Doc: "requests without a hit after which an object sinks; 0 means the " +
			"measured peak temporal distance"},
		{Name: "ghost", Default: 4.0, Doc: "bound on evicted objects whose request count is remembered, as a multiple of " +
			"the capacity"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newMQ(c), nil },
}

// mq follows section 4 of the paper.
type mq struct {
	lists  dense.Lists // the queues, the one requested last in front, and then the history buffer Qout
	where  []uint8
	blocks []mqBlock
	charge dense.Charges
	queues int
	ghosts int64 // total size of the objects in Qout
	limit  int64
	ghost  float64 // limit on them, as a multiple of the capacity
	now    uint32
	// oldest is no later than any object at the back of a queue was queued, so that most requests need not look for one
	// that has expired.
	oldest   int64
	lifetime int64
	returned uint32 // remembered request count of the object being loaded
	measured mqDistances
	resident int64
	capacity int64 // batch path only
}

type mqBlock struct {
	requests uint32
	last     uint32
	queued   uint32 // when it joined its queue: it expires a lifetime later, whatever the lifetime is by then
}

const mqAbsent = 255

// mqDistances measures the peak temporal distance: the most frequent number of requests between two to the same object,
// in classes of powers of two. The paper does not say how to measure it.
type mqDistances struct {
	on      bool
	classes [33]uint32
	next    int64 // when to look for the peak again
}

// mqFirstMeasure is how many requests are observed before the lifetime is measured; until then it has no end.
const mqFirstMeasure = 1024

func newMQ(c policies.Config) *mq {
	p := &mq{
		queues:   c.Params.Int("queues"),
		where:    make([]uint8, c.Objects),
		blocks:   make([]mqBlock, c.Objects),
		charge:   dense.NewCharges(c.Objects, c.Unit),
		limit:    dense.Multiple(c.Capacity, c.Params.Float("ghost")),
		ghost:    c.Params.Float("ghost"),
		lifetime: int64(c.Params.Int("lifetime")),
		oldest:   math.MaxInt64,
		capacity: c.Capacity,
	}
	p.lists = dense.NewLists(c.Objects, p.queues+1)
	for o := range p.where {
		p.where[o] = mqAbsent
	}
	if p.lifetime == 0 {
		p.lifetime = math.MaxInt64 / 2
		p.measured = mqDistances{on: true, next: mqFirstMeasure}
	}
	return p
}

func (p *mq) Hit(r policies.Request) {
	p.lists.Unlink(r.Object)
	p.request(r.Object)
}

// Miss takes a remembered object out of Qout, before the victim of its own load can push it out.
func (p *mq) Miss(r policies.Request) {
	p.returned = 0
	if int(p.where[r.Object]) == p.queues {
		p.returned = p.blocks[r.Object].requests
		p.forget(r.Object)
	}
}

func (p *mq) Victim(policies.Request) policies.Object {
	k := 0
	for p.lists.Empty(k) {
		k++
	}
	o, _ := p.lists.Back(k)
	p.lists.Unlink(o)
	p.resident--
	p.where[o] = uint8(p.queues)
	p.lists.PushFront(p.queues, o)
	p.ghosts += p.charge.Of(o)
	p.trim()
	return o
}

// trim forgets the objects evicted longest ago until the rest are within the bound.
func (p *mq) trim() {
	for p.ghosts > p.limit {
		old, _ := p.lists.Back(p.queues)
		p.forget(old)
	}
}

func (p *mq) Resize(capacity int64) {
	p.limit = dense.Multiple(capacity, p.ghost)
	p.trim()
}

// Resized implements policies.SizeFollower. Only the sizes of objects in Qout are summed up.
func (p *mq) Resized(o policies.Object, size int64) { p.charge.Set(o, size) }

func (p *mq) Grow(objects int) {
	p.lists.Grow(objects)
	p.where = dense.GrownWith(p.where, objects, mqAbsent)
	p.blocks = dense.Grown(p.blocks, objects)
	p.charge.Grow(objects)
}

func (p *mq) forget(o policies.Object) {
	p.lists.Unlink(o)
	p.where[o] = mqAbsent
	p.blocks[o].requests = 0
	p.ghosts -= p.charge.Of(o)
}

func (p *mq) Insert(r policies.Request) {
	p.blocks[r.Object].requests = p.returned
	p.charge.Set(r.Object, r.Size)
	p.resident++
	if r.Reason != policies.Demand {
		// Without a request the count stays as it was, so that a load alone never lifts an object.
		p.enqueue(r.Object, max(p.queueOf(p.returned), 0))
		return
	}
	p.request(r.Object)
}

func (p *mq) Remove(o policies.Object) {
	p.lists.Unlink(o)
	p.where[o] = mqAbsent
	p.blocks[o].requests = 0
	p.resident--
}

// request counts a request to o, which is on no list, queues it, and lets expired objects sink.
func (p *mq) request(o policies.Object) {
	b := &p.blocks[o]
	if p.measured.on && b.requests > 0 {
		p.measured.classes[bits.Len32(p.now-b.last)]++
	}
	b.requests++
	b.last = p.now
	p.enqueue(o, p.queueOf(b.requests))
	p.now++
	if p.measured.on && int64(p.now) >= p.measured.next {
		p.measure()
	}
	if p.oldest < int64(p.now)-p.lifetime {
		p.sink()
	}
}

// queueOf returns the queue for an object after that many requests, -1 for none.
func (p *mq) queueOf(requests uint32) int { return min(bits.Len32(requests), p.queues) - 1 }

// enqueue puts o at the recent end of queue k.
func (p *mq) enqueue(o policies.Object, k int) {
	p.blocks[o].queued = p.now
	p.where[o] = uint8(k)
	p.lists.PushFront(k, o)
	if k > 0 {
		p.oldest = min(p.oldest, int64(p.now))
	}
}

// sink moves the last object of every queue that has expired one queue down, and finds out who comes next.
func (p *mq) sink() {
	p.oldest = math.MaxInt64
	for k := 1; k < p.queues; k++ {
		o, ok := p.lists.Back(k)
		if ok && int64(p.blocks[o].queued) < int64(p.now)-p.lifetime {
			p.lists.Unlink(o)
			p.enqueue(o, k-1)
			o, ok = p.lists.Back(k)
		}
		if ok {
			p.oldest = min(p.oldest, int64(p.blocks[o].queued))
		}
	}
}

// measure sets the lifetime to the upper end of the distance class seen most often since the last time. It is at least
// the number of resident objects, which is how long an object stays without any hit.
func (p *mq) measure() {
	peak := 0
	for class, n := range p.measured.classes {
		if n > p.measured.classes[peak] {
			peak = class
		}
	}
	p.lifetime = max(int64(1)<<peak, p.resident)
	p.measured.classes = [33]uint32{}
	p.measured.next = int64(p.now) + max(mqFirstMeasure, p.resident)
}

func (p *mq) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if int(p.where[o]) < p.queues {
			hits++
			p.lists.Unlink(o)
			p.request(o)
			continue
		}
		r := policies.Request{Object: o, Size: 1}
		p.Miss(r)
		if p.resident == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
