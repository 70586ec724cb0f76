package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var clockEntry = policies.Entry{
	Name:    "clock",
	Look:    policies.Look{Color: policies.Olive, Mark: policies.Box},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 4},
	Aliases: []string{"second-chance", "fifo-reinsertion"},
	Summary: "evicts in order of arrival, but an object requested since the hand last passed stays for another " +
		"turn",
	Source: "Corbató, A paging experiment with the Multics system, MIT Project MAC 1968",
	Params: []policies.Param{
		{Name: "bits", Default: 1, Min: 1, Max: 7, Doc: "width of an object's counter of requests: it stays for up to " +
			"2^bits-1 turns"},
		{Name: "rule", Default: "libcachesim", Choices: []string{"libcachesim", "caffeine"},
			Doc: "caffeine: the new object joins the queue before the hand moves, which evicts it if all others stay"},
	},
	BypassIf: func(v policies.Values) bool { return v.Text("rule") == "caffeine" },
	Guarantee: func(v policies.Values, capacity int) policies.Guarantee {
		if v.Int("bits") != 1 || v.Text("rule") != "libcachesim" {
			return policies.Guarantee{}
		}
		return policies.KCompetitive(v, capacity)
	},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Params.Text("rule") == "caffeine" {
			return &clockWithNew{queue: newClock(c)}, nil
		}
		return newClock(c), nil
	},
}

// clock keeps the turns that each object has left. In the one-by-one calls an object with a turn left goes to the front
// of a queue. The batch path leaves it in place and moves a hand instead, which gives the same order.
type clock struct {
	turns []uint8
	top   uint8
	list  dense.Lists

	// Batch path: for a resident object turns counts from 1; 0 means absent.
	ring   []policies.Object
	hand   int
	filled int
	room   int // objects that fit
}

func newClock(c policies.Config) *clock {
	return &clock{
		turns: make([]uint8, c.Objects), top: 1<<c.Params.Int("bits") - 1, list: dense.NewLists(c.Objects, 1), room: c.Room(),
	}
}

func (p *clock) Hit(r policies.Request) { p.turns[r.Object] = min(p.turns[r.Object]+1, p.top) }
func (p *clock) Miss(policies.Request)  {}

func (p *clock) Victim(policies.Request) policies.Object {
	for {
		o := p.list.PopBack(0)
		if p.turns[o] == 0 {
			return o
		}
		p.turns[o]--
		p.list.PushFront(0, o)
	}
}

func (p *clock) Insert(r policies.Request) {
	p.turns[r.Object] = 0
	p.list.PushFront(0, r.Object)
}

func (p *clock) Remove(o policies.Object) { p.list.Unlink(o) }

func (p *clock) Grow(objects int) {
	p.turns = dense.Grown(p.turns, objects)
	p.list.Grow(objects)
}

func (p *clock) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	if p.ring == nil {
		p.ring = make([]policies.Object, p.room)
	}
	turns, top := p.turns, p.top
	for _, o := range objects {
		if t := turns[o]; t != 0 {
			hits++
			// t counts from 1: at top+1 the object has all its turns.
			if t <= top {
				turns[o] = t + 1
			}
			continue
		}
		turns[o] = 1
		if p.filled < len(p.ring) {
			p.ring[p.filled] = o
			p.filled++
			continue
		}
		p.replace(o)
		evictions++
	}
	return hits, evictions
}

// replace puts o in the place of the first object, from the hand on, that has no turn left.
func (p *clock) replace(o policies.Object) {
	ring, turns, hand := p.ring, p.turns, p.hand
	for {
		v := ring[hand]
		turns[v]--
		if turns[v] == 0 {
			ring[hand] = o
		}
		if hand++; hand == len(ring) {
			hand = 0
		}
		if turns[v] == 0 {
			p.hand = hand
			return
		}
	}
}

// clockWithNew is the clock of Caffeine's simulator: the new object joins the queue before the hand moves. Where every
// other object stays for another turn, the hand comes to the new one, which has none yet, and evicts it.
type clockWithNew struct {
	queue  *clock
	queued bool // the missed object is in the queue
}

func (p *clockWithNew) Hit(r policies.Request) { p.queue.Hit(r) }
func (p *clockWithNew) Miss(policies.Request)  { p.queued = false }

func (p *clockWithNew) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Shrink {
		p.join(r)
	}
	return p.queue.Victim(r)
}

func (p *clockWithNew) Insert(r policies.Request) { p.join(r) }

func (p *clockWithNew) join(r policies.Request) {
	if !p.queued {
		p.queue.Insert(r)
		p.queued = true
	}
}

func (p *clockWithNew) Remove(o policies.Object) { p.queue.Remove(o) }
func (p *clockWithNew) Grow(objects int)         { p.queue.Grow(objects) }
