package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var qdlpEntry = policies.Entry{
	Name:    "qd-lp-fifo",
	Look:    policies.Look{Color: policies.Olive, Mark: policies.Hexagon},
	Memory:  policies.Memory{PerObject: 15, PerSlot: 21},
	Aliases: []string{"qdlp"},
	Summary: "quick demotion before a clock: every victim comes from a small queue of new objects, and those requested " +
		"there move to a clock of the rest of the capacity, which evicts for them",
	Source: "Yang, Qiu, Zhang, Yue and Rashmi, FIFO can be better than LRU: the power of lazy promotion and quick " +
		"demotion, HotOS 2023",
	Params: []policies.Param{
		{Name: "small", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity for the small queue"},
		{Name: "ghost", Default: 0.9, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
		{Name: "move", Default: 1, Min: 0, Max: 63, Doc: "requests in the small queue, after the first, that move an " +
			"object to the clock"},
		{Name: "bits", Default: 2, Min: 1, Max: 6, Doc: "width of an object's counter of requests"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		queues, err := newS3FIFO(c, "qd-lp-fifo", false)
		return &qdlp{queues: queues}, err
	},
}

// qdlp has the queues of S3-FIFO, but the main one has a limit that it never exceeds: whatever enters it evicts from
// there. So the small queue has at least its share, and one miss may evict several objects.
type qdlp struct {
	queues *s3fifo
	dense.Late

	owed int // batch path: what left late for the last request, which counts with the next one
}

func (p *qdlp) Hit(r policies.Request)        { p.queues.Hit(r) }
func (p *qdlp) Miss(r policies.Request)       { p.queues.Miss(r) }
func (p *qdlp) Admit(r policies.Request) bool { return p.queues.Admit(r) }

func (p *qdlp) Victim(policies.Request) policies.Object {
	for len(p.Late) == 0 {
		p.evict()
	}
	return p.Next()
}

// evict takes one object from the small queue. It appends what it evicts to late: nothing if the object has moved to a
// main queue with room.
func (p *qdlp) evict() {
	q := p.queues
	o, ok := q.Pop(s3Small)
	switch {
	case !ok:
		p.Late = append(p.Late, q.evictMain())
	case q.freq[o] < q.move || q.Charged.Of(o) > q.Limit[s3Main]:
		q.Remember(s3Ghost, o)
		p.Late = append(p.Late, o)
	default:
		p.limitMain(q.Charged.Of(o))
		q.freq[o] = 0
		q.Put(s3Main, o)
	}
}

// limitMain evicts from the main queue until it has room for a size.
func (p *qdlp) limitMain(size int64) {
	q := p.queues
	for q.Used[s3Main]+size > q.Limit[s3Main] && q.Used[s3Main] > 0 {
		p.Late = append(p.Late, q.evictMain())
	}
}

func (p *qdlp) Insert(r policies.Request) {
	p.queues.returning = p.queues.returning && r.Size <= p.queues.Limit[s3Main]
	if p.queues.returning {
		p.limitMain(r.Size)
	}
	p.queues.Insert(r)
}

func (p *qdlp) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.queues.Remove(o)
	}
}

// Resized implements SizeFollower. One on its way out stays so.
func (p *qdlp) Resized(o policies.Object, size int64) {
	if !p.queues.Has(o) {
		p.queues.Charged.Set(o, size)
		return
	}
	p.queues.Resized(o, size)
	p.limitMain(0)
}

func (p *qdlp) Resize(capacity int64) {
	p.queues.Resize(capacity)
	p.limitMain(0)
}

func (p *qdlp) Grow(objects int) { p.queues.Grow(objects) }

func (p *qdlp) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	b := &p.queues.batch
	if len(objects) == 0 {
		return 0, 0
	}
	if b.state == nil {
		*b = newS3Batch(p.queues.config, p.queues)
	}
	state, top := b.state, b.top
	evictions, p.owed = p.owed, 0
	for i, o := range objects {
		s := state[o]
		if s >= s3InSmall {
			hits++
			if s < top {
				state[o] = s + s3Request
			}
			continue
		}
		if s == s3InGhost {
			b.ghost.Remove(o)
		}
		if b.free == 0 {
			evictions++
		}
		for b.free == 0 {
			b.demote()
		}
		if s == s3InGhost && b.mainLimit > 0 {
			if late := b.limitMain(); i < len(objects)-1 {
				evictions += late
			} else {
				p.owed = late
			}
			b.main.Push(o)
			state[o] = s3InMain
		} else {
			b.small.Push(o)
			state[o] = s3InSmall
		}
		b.free--
	}
	return hits, evictions
}

// demote takes one object from the small queue, and evicts it or lets it move to the main one.
func (b *s3Batch) demote() {
	if b.small.Len() == 0 {
		b.evictMain()
		b.free++
		return
	}
	o := b.small.Pop()
	if b.state[o] < b.move || b.mainLimit == 0 {
		b.remember(o)
		b.free++
		return
	}
	b.limitMain()
	b.main.Push(o)
	b.state[o] = s3InMain
}

// limitMain evicts from the main queue if it has no room, and returns how many objects.
func (b *s3Batch) limitMain() int {
	if b.main.Len() < b.mainLimit {
		return 0
	}
	b.evictMain()
	b.free++
	return 1
}
