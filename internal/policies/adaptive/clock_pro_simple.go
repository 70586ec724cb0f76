package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var clockProSimpleEntry = policies.Entry{
	Name:    "clock-pro-simple",
	Look:    policies.Look{Color: policies.Violet, Mark: policies.Spark},
	Memory:  policies.Memory{PerObject: 17, PerSlot: 0},
	Aliases: []string{"clockprosimple"},
	Units:   policies.UnitsObjects,
	Bypass:  true,
	Summary: "clock-pro with three lists in place of a circle with three hands: numbers say which of two objects has " +
		"come or been moved later",
	Source: "Park, in Caffeine's simulator (ClockProSimplePolicy), after Jiang, Chen and Zhang, CLOCK-Pro: an effective " +
		"improvement of the CLOCK replacement, USENIX 2005",
	Params: []policies.Param{
		{Name: "min-cold", Default: 0.01, Min: 0, Max: 0.5, Doc: "least share of the capacity for cold objects, and for " +
			"hot ones"},
		{Name: "nonresident", Default: 1.0, Min: 0, Max: 16, Doc: "capacity for evicted objects in their test, as a " +
			"multiple of the cache's"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newClockProSimple(c), nil },
}

// The lists of clockProSimple, in which the oldest object is at the back.
const (
	simpleHot = iota
	simpleCold
	simpleGhost
	simpleLists
)

// clockProSimple has an epoch for each object: it is in its test while that is later than the epoch of the hot object
// at the back.
type clockProSimple struct {
	list    dense.Lists
	state   []uint8 // per object: 1 + its list, and simpleMarked
	epochs  []int64 // per object
	epoch   int64
	sizes   [simpleLists]int
	target  int // for cold objects
	minCold int

	capacity, ghosts int
	config           policies.Config
	entered          bool // the missed object is in a list already
}

const (
	simpleStatus = 3 // mask of the status
	simpleMarked = 4 // requested since it came to its place
)

func newClockProSimple(c policies.Config) *clockProSimple {
	p := &clockProSimple{list: dense.NewLists(c.Objects, simpleLists), state: make([]uint8, c.Objects),
		epochs: make([]int64, c.Objects), config: c}
	p.limit(c.Capacity)
	return p
}

// limit sets what depends on the capacity.
func (p *clockProSimple) limit(capacity int64) {
	p.capacity = int(capacity)
	p.minCold = int(dense.Multiple(capacity, p.config.Params.Float("min-cold")))
	p.ghosts = int(dense.Multiple(capacity, p.config.Params.Float("nonresident")))
}

func (p *clockProSimple) Resize(capacity int64) {
	if int(capacity) == p.capacity {
		return
	}
	p.limit(capacity)
	p.adjust(0)
	for p.sizes[simpleGhost] > p.ghosts {
		p.forgetGhost()
	}
}

func (p *clockProSimple) Grow(objects int) {
	p.list.Grow(objects)
	p.state, p.epochs = dense.Grown(p.state, objects), dense.Grown(p.epochs, objects)
}

func (p *clockProSimple) in(list int, o policies.Object) bool {
	return int(p.state[o]&simpleStatus) == list+1
}

func (p *clockProSimple) put(list int, o policies.Object) {
	p.list.PushFront(list, o)
	p.state[o] = uint8(list + 1)
	p.sizes[list]++
}

func (p *clockProSimple) take(o policies.Object) {
	p.list.Unlink(o)
	p.sizes[p.state[o]&simpleStatus-1]--
	p.state[o] = 0
}

func (p *clockProSimple) marked(o policies.Object) bool { return p.state[o]&simpleMarked != 0 }
func (p *clockProSimple) residents() int                { return p.sizes[simpleHot] + p.sizes[simpleCold] }

// inTest reports whether an epoch is later than that of the oldest hot object.
func (p *clockProSimple) inTest(epoch int64) bool {
	o, ok := p.list.Back(simpleHot)
	return !ok || epoch > p.epochs[o]
}

func (p *clockProSimple) Hit(r policies.Request) { p.state[r.Object] |= simpleMarked }

func (p *clockProSimple) Miss(r policies.Request) {
	p.entered = false
	if r.Reason != policies.Demand && p.in(simpleGhost, r.Object) {
		p.take(r.Object)
	}
}

// Victim lets the missed object enter first, so that it may be the one that leaves.
func (p *clockProSimple) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Shrink && !p.entered {
		p.enter(r.Object)
		p.entered = true
	}
	for {
		if p.sizes[simpleCold] == 0 {
			// A hot object that was passed may be later than anything that has come: then nothing does for a while.
			if oldest, _ := p.list.Back(simpleHot); !p.runHot(p.epoch) {
				p.epoch = max(p.epoch, p.epochs[oldest])
			}
			continue
		}
		if o, evicted := p.runCold(); evicted {
			p.prune()
			return o
		}
	}
}

