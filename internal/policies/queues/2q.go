package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var twoQEntry = policies.Entry{
	Name:    "2q",
	Look:    policies.Look{Color: policies.Cyan, Mark: policies.Box},
	Memory:  policies.Memory{PerObject: 22, PerSlot: 14},
	Aliases: []string{"twoq"},
	Summary: "a FIFO queue for new objects, a ghost queue of what it evicted, and an LRU queue for objects requested " +
		"again while in the ghost",
	Source: "Johnson and Shasha, 2Q: a low overhead high performance buffer management replacement algorithm, VLDB " +
		"1994, full version",
	Params: []policies.Param{
		{Name: "kin", Default: 0.25, Min: 0, Max: 1, Doc: "share of the capacity for the FIFO queue of new objects"},
		{Name: "kout", Default: 0.5, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Unit {
			return newTwoQ(c), nil
		}
		return &sizedTwoQ{twoQ: newTwoQ(c)}, nil
	},
}

// The queues, with the names of the paper. The ghost comes first: an object above it is resident.
const (
	a1out = iota
	a1in
	am
)

type twoQ struct {
	dense.Segments
	returning bool // the missed object was in the ghost queue

	batch  twoQBatch
	config policies.Config
}

func newTwoQ(c policies.Config) *twoQ {
	return &twoQ{Segments: dense.NewSegments(c.Objects, c.Unit, twoQLimits(c, c.Capacity)...), config: c}
}

func twoQLimits(c policies.Config, capacity int64) []int64 {
	kin := max(1, dense.Multiple(capacity, c.Params.Float("kin")))
	return []int64{dense.Multiple(capacity, c.Params.Float("kout")), kin, capacity - kin}
}

func (p *twoQ) Resize(capacity int64) {
	copy(p.Limit, twoQLimits(p.config, capacity))
	p.Trim(a1out)
}

func (p *twoQ) Hit(r policies.Request) {
	// A1in stays a FIFO queue: requests soon after the first one may be correlated with it and prove little.
	if p.In(am, r.Object) {
		p.Renew(r.Object)
	}
}

func (p *twoQ) Miss(r policies.Request) {
	remembered := p.In(a1out, r.Object)
	if remembered {
		p.Take(r.Object)
	}
	p.returning = remembered && r.Reason == policies.Demand
}

// Admit refuses an object that does not fit the queue of new objects.
func (p *twoQ) Admit(r policies.Request) bool { return p.Charged == nil || r.Size <= p.Limit[a1in] }

func (p *twoQ) Victim(policies.Request) policies.Object {
	// A victim of Am is not remembered (reclaimfor in the paper): it has not been requested for a while.
	if p.Used[a1in] <= p.Limit[a1in] {
		if o, ok := p.Pop(am); ok {
			return o
		}
	}
	o, _ := p.Pop(a1in)
	p.Remember(a1out, o)
	return o
}

func (p *twoQ) Insert(r policies.Request) {
	if p.returning {
		p.Load(am, r.Object, r.Size)
	} else {
		p.Load(a1in, r.Object, r.Size)
	}
}

func (p *twoQ) Remove(o policies.Object) { p.Take(o) }

// twoQBatch is the batch path: the queue of new objects is a ring. The ghost is a log, since objects return from its
// middle.
type twoQBatch struct {
	place     []uint8
	in        dense.Ring
	out       dense.LogQueue
	am        dense.Lists
	amLen     int
	free      int // objects that still fit
	kin, kout int
}

// Where an object is on the batch path; 0 means absent.
const (
	twoQOut = iota + 1
	twoQIn
	twoQAm
)

func newTwoQBatch(c policies.Config, limit []int64) twoQBatch {
	return twoQBatch{
		place: make([]uint8, c.Objects),
		in:    dense.NewRing(c.Room()),
		out:   dense.NewLogQueue(c.Objects),
		am:    dense.NewLists(c.Objects, 1),
		free:  int(c.Capacity), kin: int(limit[a1in]), kout: int(limit[a1out]),
	}
}

func (p *twoQ) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	b := &p.batch
	if b.place == nil {
		*b = newTwoQBatch(p.config, p.Limit)
	}
	place, am := b.place, b.am
	for _, o := range objects {
		at := place[o]
		if at >= twoQIn {
			hits++
			if at == twoQAm {
				am.MoveToFront(0, o)
			}
			continue
		}
		if at == twoQOut {
			b.out.Remove(o)
		}
		if b.free > 0 {
			b.free--
		} else {
			b.evict()
			evictions++
		}
		if at == twoQOut {
			am.PushFront(0, o)
			b.amLen++
			place[o] = twoQAm
		} else {
			b.in.Push(o)
			place[o] = twoQIn
		}
	}
	return hits, evictions
}

func (b *twoQBatch) evict() {
	if b.in.Len() <= b.kin && b.amLen > 0 {
		b.place[b.am.PopBack(0)] = 0
		b.amLen--
		return
	}
	o := b.in.Pop()
	b.place[o] = 0
	if b.kout == 0 {
		return
	}
	if b.out.Live == b.kout {
		b.place[b.out.Pop()] = 0
	}
	b.out.Push(o)
	b.place[o] = twoQOut
}
