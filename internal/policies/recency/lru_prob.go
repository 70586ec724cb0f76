package recency

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lruProbEntry = policies.Entry{
	Name:    "lru-prob",
	Look:    policies.Look{Color: policies.Vermilion, Mark: policies.Pentagon},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 0},
	Summary: "lru in which a hit makes an object the most recent one with a probability only",
	Source:  "libCacheSim (LRU_Prob); Johnson and Shasha's 2Q paper, VLDB 1994, and CacheLib have the same to spare locks",
	Random:  true,
	Params: []policies.Param{
		{Name: "prob", Default: 0.5, Min: 0, Max: 1, Doc: "probability that a hit makes an object the most recent one; 0: " +
			"fifo, 1: lru"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newLRUProb(c), nil },
}

type lruProb struct {
	list      dense.Lists
	resident  []bool
	draws     random.Draws
	threshold uint64 // of 2^31
	room      int64  // batch path: objects that still fit
}

// lruProbScale is how many values a draw has.
const lruProbScale = 1 << 31

func newLRUProb(c policies.Config) *lruProb {
	return &lruProb{list: dense.NewLists(c.Objects, 1), resident: make([]bool, c.Objects),
		draws:     random.NewDraws(c.Seed),
		threshold: uint64(math.Round(c.Params.Float("prob") * lruProbScale)), room: c.Capacity}
}

func (p *lruProb) Hit(r policies.Request) {
	if p.draws.Below(lruProbScale) < p.threshold {
		p.list.MoveToFront(0, r.Object)
	}
}

func (p *lruProb) Miss(policies.Request) {}

func (p *lruProb) Victim(policies.Request) policies.Object {
	o := p.list.PopBack(0)
	p.resident[o] = false
	return o
}

func (p *lruProb) Insert(r policies.Request) {
	p.list.PushFront(0, r.Object)
	p.resident[r.Object] = true
}

func (p *lruProb) Remove(o policies.Object) {
	p.list.Unlink(o)
	p.resident[o] = false
}

func (p *lruProb) Grow(objects int) {
	p.list.Grow(objects)
	p.resident = dense.Grown(p.resident, objects)
}

// ReplayUnit draws with the sequence in a register.
func (p *lruProb) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	resident, draws := p.resident, p.draws
	for _, o := range objects {
		if resident[o] {
			hits++
			if draws.Below(lruProbScale) < p.threshold {
				p.list.MoveToFront(0, o)
			}
			continue
		}
		if p.room > 0 {
			p.room--
		} else {
			resident[p.list.PopBack(0)] = false
			evictions++
		}
		p.list.PushFront(0, o)
		resident[o] = true
	}
	p.draws = draws
	return hits, evictions
}
