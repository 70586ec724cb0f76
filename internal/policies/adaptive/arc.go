package adaptive

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var arcEntry = policies.Entry{
	Name:    "arc",
	Look:    policies.Look{Color: policies.Vermilion, Mark: policies.Box},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 0},
	Summary: "splits the cache between objects seen once and more often; hits on evicted objects move the split",
	Source:  "Megiddo, Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003",
	Params: []policies.Param{wholeStepsParam, {
		Name: "rule", Default: "paper", Choices: []string{"paper", "libcachesim"},
		Doc: "where capacity counts bytes: paper, a ghost that is requested moves the split in proportion to its size; " +
			"libcachesim, by the ratio of the ghost lists in bytes, at least one byte",
	}},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Params.Text("rule") == "libcachesim" {
			return &arcByteSteps{arcState: newARCState(c)}, nil
		}
		return &arc{newARCState(c)}, nil
	},
}

// wholeStepsParam is the parameter that ARC and CAR share.
var wholeStepsParam = policies.Param{
	Name: "int", Default: false, Doc: "round each step of the split down to a whole number, as Caffeine does",
}

// The lists of ARC and CAR. T1 and T2 are resident; B1 and B2 are their ghosts.
const (
	arcT1 = iota // seen once recently
	arcT2        // seen more than once recently
	arcB1
	arcB2
	arcLists
)

// arcState is what ARC and CAR share: the lists, and the target size of T1.
type arcState struct {
	dense.Segments // without limits
	capacity       int64
	target         float64 // p in the papers, in units of capacity
	whole          bool    // target moves in whole numbers
}

func newARCState(c policies.Config) arcState {
	return arcState{Segments: dense.NewSegments(c.Objects, c.Unit, make([]int64, arcLists)...), capacity: c.Capacity,
		whole: c.Params.Bool("int")}
}

// Resize lets the ghost lists shrink with the cache. The resident lists shrink as the cache asks for victims.
func (p *arcState) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.capacity = capacity
	p.target = min(p.target, float64(capacity))
	p.forget(0)
}

// load puts the missed object into T1, or into T2 if it was remembered.
func (p *arcState) load(r policies.Request) {
	to := arcT1
	if p.Has(r.Object) {
		p.Take(r.Object)
		to = arcT2
	}
	p.Load(to, r.Object, r.Size)
}

// forgetUnlessAsked takes an object that is about to be loaded off its ghost list if the trace does not request it:
// only a request shows that it should have stayed.
func (p *arcState) forgetUnlessAsked(r policies.Request) {
	if r.Reason != policies.Demand && p.Has(r.Object) {
		p.Take(r.Object)
	}
}

// adapt moves the target towards the ghost list that held the missed object: by the size of the object times the ratio
// of the ghost lists, at least 1.
func (p *arcState) adapt(r policies.Request) {
	// Neither ratio divides by 0: the missed object itself is on the list in the denominator.
	b1, b2 := float64(p.Used[arcB1]), float64(p.Used[arcB2])
	switch p.Of(r.Object) {
	case arcB1:
		p.target = min(p.target+float64(p.step(b2/b1)*float64(r.Size)), float64(p.capacity))
	case arcB2:
		p.target = max(p.target-float64(p.step(b1/b2)*float64(r.Size)), 0)
	}
}

func (p *arcState) step(ratio float64) float64 {
	if p.whole {
		ratio = math.Floor(ratio)
	}
	return max(ratio, 1)
}

// forget makes room in the directory for a new object: T1 and B1 together hold at most the capacity, all four lists at
// most twice the capacity.
func (p *arcState) forget(size int64) {
	for p.Used[arcT1]+p.Used[arcB1]+size > p.capacity && p.Used[arcB1] > 0 {
		p.Pop(arcB1)
	}
	t1 := min(p.Used[arcT1], p.capacity-size) // whatever exceeds that is evicted without being remembered
	other := t1 + p.Used[arcT2] + p.Used[arcB1] + size
	// Compared without 2*capacity, which could overflow.
	for other-p.capacity > p.capacity-p.Used[arcB2] && p.Used[arcB2] > 0 {
		p.Pop(arcB2)
	}
}

func (p *arcState) Hit(r policies.Request) {
	p.Take(r.Object)
	p.Put(arcT2, r.Object)
}

func (p *arcState) Remove(o policies.Object) { p.Take(o) }
func (p *arcState) full() bool               { return p.Used[arcT1]+p.Used[arcT2] == p.capacity }

// arc follows Figure 4 of the paper: Miss adapts the target and trims the ghost lists; Victim is REPLACE.
type arc struct{ arcState }

func (p *arc) Miss(r policies.Request) {
	p.forgetUnlessAsked(r)
	if !p.Has(r.Object) {
		p.forget(r.Size)
	} else {
		p.adapt(r)
	}
}

