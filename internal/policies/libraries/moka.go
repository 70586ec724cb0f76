package libraries

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var mokaEntries = []policies.Entry{{
	Name:    "moka",
	Aliases: []string{"mini-moka"},
	Look:    policies.Look{Color: policies.Green, Mark: policies.Arrow},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 16},
	Summary: "LRU that admits a new object if it was requested more often than those that it needs the room of, as the " +
		"library moka does",
	Source: "moka 0.12.16 and mini-moka 0.10.3 for Rust; TinyLFU: Einziger, Friedman, Manes, ACM ToS 2017; by size: " +
		"Einziger, Eytan, Friedman, Manes, Lightweight robust size aware cache management, 2021",
	Bypass: true,
	Random: true,
	New: func(c policies.Config) (policies.Policy, error) {
		p := newMoka(c)
		if c.Unit {
			return p, nil
		}
		return &mokaSized{moka: p}, nil
	},
}}

const (
	// mokaLeast is the number of objects that the sketch has room for at least.
	mokaLeast = 128
	// mokaMost is the number that it has room for at most.
	mokaMost = 1 << 30
	// mokaSample is the number of requests per object after which counts are halved.
	mokaSample = 10
)

// moka is the library with a capacity in objects. Nothing is counted before the cache is half full.
type moka struct {
	dense.Segments // one, in LRU order
	sketch         dense.FullSketch
	seed           uint64 // of hashes, which the library draws in each process
	capacity, free int64
	resident       int64
	unit           bool
}

func newMoka(c policies.Config) *moka {
	return &moka{
		Segments: dense.NewSegments(c.Objects, c.Unit, c.Capacity),
		seed:     random.Scramble(c.Seed),
		capacity: c.Capacity,
		free:     c.Capacity,
		unit:     c.Unit,
	}
}

func (p *moka) hash(o policies.Object) uint64 { return random.Scramble(uint64(o) + p.seed) }

func (p *moka) frequency(o policies.Object) int { return p.sketch.Estimate(p.hash(o)) }

func (p *moka) Hit(r policies.Request) {
	p.sketch.Add(p.hash(r.Object))
	p.Renew(r.Object)
}

func (p *moka) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.sketch.Add(p.hash(r.Object))
	}
}

func (p *moka) Victim(r policies.Request) policies.Object {
	victim, _ := p.List.Back(0)
	if r.Reason != policies.Shrink && p.frequency(r.Object) <= p.frequency(victim) {
		return r.Object
	}
	p.Remove(victim)
	return victim
}

func (p *moka) Insert(r policies.Request) {
	p.Load(0, r.Object, r.Size)
	p.resident++
	p.startCounting()
}

// startCounting makes the sketch once the cache is half full. By bytes it has room for as many objects as there are
// then, times the share of the capacity that they take, and never grows.
func (p *moka) startCounting() {
	if p.sketch.Words() > 0 || p.Used[0] < p.capacity/2 {
		return
	}
	objects := p.capacity
	if !p.unit {
		objects = int64(float64(p.resident) * (float64(p.Used[0]) / float64(p.capacity)))
	}
	objects = max(mokaLeast, min(objects, mokaMost))
	p.sketch = dense.NewFullSketch(int(objects), int(min(mokaSample*objects, 1<<31-1)))
}

func (p *moka) Remove(o policies.Object) {
	p.Take(o)
	p.resident--
}

// Resize changes what fits; the sketch stays as it is, since no cache of the library can be resized.
func (p *moka) Resize(capacity int64) {
	if capacity != p.capacity {
		p.capacity = capacity
		p.startCounting()
	}
}

func (p *moka) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		r := policies.Request{Object: o, Pos: first + i, Size: 1}
		if p.Has(o) {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.free > 0 {
			p.free--
		} else if p.Victim(r) == o {
			continue
		} else {
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}

// mokaSized is moka with a capacity in bytes: an object is admitted if it was requested more often than the least
// recent objects together that are as large as it. All of those leave, also where some of their room would be enough.
type mokaSized struct {
	*moka
	dense.Late
}

func (p *mokaSized) Hit(r policies.Request) {
	if p.Has(r.Object) { // unless it is late
		p.moka.Hit(r)
	}
}

func (p *mokaSized) Victim(r policies.Request) policies.Object {
	switch {
	case len(p.Late) > 0:
	case r.Reason == policies.Shrink:
		return p.moka.Victim(r)
	case !p.admit(r):
		return r.Object
	}
	return p.Next()
}

// admit decides about r's object, and evicts those that it replaces.
func (p *mokaSized) admit(r policies.Request) bool {
	frequency, others, room := p.frequency(r.Object), 0, int64(0)
	last := policies.NoObject
	for o, ok := p.List.Back(0); ok && room < r.Size && others <= frequency; o, ok = p.List.Before(o) {
		others += p.frequency(o)
		room += p.Charged.Of(o)
		last = o
	}
	if room < r.Size || frequency <= others {
		return false
	}
	for o := policies.NoObject; o != last; {
		o, _ = p.List.Back(0)
		p.moka.Remove(o)
		p.Late = append(p.Late, o)
	}
	return true
}

func (p *mokaSized) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.moka.Remove(o)
	}
}

// Resized implements policies.SizeFollower. What is too much leaves in LRU order.
func (p *mokaSized) Resized(o policies.Object, size int64) {
	if p.Has(o) { // unless it is late
		p.Segments.Resized(o, size)
		p.startCounting()
	}
}
