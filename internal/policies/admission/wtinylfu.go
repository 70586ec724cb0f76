// Package admission holds policies that admit an object if it is requested more often than the victim would be.
package admission

import (
	"strings"

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
	Source: "Einziger, Friedman, Manes, TinyLFU: a highly efficient cache admission policy, ACM ToS 2017; the climbers: " +
		"Caffeine's simulator, and Einziger, Eytan, Friedman, Manes, Adaptive software cache management, Middleware 2018",
	Params: append([]policies.Param{
		{Name: "window", Default: 0.01, Min: 0, Max: 1, Doc: "share of the capacity for the window, at least one object"},
		{Name: "protected", Default: 0.8, Min: 0, Max: 1, Doc: "share of the main part for objects requested again"},
		climbParam, hashParam,
	}, FrequencyParams...),
	Check: func(v policies.Values) error {
		if err := checkClimb(v); err != nil {
			return err
		}
		return checkHash(v)
	},
	Random: true,
	Resolve: func(e *policies.Entry, v policies.Values) {
		if v.Text("climb") != "none" {
			e.Units = policies.UnitsObjects
		}
		e.Random = drawsAtRandom(v) || strings.HasPrefix(v.Text("climb"), "simulated-annealing")
	},
	Keys: keysForHash,
	New:  func(c policies.Config) (policies.Policy, error) { return newWTinyLFU(c) },
}

var tinyLFUEntry = policies.Entry{
	Name:    "tinylfu",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Cross},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 14},
	Summary: "LRU that admits objects requested more often than its victim",
	Source:  "Einziger, Friedman, TinyLFU: a highly efficient cache admission policy, PDP 2014",
	Bypass:  true,
	Params:  append(append([]policies.Param{hashParam}, arrivalsParams...), FrequencyParams...),
	Check:   checkHash,
	Random:  true,
	Resolve: func(e *policies.Entry, v policies.Values) { e.Random = drawsAtRandom(v) },
	Keys:    keysForHash,
	New: func(c policies.Config) (policies.Policy, error) {
		p := newTinyLFU(c)
		if c.Params.Bool("feedback") {
			p.arrivals = newArrivals(c, &p.Frequencies)
		}
		return p, nil
	},
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

	climber       climberEntry
	climberConfig climberConfig
	climb         *climbing // nil if the window stays
	feedback      *feedback // nil, unless that moves it
	arrivals      *arrivals // nil, unless tinylfu has feedback
}

func newWTinyLFU(c policies.Config) (*wTinyLFU, error) {
	p := newTinyLFU(c)
	p.window, p.protected = c.Params.Float("window"), c.Params.Float("protected")
	p.windowed = true
	p.divide(c.Capacity)
	return p, p.startClimbing(c)
}

func newTinyLFU(c policies.Config) *wTinyLFU {
	return &wTinyLFU{
		Segments:    dense.NewSegments(c.Objects, c.Unit, 0, 0, 0),
		Frequencies: NewFrequencies(c),
		free:        c.Capacity,
	}
}

