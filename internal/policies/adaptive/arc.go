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
			return newARCByteSteps(c), nil
		}
		return newARC(c), nil
	},
}

// wholeStepsParam is the parameter that ARC and CAR share.
var wholeStepsParam = policies.Param{
	Name: "int", Default: false, Doc: "round each step of the split down to a whole number, as Caffeine does",
}

// arcList is the list on which ARC and CAR hold an object. T1 and T2 are resident; B1 and B2 are their ghosts.
type arcList uint8

const (
	arcAbsent arcList = iota
	arcT1             // seen once recently
	arcT2             // seen more than once recently
	arcB1
	arcB2
	arcLists
)

// arcState is what ARC and CAR share: four lists, their sizes, and the target size of T1.
type arcState struct {
	lists    dense.Lists // by arcList
	where    []arcList
	size     [arcLists]int64
	charge   dense.Charges
	capacity int64
	target   float64 // p in the papers, in units of capacity
	whole    bool    // target moves in whole numbers
}

func newARCState(c policies.Config) arcState {
	return arcState{
		lists:    dense.NewLists(c.Objects, int(arcLists)),
		where:    make([]arcList, c.Objects),
		charge:   dense.NewCharges(c.Objects, c.Unit),
		capacity: c.Capacity,
	}
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

func (p *arcState) Grow(objects int) {
	p.lists.Grow(objects)
	p.where = dense.Grown(p.where, objects)
	p.charge.Grow(objects)
}

// Resized implements SizeFollower.
func (p *arcState) Resized(o policies.Object, size int64) {
	p.size[p.where[o]] += p.charge.Change(o, size)
}

// take removes o from the list it is on.
func (p *arcState) take(o policies.Object) {
	p.lists.Unlink(o)
	p.size[p.where[o]] -= p.charge.Of(o)
	p.where[o] = arcAbsent
}

// put makes o, which is on no list, the most recent object of list l.
func (p *arcState) put(o policies.Object, l arcList) {
	p.lists.PushFront(int(l), o)
	p.size[l] += p.charge.Of(o)
	p.where[o] = l
}

// load puts the missed object into T1, or into T2 if it was remembered.
func (p *arcState) load(r policies.Request) {
	to := arcT1
	if p.where[r.Object] != arcAbsent {
		p.take(r.Object)
		to = arcT2
	}
	p.charge.Set(r.Object, r.Size)
	p.put(r.Object, to)
}

// forgetUnlessAsked takes an object that is about to be loaded off its ghost list if the trace does not request it:
// only a request shows that it should have stayed.
func (p *arcState) forgetUnlessAsked(r policies.Request) {
	if r.Reason != policies.Demand && p.where[r.Object] != arcAbsent {
		p.take(r.Object)
	}
}

// adapt moves the target towards the ghost list that held the missed object: by the size of the object times the ratio
// of the ghost lists, at least 1.
func (p *arcState) adapt(r policies.Request) {
	// Neither ratio divides by 0: the missed object itself is on the list in the denominator.
	b1, b2 := float64(p.size[arcB1]), float64(p.size[arcB2])
	switch p.where[r.Object] {
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
	for p.size[arcT1]+p.size[arcB1]+size > p.capacity && p.size[arcB1] > 0 {
		p.dropOldest(arcB1)
	}
	t1 := min(p.size[arcT1], p.capacity-size) // whatever exceeds that is evicted without being remembered
	other := t1 + p.size[arcT2] + p.size[arcB1] + size
	// Compared without 2*capacity, which could overflow.
	for other-p.capacity > p.capacity-p.size[arcB2] && p.size[arcB2] > 0 {
		p.dropOldest(arcB2)
	}
}

func (p *arcState) dropOldest(l arcList) policies.Object {
	o := p.lists.PopBack(int(l))
	p.size[l] -= p.charge.Of(o)
	p.where[o] = arcAbsent
	return o
}

func (p *arcState) Hit(r policies.Request) {
	p.take(r.Object)
	p.put(r.Object, arcT2)
}

func (p *arcState) Remove(o policies.Object) { p.take(o) }
func (p *arcState) full() bool               { return p.size[arcT1]+p.size[arcT2] == p.capacity }

// arc follows Figure 4 of the paper: Miss adapts the target and trims the ghost lists; Victim is REPLACE.
type arc struct{ arcState }

func newARC(c policies.Config) *arc {
	p := &arc{newARCState(c)}
	p.whole = c.Params.Bool("int")
	return p
}

func (p *arc) Miss(r policies.Request) {
	p.forgetUnlessAsked(r)
	if p.where[r.Object] == arcAbsent {
		p.forget(r.Size)
	} else {
		p.adapt(r)
	}
}

func (p *arc) Victim(r policies.Request) policies.Object {
	missed := arcAbsent
	// A Shrink has no object whose list could be looked up.
	if r.Reason != policies.Shrink {
		missed = p.where[r.Object]
	}
	if missed == arcAbsent && p.size[arcT1]+r.Size > p.capacity {
		return p.dropOldest(arcT1) // T1 alone fills the cache, so there is no room to remember its victim
	}
	return p.replace(missed)
}

// replace is REPLACE; missed is the list of the requested object.
func (p *arcState) replace(missed arcList) policies.Object {
	from, to := arcT2, arcB2
	if p.replaceT1(missed) {
		from, to = arcT1, arcB1
	}
	o := p.dropOldest(from)
	p.put(o, to)
	return o
}

// replaceT1 reports whether REPLACE takes the victim from T1.
func (p *arcState) replaceT1(missed arcList) bool {
	// Figure 4 guards only against an empty T1. With sized objects T2 may be empty while T1 is below its target.
	if p.size[arcT1] == 0 || p.size[arcT2] == 0 {
		return p.size[arcT2] == 0
	}
	t1 := float64(p.size[arcT1])
	return t1 > p.target || t1 == p.target && missed == arcB2
}

func (p *arc) Insert(r policies.Request) { p.load(r) }

// Resized makes room in the directory for what an object is charged in addition. Until the cache has evicted others, T2
// alone may be larger than it.
func (p *arc) Resized(o policies.Object, size int64) {
	p.arcState.Resized(o, size)
	p.forget(0)
	for p.size[arcB1] > 0 && p.size[arcT1]+p.size[arcT2]+p.size[arcB1]-p.capacity > p.capacity {
		p.dropOldest(arcB1)
	}
}

func (p *arc) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	where, lists := p.where, p.lists
	for _, o := range objects {
		switch at := where[o]; at {
		case arcT2:
			hits++
			lists.MoveToFront(int(arcT2), o)
		case arcT1:
			hits++
			where[o] = arcT2
			p.size[arcT1]--
			p.size[arcT2]++
			lists.Unlink(o)
			lists.PushFront(int(arcT2), o)
		default:
			if p.missUnit(o, at) {
				evictions++
			}
		}
	}
	return hits, evictions
}

// missUnit is Miss, Victim and Insert in one, for a request to o on list at, if every object is charged 1. It saves the
// batch path three calls.
func (p *arc) missUnit(o policies.Object, at arcList) (evicted bool) {
	to := arcT2
	if at == arcAbsent {
		p.forget(1)
		to = arcT1
	} else {
		p.adapt(policies.Request{Object: o, Size: 1})
	}
	if evicted = p.full(); evicted {
		p.evictUnit(at)
	}
	if at != arcAbsent {
		p.lists.Unlink(o)
		p.size[at]--
	}
	p.where[o] = to
	p.lists.PushFront(int(to), o)
	p.size[to]++
	return evicted
}

// evictUnit is Victim for a request to an object on list at.
func (p *arc) evictUnit(at arcList) {
	from, to := arcT2, arcB2
	switch {
	case at == arcAbsent && p.size[arcT1] == p.capacity:
		from, to = arcT1, arcAbsent
	case p.replaceT1(at):
		from, to = arcT1, arcB1
	}
	v := p.lists.PopBack(int(from))
	p.size[from]--
	p.where[v] = to
	if to != arcAbsent {
		p.lists.PushFront(int(to), v)
		p.size[to]++
	}
}