func (p *arc) Victim(r policies.Request) policies.Object {
	missed := dense.NoSegment
	// A Shrink has no object whose list could be looked up.
	if r.Reason != policies.Shrink {
		missed = p.Of(r.Object)
	}
	if missed == dense.NoSegment && p.Used[arcT1]+r.Size > p.capacity {
		o, _ := p.Pop(arcT1) // T1 alone fills the cache, so there is no room to remember its victim
		return o
	}
	return p.replace(missed)
}

// replace is REPLACE; missed is the list of the requested object.
func (p *arcState) replace(missed int) policies.Object {
	from, to := arcT2, arcB2
	if p.replaceT1(missed) {
		from, to = arcT1, arcB1
	}
	o, _ := p.Pop(from)
	p.Put(to, o)
	return o
}

// replaceT1 reports whether REPLACE takes the victim from T1.
func (p *arcState) replaceT1(missed int) bool {
	// Figure 4 guards only against an empty T1. With sized objects T2 may be empty while T1 is below its target.
	if p.Used[arcT1] == 0 || p.Used[arcT2] == 0 {
		return p.Used[arcT2] == 0
	}
	t1 := float64(p.Used[arcT1])
	return t1 > p.target || t1 == p.target && missed == arcB2
}

func (p *arc) Insert(r policies.Request) { p.load(r) }

// Resized makes room in the directory for what an object is charged in addition. Until the cache has evicted others, T2
// alone may be larger than it.
func (p *arc) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	p.forget(0)
	for p.Used[arcB1] > 0 && p.Used[arcT1]+p.Used[arcT2]+p.Used[arcB1]-p.capacity > p.capacity {
		p.Pop(arcB1)
	}
}

func (p *arc) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	segment, list := p.Segment, p.List
	for _, o := range objects {
		switch segment[o] {
		case arcT2 + 1:
			hits++
			list.MoveToFront(arcT2, o)
		case arcT1 + 1:
			hits++
			segment[o] = arcT2 + 1
			p.Used[arcT1]--
			p.Used[arcT2]++
			list.Unlink(o)
			list.PushFront(arcT2, o)
		default:
			if p.missUnit(o, p.Of(o)) {
				evictions++
			}
		}
	}
	return hits, evictions
}

// missUnit is Miss, Victim and Insert in one, for a request to o on list at, if every object is charged 1. It saves the
// batch path three calls.
func (p *arc) missUnit(o policies.Object, at int) (evicted bool) {
	to := arcT2
	if at == dense.NoSegment {
		p.forget(1)
		to = arcT1
	} else {
		p.adapt(policies.Request{Object: o, Size: 1})
	}
	if evicted = p.full(); evicted {
		p.evictUnit(at)
	}
	if at != dense.NoSegment {
		p.List.Unlink(o)
		p.Used[at]--
	}
	p.Segment[o] = uint8(to + 1)
	p.List.PushFront(to, o)
	p.Used[to]++
	return evicted
}

// evictUnit is Victim for a request to an object on list at.
func (p *arc) evictUnit(at int) {
	from, to := arcT2, arcB2
	switch {
	case at == dense.NoSegment && p.Used[arcT1] == p.capacity:
		from, to = arcT1, dense.NoSegment
	case p.replaceT1(at):
		from, to = arcT1, arcB1
	}
	v := p.List.PopBack(from)
	p.Used[from]--
	p.Segment[v] = uint8(to + 1)
	if to != dense.NoSegment {
		p.List.PushFront(to, v)
		p.Used[to]++
	}
}

// arcByteSteps is ARC as libCacheSim has it where sizes count. The size of an object does not move the target, only the
// ratio of the ghost lists does. An object leaves its ghost list before room is made for it. Each victim drops at most
// one ghost. If all objects have the size 1 it is the paper's ARC.
type arcByteSteps struct {
	arcState
	missed int // the ghost list that had the missed object
}

func (p *arcByteSteps) Miss(r policies.Request) {
	p.forgetUnlessAsked(r)
	if p.missed = p.Of(r.Object); p.missed != dense.NoSegment {
		p.adapt(policies.Request{Object: r.Object, Size: 1})
		p.Take(r.Object)
	}
}

func (p *arcByteSteps) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Shrink {
		p.missed = dense.NoSegment
	} else if p.missed == dense.NoSegment {
		switch recent := p.Used[arcT1] + p.Used[arcB1]; {
		case recent+r.Size > p.capacity && p.Used[arcB1] > 0:
			p.Pop(arcB1)
		case recent+r.Size > p.capacity:
			o, _ := p.Pop(arcT1)
			return o
		case recent+p.Used[arcT2]+p.Used[arcB2] >= 2*p.capacity && p.Used[arcB2] > 0:
			p.Pop(arcB2)
		}
	}
	return p.replace(p.missed)
}

func (p *arcByteSteps) Insert(r policies.Request) {
	to := arcT1
	if p.missed != dense.NoSegment {
		to = arcT2
	}
	p.Load(to, r.Object, r.Size)
}
