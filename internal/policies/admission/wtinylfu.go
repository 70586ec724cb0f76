// Package admission holds policies that admit an object if it is requested more often than the victim would be.
package admission

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Entries are the policies of this package.
var Entries = []policies.Entry{tinyLFUEntry, wTinyLFUEntry}

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
	}, sketchParams...),
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
	Params:  sketchParams,
	Random:  true,
	New:     func(c policies.Config) (policies.Policy, error) { return newTinyLFU(c), nil },
}

// sketchParams are the parameters of admission and of the estimate of how often objects are requested.
var sketchParams = []policies.Param{
	{Name: "jitter", Default: 1.0 / 128, Min: 0, Max: 1, Doc: "probability with which an object that loses is admitted " +
		"nevertheless, if it is warm; 0: never"},
	{Name: "warm", Default: 6, Min: 0, Max: dense.MaxCount, Doc: "requests in the sketch from which an object is warm"},
	{Name: "counters", Default: 16, Min: 1, Max: 1024, Doc: "4-bit counters in the sketch per resident object, rounded " +
		"up to a power of two in all"},
	{Name: "sample", Default: 10, Min: 1, Max: 1000, Doc: "requests per resident object after which counts are halved"},
	{Name: "rule", Default: "caffeine", Choices: []string{"caffeine", "simulator"}, Doc: "by which number of objects " +
		"sample is multiplied: caffeine, what fits; simulator, that rounded up to a power of two, as in Caffeine's " +
		"simulator"},
	{Name: "doorkeeper", Default: false, Doc: "count an object only from its second request in a sample"},
}

// jitterBits is the purpose of the random bits of jitter.
const jitterBits = 0x71f1

// The segments of wTinyLFU, each a list in LRU order.
const (
	inWindow = iota
	inProbation
	inProtected
)

// wTinyLFU is w-tinylfu; with an empty window and without a protected segment it is tinylfu.
type wTinyLFU struct {
	dense.Segments // without a limit of probation, which has the rest
	resident       int
	sketch         dense.Sketch
	counters       int  // per object
	sample         int  // per object
	roundUp        bool // the number of objects by which the sample is multiplied
	byBytes        bool // then the sketch grows with the number of resident objects
	admitted       bool // the missed object has been admitted directly to the main part
	free           int64
	capacity       int64
	most           int // objects there may be

	draws  *rand.PCG
	jitter float64
	warm   int

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
	p := &wTinyLFU{
		Segments: dense.NewSegments(c.Objects, c.Unit, 0, 0, 0),
		counters: c.Params.Int("counters"),
		sample:   c.Params.Int("sample"),
		roundUp:  c.Params.Text("rule") == "simulator",
		draws:    random.Stream(c.Seed, jitterBits),
		jitter:   c.Params.Float("jitter"),
		warm:     c.Params.Int("warm"),
		byBytes:  !c.Unit,
		free:     c.Capacity,
		capacity: c.Capacity,
		most:     c.Objects,
	}
	if c.Grows {
		p.most = math.MaxInt32
	}
	objects := p.room()
	// How many sized objects fit is unknown: fitSketch enlarges the sketch as they come.
	if !c.Unit {
		objects = min(objects, 64)
	}
	p.sketch = dense.NewSketch(objects*p.counters, p.period(objects), c.Params.Bool("doorkeeper"),
		random.Scramble(c.Seed))
	return p
}

// period returns after how many requests counts are halved, given the number of objects.
func (p *wTinyLFU) period(objects int) int {
	if p.roundUp {
		objects = dense.CeilPowerOfTwo(objects)
	}
	return objects * p.sample
}

// room returns how many objects fit if each is charged 1, at most all of them.
func (p *wTinyLFU) room() int { return int(min(p.capacity, int64(p.most))) }

// divide sets the limits of the segments.
func (p *wTinyLFU) divide(capacity int64) {
	// capacity-1: the window has room for 1 at least, however small its share.
	main := min(int64(float64(capacity)*(1-p.window)), capacity-1)
	p.Limit[inWindow] = capacity - main
	p.Limit[inProtected] = int64(float64(main) * p.protected)
}

// Resize moves objects above the segments' limits to probation. The counts of the sketch stay.
func (p *wTinyLFU) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.capacity = capacity
	if p.windowed {
		p.divide(capacity)
		p.spill(inWindow)
		p.spill(inProtected)
	}
	if !p.byBytes {
		p.sketch.Grow(p.room()*p.counters, p.period(p.room()))
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
	p.sketch.Add(r.Object)
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
		p.sketch.Add(r.Object)
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
	if victim != candidate && p.admits(candidate, victim) {
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
	if !p.admitted && !p.admits(r.Object, victim) {
		return r.Object
	}
	p.admitted = true
	return p.evict(victim)
}

// admits reports whether a candidate replaces a victim: if it was requested more often. Sometimes a candidate with as
// many requests is admitted at random. When all counts are full they are never halved, and objects that are no longer
// requested would win every tie.
func (p *wTinyLFU) admits(candidate, victim policies.Object) bool {
	requests := p.sketch.Estimate(candidate)
	if requests > p.sketch.Estimate(victim) {
		return true
	}
	return requests >= p.warm && p.jitter > 0 && random.Unit(p.draws) < p.jitter
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
	p.resident++
	if p.byBytes {
		p.sketch.Fit(p.resident*p.counters, p.period(p.resident))
	}
	p.Load(inWindow, r.Object, r.Size)
	p.spill(inWindow)
}

func (p *wTinyLFU) Remove(o policies.Object) {
	p.Take(o)
	p.resident--
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