func (p *wTinyLFU) Grow(objects int) {
	p.Segments.Grow(objects)
	p.GrowCodes(objects)
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
	same := capacity == p.Frequencies.capacity
	if p.Frequencies.Resize(capacity); p.windowed && (!same || p.climber.name == "none") {
		p.divide(capacity)
		p.restartClimbing(capacity)
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
	p.sampleRequest()
	p.Count(r.Object)
	if p.In(inProbation, r.Object) {
		p.protect(r.Object)
	} else {
		p.Renew(r.Object)
	}
	if p.climb != nil {
		p.climbAfter(r.Object, true, p.isFull())
	}
}

// protect moves o from probation to the protected segment.
func (p *wTinyLFU) protect(o policies.Object) {
	p.Take(o)
	p.Put(inProtected, o)
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
	p.setCode(r.Object)
	if r.Reason != policies.Demand {
		return
	}
	p.sampleRequest()
	if p.climb != nil {
		p.climb.full = p.isFull()
	}
	p.Count(r.Object)
	if p.arrivals != nil {
		p.arrivals.raise(r.Object)
	}
}

// sampleRequest counts a request in the samples of feedback, before it is served.
func (p *wTinyLFU) sampleRequest() {
	if p.feedback != nil {
		p.feedback.request()
	}
	if p.arrivals != nil {
		p.arrivals.request()
	}
}

// loaded ends the request of an object that was missed.
func (p *wTinyLFU) loaded(r policies.Request) {
	if p.feedback != nil {
		p.feedback.loaded()
	}
	if p.climb != nil && r.Reason == policies.Demand {
		p.climbAfter(r.Object, false, p.climb.full)
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
	if p.feedback != nil && victim != candidate {
		p.Take(candidate)
		p.Put(inProbation, candidate)
		if p.feedback.readmits(candidate) {
			return p.evict(victim)
		}
	}
	return p.evict(candidate)
}

// victimForLarge serves an object that does not fit into the window: it competes itself, once, and enters the main part
// if it wins.
func (p *wTinyLFU) victimForLarge(r policies.Request) policies.Object {
	victim := p.mainVictim()
	if !p.admitted && !p.Prefers(r.Object, victim) && !p.readmits(r) {
		p.loaded(r)
		return r.Object
	}
	p.admitted = true
	return p.evict(victim)
}

// readmits reports whether feedback admits an object that has lost.
func (p *wTinyLFU) readmits(r policies.Request) bool {
	return p.arrivals != nil && r.Reason == policies.Demand && p.arrivals.readmits(r.Object)
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
	p.loaded(r)
}

func (p *wTinyLFU) Remove(o policies.Object) {
	p.Take(o)
	p.Resident(-1)
}

func (p *wTinyLFU) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	if p.climb == nil && p.feedback == nil && !p.java {
		return p.replayFixed(objects)
	}
	for i, o := range objects {
		r := policies.Request{Object: o, Pos: first + i, Size: 1}
		if p.Has(o) {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		evictions += p.loadUnit(r)
	}
	return hits, evictions
}

// replayFixed is ReplayUnit with a window that stays.
func (p *wTinyLFU) replayFixed(objects []policies.Object) (hits, evictions int) {
	segment := p.Segment
	for _, o := range objects {
		p.sketch.Add(o)
		switch at := segment[o]; at {
		case 0:
			if p.free == 0 && p.contested() {
				p.loadContested(o)
				evictions++
				continue
			}
			p.admitted = false
			evictions += p.loadUnit(policies.Request{Object: o, Size: 1})
		case inProbation + 1:
			hits++
			p.protect(o)
		default:
			hits++
			p.List.MoveToFront(int(at)-1, o)
		}
	}
	return hits, evictions
}

// contested reports whether the next object is loaded into a full window, whose victim competes with that of probation.
func (p *wTinyLFU) contested() bool {
	return p.windowed && p.Used[inWindow] == p.Limit[inWindow] && p.Used[inProbation] > 0
}

// loadContested loads o and evicts where all is as contested says and a full cache has objects of size 1: no segment
// then has more of them than before.
func (p *wTinyLFU) loadContested(o policies.Object) {
	loser := p.List.PopBack(inWindow)
	victim, _ := p.List.Back(inProbation)
	if p.wins(p.sketch.Estimate(loser), p.sketch.Estimate(victim)) {
		p.List.PopBack(inProbation)
		p.List.PushFront(inProbation, loser)
		p.Segment[loser] = inProbation + 1
		loser = victim
	}
	p.Segment[loser] = 0
	p.List.PushFront(inWindow, o)
	p.Segment[o] = inWindow + 1
}

// loadUnit loads what was missed, unless it is refused, and returns the number of objects evicted.
func (p *wTinyLFU) loadUnit(r policies.Request) (evictions int) {
	if p.free > 0 {
		p.free--
	} else if p.Victim(r) == r.Object {
		return 0
	} else {
		evictions = 1
	}
	p.Insert(r)
	return evictions
}
