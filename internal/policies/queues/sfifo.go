package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var sfifoEntry = policies.Entry{
	Name:   "sfifo",
	Look:   policies.Look{Color: policies.Magenta, Mark: policies.Spark},
	Memory: policies.Memory{PerObject: 9, PerSlot: 0},
	Summary: "slru with queues in order of arrival: a request moves an object to the next queue, whose oldest object " +
		"falls back, and those in the last queue stay where they are",
	Source: "libCacheSim 0.3.5 (SFIFO); with LRU lists: Karedla, Love and Wherry, Caching strategies to improve disk " +
		"system performance, IEEE Computer 1994",
	Params: []policies.Param{
		{Name: "segments", Default: 4, Min: 1, Max: 64, Doc: "number of queues, of equal capacity"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		p := &sfifo{queues: dense.NewSegments(c.Objects, c.Unit, make([]int64, c.Params.Int("segments"))...),
			room: c.Capacity}
		p.Resize(c.Capacity)
		return p, nil
	},
}

// sfifo has the queues from the lowest to the highest. What the division of the capacity leaves over belongs to the
// lowest, from where a hit that lets an object fall back evicts it.
type sfifo struct {
	queues dense.Segments
	dense.Late
	room int64 // batch path: objects that still fit
}

func (p *sfifo) Resize(capacity int64) {
	q := &p.queues
	for k := range q.Limit {
		q.Limit[k] = max(1, capacity/int64(len(q.Limit)))
	}
}

func (p *sfifo) Grow(objects int) { p.queues.Grow(objects) }

func (p *sfifo) Hit(r policies.Request) {
	q, o := &p.queues, r.Object
	k := q.Of(o)
	if k == dense.NoSegment {
		return // evicted by an earlier hit
	}
	if k+1 < len(q.Limit) {
		q.Take(o)
		q.Put(k+1, o)
	}
	for k = q.Of(o); k != dense.NoSegment && q.Used[k] > q.Limit[k]; k = q.Of(o) {
		p.cool(k)
	}
}

// cool moves the oldest object of queue k to the next lower one, and so on there while that is too large.
func (p *sfifo) cool(k int) {
	q := &p.queues
	o, _ := q.Pop(k)
	if k == 0 {
		p.Late = append(p.Late, o)
		return
	}
	for q.Put(k-1, o); q.Used[k-1] > q.Limit[k-1]; {
		p.cool(k - 1)
	}
}

func (p *sfifo) Miss(policies.Request) {}

// Admit refuses an object that is larger than a queue.
func (p *sfifo) Admit(r policies.Request) bool {
	return p.queues.Charged == nil || r.Size <= p.queues.Limit[0]
}

// Victim takes the oldest object of the lowest queue that has any.
func (p *sfifo) Victim(policies.Request) policies.Object {
	if len(p.Late) > 0 {
		return p.Next()
	}
	for k := range p.queues.Limit {
		if o, ok := p.queues.Pop(k); ok {
			return o
		}
	}
	return policies.NoObject
}

// Insert puts a new object into the lowest queue with room for it, or into the first.
func (p *sfifo) Insert(r policies.Request) {
	q, k := &p.queues, 0
	for k < len(q.Limit) && q.Used[k]+r.Size > q.Limit[k] {
		k++
	}
	if k == len(q.Limit) {
		k = 0
	}
	q.Load(k, r.Object, r.Size)
}

func (p *sfifo) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.queues.Take(o)
	}
}

// Resized implements SizeFollower. A queue that has become too large lets objects fall back when one enters it.
func (p *sfifo) Resized(o policies.Object, size int64) {
	if p.queues.Has(o) {
		p.queues.Resized(o, size)
	}
}

func (p *sfifo) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if late := len(p.Late); late > 0 {
			p.Late = p.Late[:0]
			evictions += late
			p.room += int64(late)
		}
		r := policies.Request{Object: o, Size: 1}
		switch {
		case p.queues.Has(o):
			hits++
			p.Hit(r)
			continue
		case p.room > 0:
			p.room--
		default:
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
