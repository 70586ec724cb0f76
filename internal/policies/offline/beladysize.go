package offline

import (
	"math"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var beladySizeEntry = policies.Entry{
	Name:   "belady-size",
	Look:   policies.Look{Dashes: []float64{8, 3}},
	Memory: policies.Memory{PerObject: 32, PerSlot: 15},
	Summary: "evicts the object that takes the most room until its next request: the largest size x time to the next " +
		"request; every miss is loaded",
	Source: "Belady-Size in Berger, Beckmann, Harchol-Balter, Practical bounds on optimal caching with variable object " +
		"sizes, SIGMETRICS 2018",
	Kind:      policies.Offline,
	Reference: func(r policies.Rules) bool { return r.Bytes && !r.Similar },
	Params: []policies.Param{
		{Name: "classes", Default: 16, Min: 1, Max: 1024, Doc: "size classes per doubling of the size; the choice is exact " +
			"up to their width"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newBeladySize(c), nil },
}

// beladySize evicts the object with the largest size x distance to its next request, objects without one first. The
// products change with every request, so they cannot be kept in order. But among objects of one size the farthest has
// the largest product. So residents are grouped in narrow size classes, each ordered by next request, and the victim is
// the best of the farthest of each class. If the objects of a class have one size, that is the largest product of all;
// otherwise it is at least 1/(1 + 1/classes) of the largest. (libCacheSim's BeladySize takes the best of 128 residents
// drawn at random.) An eviction looks at every class that occurs; a hit or a load takes logarithmic time in the
// residents of a class.
type beladySize struct {
	known    *schedule
	perTwo   int // classes per doubling of the size
	classes  []dense.FarthestHeap
	classAt  map[int]int    // number of a size class -> its place in classes; looked up when an object is loaded
	finished *oracle.Bitmap // residents that are never requested again
	due      []uint32       // per object: position of its next request, Never, or 0 if it is not resident
	held     []heldObject   // per object
}

// heldObject is what the policy knows about a resident object.
type heldObject struct {
	size  int64
	class uint32 // index in classes
}

func newBeladySize(c policies.Config) *beladySize {
	return &beladySize{
		known:    newSchedule(c),
		perTwo:   c.Params.Int("classes"),
		classAt:  map[int]int{},
		finished: oracle.NewBitmap(c.Objects),
		due:      make([]uint32, c.Objects),
		held:     make([]heldObject, c.Objects),
	}
}

func (p *beladySize) Hit(r policies.Request) {
	p.forget(r.Object)
	p.known.pass(r)
	if r.Write {
		p.classify(r)
	}
	p.expect(r.Object)
}

// Resized implements policies.SizeFollower. Hit has followed: an object changes its class only together with its next
// request, so that its entry in the old class is stale.
func (p *beladySize) Resized(policies.Object, int64) {}

func (p *beladySize) Miss(r policies.Request) { p.known.miss(r) }

func (p *beladySize) Victim(r policies.Request) policies.Object {
	if o, ok := p.finished.Max(); ok {
		p.finished.Clear(o)
		p.due[o] = 0
		return o
	}
	var victim policies.Object
	largest := math.Inf(-1)
	for k := range p.classes {
		o, ok := p.classes[k].Top(p.due)
		if !ok {
			continue
		}
		if room := float64(p.held[o].size) * float64(int(p.due[o])-r.Pos); room > largest {
			victim, largest = o, room
		}
	}
	p.due[victim] = 0
	p.classes[p.held[victim].class].GiveUp()
	return victim
}

func (p *beladySize) Insert(r policies.Request) {
	p.classify(r)
	p.expect(r.Object)
}

// classify records the size of r's object.
func (p *beladySize) classify(r policies.Request) {
	number := sizeClassOf(r.Size, p.perTwo)
	at, ok := p.classAt[number]
	if !ok {
		at = len(p.classes)
		p.classAt[number] = at
		p.classes = append(p.classes, dense.FarthestHeap{})
	}
	p.held[r.Object] = heldObject{size: r.Size, class: uint32(at)}
}

func (p *beladySize) Remove(o policies.Object) {
	p.forget(o)
	p.due[o] = 0
}

// forget removes o, which is resident, from the order in which residents are needed.
func (p *beladySize) forget(o policies.Object) {
	if p.due[o] == policies.Never {
		p.finished.Clear(o)
	} else {
		p.classes[p.held[o].class].GiveUp()
	}
}

func (p *beladySize) Grow(objects int) {
	p.known.grow(objects)
	p.finished.Grow(objects)
	p.due = dense.Grown(p.due, objects)
	p.held = dense.Grown(p.held, objects)
}

// expect files o under its next request.
func (p *beladySize) expect(o policies.Object) {
	p.due[o] = p.known.due[o]
	if p.due[o] == policies.Never {
		p.finished.Set(o)
		return
	}
	p.classes[p.held[o].class].Push(o, p.due)
}

// sizeClassOf numbers the size classes, perTwo of equal width between a power of two and the next. An object of no size
// counts as one byte: its fraction would be 0, below every class.
func sizeClassOf(size int64, perTwo int) int {
	fraction, exponent := math.Frexp(float64(max(1, size)))
	return exponent*perTwo + int((2*fraction-1)*float64(perTwo))
}
