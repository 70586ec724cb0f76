package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var sieveEntry = policies.Entry{
	Name:   "sieve",
	Look:   policies.Look{Color: policies.Violet, Mark: policies.Cross},
	Memory: policies.Memory{PerObject: 9, PerSlot: 8},
	Summary: "a hand moves from the oldest object to the newest and evicts the first one not requested since it last " +
		"passed; objects keep their places",
	Source: "Zhang, Yang, Yue, Vigfusson and Rashmi, SIEVE is simpler than LRU, NSDI 2024, algorithm 1",
	New:    func(c policies.Config) (policies.Policy, error) { return newSieve(c), nil },
}

// What sieve knows about an object.
const (
	sieveAbsent = iota
	sieveUnvisited
	sieveVisited
)

type sieve struct {
	state []uint8
	list  dense.Lists
	hand  policies.Object // where the next search for a victim starts
	begun bool            // hand is valid; otherwise the search starts at the oldest object

	log    sieveLog // batch path
	config policies.Config
}

func newSieve(c policies.Config) *sieve {
	return &sieve{state: make([]uint8, c.Objects+1), list: dense.NewLists(c.Objects, 1), config: c}
}

func (p *sieve) Hit(r policies.Request) { p.state[r.Object] = sieveVisited }
func (p *sieve) Miss(policies.Request)  {}

func (p *sieve) Victim(policies.Request) policies.Object {
	o := p.hand
	if !p.begun {
		o, _ = p.list.Back(0)
	}
	for p.state[o] == sieveVisited {
		p.state[o] = sieveUnvisited
		newer, ok := p.list.Before(o)
		if !ok {
			newer, _ = p.list.Back(0)
		}
		o = newer
	}
	p.hand, p.begun = p.list.Before(o)
	p.list.Unlink(o)
	return o
}

func (p *sieve) Insert(r policies.Request) {
	p.state[r.Object] = sieveUnvisited
	p.list.PushFront(0, r.Object)
}

func (p *sieve) Remove(o policies.Object) {
	if p.begun && p.hand == o {
		p.hand, p.begun = p.list.Before(o)
	}
	p.list.Unlink(o)
}

func (p *sieve) Grow(objects int) {
	p.state = dense.Grown(p.state, objects+1)
	p.list.Grow(objects)
}

// sieveLog holds the resident objects in order of arrival, oldest first, for the batch path. The entry of an evicted
// object is overwritten with `gone`, a number that no object has and whose state stays sieveAbsent. When the log is
// full, the remaining entries move to its start. The log is twice as long as the cache, so that this costs amortized
// constant time per eviction.
type sieveLog struct {
	entries []policies.Object
	end     int // entries in use
	hand    int // index of the entry where the next search starts
	free    int // objects that still fit
	gone    policies.Object
}

func newSieveLog(c policies.Config) sieveLog {
	capacity := c.Room()
	return sieveLog{entries: make([]policies.Object, 2*capacity), free: capacity, gone: policies.Object(c.Objects)}
}

func (p *sieve) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	if p.log.entries == nil {
		p.log = newSieveLog(p.config)
	}
	state, log := p.state, &p.log
	for _, o := range objects {
		if state[o] != sieveAbsent {
			hits++
			state[o] = sieveVisited
			continue
		}
		if log.free > 0 {
			log.free--
		} else {
			log.evict(state)
			evictions++
		}
		if log.end == len(log.entries) {
			log.compact()
		}
		log.entries[log.end] = o
		log.end++
		state[o] = sieveUnvisited
	}
	return hits, evictions
}

// evict removes the first unvisited object from the hand on. The newest entry is never `gone`, since each eviction
// makes room for an arrival; so a hand that has reached the end has passed every object.
func (l *sieveLog) evict(state []uint8) {
	entries, at := l.entries[:l.end], l.hand
	for {
		o := entries[at]
		s := state[o]
		if s == sieveUnvisited {
			state[o] = sieveAbsent
			entries[at] = l.gone
		} else if s == sieveVisited {
			state[o] = sieveUnvisited
		}
		if at++; at == len(entries) {
			at = 0
		}
		if s == sieveUnvisited {
			l.hand = at
			return
		}
	}
}

func (l *sieveLog) compact() {
	end, hand := 0, 0
	for at, o := range l.entries {
		// If the entry at the hand is gone, the next one that stays takes this place.
		if at == l.hand {
			hand = end
		}
		l.entries[end] = o
		if o != l.gone {
			end++
		}
	}
	l.end, l.hand = end, hand
}