func (p *clockProSimple) Insert(r policies.Request) {
	if !p.entered {
		p.enter(r.Object)
		p.prune()
	}
	p.entered = false
}

// enter puts the missed object into a list: the hot one while the cache fills, or if it returns in its test.
func (p *clockProSimple) enter(o policies.Object) {
	list := simpleCold
	if !p.in(simpleGhost, o) {
		p.epoch++
		if p.residents() < p.capacity-p.minCold {
			list = simpleHot
		}
	} else {
		epoch := p.epochs[o]
		p.take(o)
		if p.canPromote(epoch) {
			list = simpleHot
		}
	}
	p.put(list, o)
	p.epochs[o] = p.epoch
}

func (p *clockProSimple) Remove(o policies.Object) { p.take(o) }

// prune forgets the evicted objects whose test is over.
func (p *clockProSimple) prune() {
	for o, ok := p.list.Back(simpleGhost); ok && !p.inTest(p.epochs[o]); o, ok = p.list.Back(simpleGhost) {
		p.forgetGhost()
	}
}

// forgetGhost ends the test of the oldest evicted object, which has not passed it.
func (p *clockProSimple) forgetGhost() {
	o, _ := p.list.Back(simpleGhost)
	p.take(o)
	p.adjust(-1)
}

func (p *clockProSimple) adjust(by int) {
	p.target = max(p.minCold, min(p.target+by, p.capacity-p.minCold))
}

// canPromote makes room among the hot objects for one of an epoch, which has been requested in its test, and reports
// whether there is.
func (p *clockProSimple) canPromote(epoch int64) bool {
	if !p.inTest(epoch) {
		return false
	}
	p.adjust(+1)
	for p.sizes[simpleHot] > 0 && p.sizes[simpleHot] >= p.capacity-p.target {
		if !p.runHot(epoch) {
			return false
		}
	}
	return p.inTest(epoch)
}

// runCold looks at the oldest cold object: it is evicted, unless it was requested.
func (p *clockProSimple) runCold() (o policies.Object, evicted bool) {
	o, _ = p.list.Back(simpleCold)
	if p.marked(o) {
		p.list.Unlink(o) // it counts as cold while the hot objects make room
		list := simpleCold
		if p.canPromote(p.epochs[o]) {
			list = simpleHot
		}
		p.sizes[simpleCold]--
		p.put(list, o)
		p.epoch++
		p.epochs[o] = p.epoch
		return 0, false
	}
	p.take(o)
	if p.inTest(p.epochs[o]) {
		p.put(simpleGhost, o)
	}
	for p.sizes[simpleGhost] > p.ghosts {
		p.forgetGhost()
	}
	return o, true
}

// runHot looks at hot objects that are no later than an epoch until one becomes cold, which it reports. One that was
// requested is later than that epoch from then on.
func (p *clockProSimple) runHot(epoch int64) (demoted bool) {
	for o, ok := p.list.Back(simpleHot); ok && p.epochs[o] <= epoch; o, ok = p.list.Back(simpleHot) {
		marked := p.marked(o)
		p.take(o)
		if !marked {
			p.put(simpleCold, o)
			return true
		}
		p.put(simpleHot, o)
		epoch++
		p.epochs[o] = epoch
	}
	return false
}

func (p *clockProSimple) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if s := p.state[o]; s&simpleStatus-1 < simpleGhost {
			hits++
			p.state[o] = s | simpleMarked
			continue
		}
		r := policies.Request{Object: o, Size: 1}
		p.Miss(r)
		if p.residents() == p.capacity {
			if p.Victim(r) == o {
				continue
			}
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
