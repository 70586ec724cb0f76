// Package admission holds policies that admit an object if it is requested more often than the victim would be.
package admission

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Entries are the policies of this package.
var Entries = []policies.Entry{tinyLFUEntry, wTinyLFUEntry, caffeineEntry}

var wTinyLFUEntry = policies.Entry{
	Name:    "w-tinylfu",
	Look:    policies.Look{Color: policies.Orange, Mark: policies.Ring},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 14},
	Aliases: []string{"wtinylfu"},
	Summary: "a small LRU window before a segmented LRU that admits objects requested more often than its victim",
	Source:  "Einziger, Friedman, Manes, TinyLFU: a highly efficient cache admission policy, ACM ToS 2017",
	Params: append([]policies.Param{
		{Name: "window", Default: 0.01, Min: 0, Max: 1, Doc: "share of the capacity for the window, at least one object"},
		{Name: "protected", Default: 0.8, Min: 0, Max: 1, Doc: "share of the main part for objects requested again"},
	}, FrequencyParams...),
	Random: true,
	New:    func(c policies.Config) (policies.Policy, error) { return newWTinyLFU(c), nil },
}

var tinyLFUEntry = policies.Entry{
	Name:    "tinylfu",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Cross},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 14},
	Summary: "LRU that admits objects requested more often than its victim",
	Source:  "Einziger, Friedman, TinyLFU: a highly efficient cache admission policy, PDP 2014",
	Bypass:  true,
	Params:  FrequencyParams,
	Random:  true,
	New:     func(c policies.Config) (policies.Policy, error) { return newTinyLFU(c), nil },
}

// The segments of wTinyLFU, each a list in LRU order.
const (
	inWindow = iota
	inProbation
	inProtected
)

// wTinyLFU is w-tinylfu; with an empty window and without a protected segment it is tinylfu.
type wTinyLFU struct {
	dense.Segments // without a limit of probation, which has the rest
	Frequencies
	admitted bool // the missed object has been admitted directly to the main part
	free     int64

	windowed          bool    // w-tinylfu
	window, protected float64 // its parameters
}

func newWTinyLFU(c policies.Config) *wTinyLFU {
	p := newTinyLFU(c)
	p.window, p.protected = c.Params.Float("window"), c.Params.Float("protected")
	p.windowed = true
	p.divide(c.Capacity)
	return p
}

func newTinyLFU(c policies.Config) *wTinyLFU {
	return &wTinyLFU{
		Segments:    dense.NewSegments(c.Objects, c.Unit, 0, 0, 0),
		Frequencies: NewFrequencies(c),
		free:        c.Capacity,
	}
}

// divide sets the limits of the segments.
func (p *wTinyLFU) divide(capacity int64) {
	// capacity-1: the window has room for 1 at least, however small its share.
	main := min(int64(float64(capacity)*(1-p.window)), capacity-1)
	p.Limit[inWindow] = capacity - main
	p.Limit[inProtected] = int64(float64(main) * p.protected)
}

// Resize moves objects above the segments' limits to probation. The counts of the sketch stay.
func (p *wTinyLFU) Resize(capacity int64) {
	if p.Frequencies.Resize(capacity); p.windowed {
		p.divide(capacity)
		p.spill(inWindow)
		p.spill(inProtected)
	}
}

// Resized implements policies.SizeFollower. What no longer fits a segment moves to probation, perhaps the object
// itself.
func (p *wTinyLFU) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	if p.windowed {
		p.spill(inWindow)
		p.spill(inProtected)
	}
}

func (p *wTinyLFU) Hit(r policies.Request) {
	p.Count(r.Object)
	if !p.In(inProbation, r.Object) {
		p.Renew(r.Object)
		return
	}
	p.Take(r.Object)
	p.Put(inProtected, r.Object)
	p.spill(inProtected)
}

// spill moves the least recent objects of segment s to probation until it keeps its limit.
func (p *wTinyLFU) spill(s int) {
	for p.Used[s] > p.Limit[s] {
		o, _ := p.Pop(s)
		p.Put(inProbation, o)
	}
}

func (p *wTinyLFU) Miss(r policies.Request) {
	p.admitted = false
	if r.Reason == policies.Demand {
		p.Count(r.Object)
	}
}

// Victim compares the object that leaves the window for r with the victim of the main part.
func (p *wTinyLFU) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Shrink {
		return p.evict(p.mainVictim())
	}
	if r.Size > p.Limit[inWindow] {
		return p.victimForLarge(r)
	}
	candidate, ok := p.List.Back(inWindow)
	if !ok || p.Used[inWindow]+r.Size <= p.Limit[inWindow] {
		return p.evict(p.mainVictim())
	}
	victim := p.mainVictim()
	// With an empty main part, the window's victim is evicted: there is nothing to compete with.
	if victim != candidate && p.Prefers(candidate, victim) {
		p.Take(candidate)
		p.Put(inProbation, candidate)
		return p.evict(victim)
	}
	return p.evict(candidate)
}

// victimForLarge serves an object that does not fit into the window: it competes itself, once, and enters the main part
// if it wins.
func (p *wTinyLFU) victimForLarge(r policies.Request) policies.Object {
	victim := p.mainVictim()
	if !p.admitted && !p.Prefers(r.Object, victim) {
		return r.Object
	}
	p.admitted = true
	return p.evict(victim)
}

// mainVictim returns the least recent object on probation, or else of the protected segment, or else of the window.
func (p *wTinyLFU) mainVictim() policies.Object {
	for _, s := range [...]int{inProbation, inProtected, inWindow} {
		if o, ok := p.List.Back(s); ok {
			return o
		}
	}
	panic("w-tinylfu: a victim is asked of an empty cache")
}

func (p *wTinyLFU) evict(o policies.Object) policies.Object {
	p.Remove(o)
	return o
}

func (p *wTinyLFU) Insert(r policies.Request) {
	p.Resident(1)
	p.Load(inWindow, r.Object, r.Size)
	p.spill(inWindow)
}

func (p *wTinyLFU) Remove(o policies.Object) {
	p.Take(o)
	p.Resident(-1)
}

func (p *wTinyLFU) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
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
