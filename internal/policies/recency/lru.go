package recency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/holding"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

var lruEntry = policies.Entry{
	Name:      "lru",
	Look:      policies.Look{Color: policies.Blue, Mark: policies.Circle},
	Memory:    policies.Memory{PerObject: 12, PerSlot: 0},
	Summary:   "evicts the object that was requested longest ago",
	Source:    "Denning, The working set model for program behavior, CACM 1968",
	Type:      (*holding.Queue)(nil),
	Guarantee: policies.KCompetitive,
	Game:      func(policies.Values, int) (policies.Game, bool) { return policies.Game{Candidates: []int{1}}, true },
	OnePass:   true,
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Holds {
			return holding.New(c, false), nil
		}
		return newLRU(c), nil
	},
	InSets:         lruInSets,
	DescribeInSets: describeLRUInSets,
}

var lruStackEntry = policies.Entry{
	Name:           "lru-stack",
	Look:           policies.Look{Color: policies.Blue, Mark: policies.Plus},
	Memory:         policies.Memory{PerObject: 12, PerSlot: 0},
	Aliases:        []string{"mattson"},
	Summary:        "lru, with the hits at all capacities computed in one pass over reuse distances",
	Source:         "Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 1970",
	Type:           (*holding.Queue)(nil),
	ReuseDistances: true,
	Guarantee:      policies.KCompetitive,
	New:            lruEntry.New,
	InSets:         lruInSets,
	DescribeInSets: describeLRUInSets,
}

// maxChained is the largest number of objects for which the batch path keeps a linked list. A hit on a list writes six
// places that are likely in the processor's cache. Above this number the log of dense.LogQueue, which writes two
// places, is twice as fast.
const maxChained = 4 << 20

type lru struct {
	queue    dense.LogQueue
	resident []bool // batch path with a log: smaller than the queue's stamps, so it stays in the processor's cache
	chain    chain  // batch path with a list only
	capacity int    // in objects, batch path only
	objects  int    // batch path only
}

func newLRU(c policies.Config) *lru {
	return &lru{queue: dense.NewLogQueue(c.Objects), capacity: int(c.Capacity), objects: c.Objects}
}

func (p *lru) Hit(r policies.Request)                  { p.queue.Renew(r.Object) }
func (p *lru) Miss(policies.Request)                   {}
func (p *lru) Victim(policies.Request) policies.Object { return p.queue.Pop() }
func (p *lru) Insert(r policies.Request)               { p.queue.Push(r.Object) }
func (p *lru) Remove(o policies.Object)                { p.queue.Remove(o) }
func (p *lru) Grow(objects int)                        { p.queue.Grow(objects) }

func (p *lru) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	if p.objects <= maxChained {
		if p.chain.prev == nil {
			p.chain = chain{prev: make([]uint32, p.objects+1), next: make([]uint32, p.objects+1), room: p.capacity}
		}
		return p.chain.replay(objects)
	}
	if p.resident == nil {
		p.resident = make([]bool, p.objects)
	}
	return p.replayLog(objects)
}

func (p *lru) ServeUnit(objects []policies.Object, resident []bool, room int64, changed []policies.Object) (int64,
	[]policies.Object) {
	q := &p.queue
	for _, o := range objects {
		if !resident[o] {
			if room > 0 {
				room--
			} else {
				q.Ahead()
				victim := q.Pop()
				resident[victim] = false
				changed = append(changed, victim)
			}
			resident[o] = true
			changed = append(changed, o)
			q.Live++
		}
		q.Renew(o)
	}
	return room, changed
}

// chain is a list of all resident objects by recency. Links are 1 + the object, or 0 for none. An object whose prev is
// 0 is absent, or it is the head.
type chain struct {
	prev, next []uint32 // index 0 takes the writes past an end
	head, tail uint32
	room       int // objects that still fit
}

// replay is LRU with the ends of the list in registers.
func (c *chain) replay(objects []policies.Object) (hits, evictions int) {
	prev, next, head, tail, room := c.prev, c.next, c.head, c.tail, c.room
	for _, object := range objects {
		o := object + 1
		if o == head {
			hits++
			continue
		}
		if before := prev[o]; before != 0 {
			hits++
			after := next[o]
			next[before] = after
			if o == tail {
				tail = before
			} else {
				prev[after] = before
			}
		} else if room == 0 {
			evictions++
			victim := tail
			tail = prev[victim]
			prev[victim] = 0
			if tail == 0 { // it was the only object
				head, tail = 0, o
			}
		} else {
			room--
			if tail == 0 {
				tail = o
			}
		}
		next[o], prev[head] = head, o
		head = o
	}
	c.head, c.tail, c.room = head, tail, room
	return hits, evictions
}

// replayLog does what the methods of the queue do, with the queue's fields in registers.
func (p *lru) replayLog(objects []policies.Object) (hits, evictions int) {
	q, resident := &p.queue, p.resident
	log, stamp, tail, end, live := q.Log, q.Stamp, q.Tail, q.End, q.Live
	for _, o := range objects {
		switch {
		case resident[o]:
			hits++
		case live < p.capacity:
			live++
			resident[o] = true
		default:
			for stamp[log[tail]] != tail {
				tail++
			}
			resident[log[tail]] = false
			tail++
			evictions++
			resident[o] = true
		}
		if int(end) == len(log) {
			q.Tail, q.End, q.Live = tail, end, live
			q.Compact()
			log, tail, end = q.Log, q.Tail, q.End
		}
		log[end] = o
		stamp[o] = end
		end++
	}
	q.Tail, q.End, q.Live = tail, end, live
	return hits, evictions
}

func describeLRUInSets(policies.Values, int) (d policies.SetsDescription, why string) { return d, "" }

// lruInSets is lru for caches of sets: it evicts the object of a set that batches used least recently.
func lruInSets(c policies.SetsConfig) (policies.SetsPolicy, error) {
	return slabs.NewLRU(c.Geometry), nil
}
