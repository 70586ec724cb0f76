package policies

import (
	"math"

	"github.com/cachesim/cachesim/internal/oracle"
)

var beladySizeEntry = Entry{
	Name:    "belady-size",
	Summary: "evicts what takes the most room until it is needed: the largest size x time to the next request; every miss is loaded",
	Source:  "Belady-Size in Berger, Beckmann, Harchol-Balter, Practical bounds on optimal caching with variable object sizes, SIGMETRICS 2018",
	Kind:    Offline,
	Params: []Param{
		{Name: "classes", Default: 16, Min: 1, Max: 1024, Doc: "size classes per doubling of the size; the choice is exact up to their width"},
	},
	New: func(c Config) (Policy, error) { return newBeladySize(c), nil },
}

// beladySize evicts the object with the largest size x distance to its next request, objects without one first.
// The products change with every request, so they cannot be kept in order. Among objects of one size, though, the farthest
// has the largest: residents are grouped in narrow classes of size, each ordered by next request, and the victim is the
// best of the farthest of each class. That is the largest product of all where the objects of a class have one size, and
// at least 1/(1 + 1/classes) of it otherwise. (libCacheSim's BeladySize takes the best of 128 residents drawn at random.)
// An eviction looks at every class that occurs; a hit or a load costs the logarithm of the residents of a class.
type beladySize struct {
	nextUse  []uint32
	perTwo   int // classes per doubling of the size
	classes  []sizeClass
	classAt  map[int]int    // number of a size class -> its place in classes; looked up when an object is loaded
	finished *oracle.Bitmap // residents that are never requested again
	held     []heldObject   // per object
}

// heldObject is what the policy knows of a resident object.
type heldObject struct {
	size  int64
	due   uint32 // position of its next request, Never, or 0 while it is not resident
	class uint32 // index in classes
}

// sizeClass orders residents of about one size by their next request. entries is a heap with the farthest on top; each
// holds a position in its upper and an object in its lower half. An entry whose object has moved on stays: its position
// has passed, so it sinks, until half of all entries are such.
type sizeClass struct {
	entries []uint64
	live    int // entries that stand for a resident object
}

func newBeladySize(c Config) *beladySize {
	return &beladySize{
		nextUse: c.NextUse, perTwo: c.Params.Int("classes"),
		classAt: map[int]int{}, finished: oracle.NewBitmap(c.Objects), held: make([]heldObject, c.Objects),
	}
}

func (p *beladySize) Hit(r Request) {
	h := &p.held[r.Object]
	p.classes[h.class].live--
	p.expect(r)
}

func (p *beladySize) Miss(Request) {}

func (p *beladySize) Victim(r Request) Object {
	if o, ok := p.finished.Max(); ok {
		p.finished.Clear(o)
		p.held[o].due = 0
		return o
	}
	var victim Object
	largest := -1.0
	for k := range p.classes {
		o, ok := p.farthest(&p.classes[k])
		if !ok {
			continue
		}
		h := p.held[o]
		if room := float64(h.size) * float64(int(h.due)-r.Pos); room > largest {
			victim, largest = o, room
		}
	}
	h := &p.held[victim]
	h.due = 0
	p.classes[h.class].live--
	return victim
}

func (p *beladySize) Insert(r Request) {
	number := sizeClassOf(r.Size, p.perTwo)
	at, ok := p.classAt[number]
	if !ok {
		at = len(p.classes)
		p.classAt[number] = at
		p.classes = append(p.classes, sizeClass{})
	}
	p.held[r.Object] = heldObject{size: r.Size, class: uint32(at)}
	p.expect(r)
}

func (p *beladySize) Remove(o Object) {
	h := &p.held[o]
	if h.due == Never {
		p.finished.Clear(o)
	} else {
		p.classes[h.class].live--
	}
	h.due = 0
}

// expect files r's object under its next request.
func (p *beladySize) expect(r Request) {
	h := &p.held[r.Object]
	h.due = p.nextUse[r.Pos]
	if h.due == Never {
		p.finished.Set(r.Object)
		return
	}
	c := &p.classes[h.class]
	c.live++
	if len(c.entries) > 2*c.live+64 {
		p.prune(c)
	}
	c.entries = append(c.entries, 0)
	siftUp(c.entries, uint64(h.due)<<32|uint64(r.Object))
}

// current reports whether an entry stands for a resident object.
func (p *beladySize) current(entry uint64) bool {
	return p.held[uint32(entry)].due == uint32(entry>>32)
}

// farthest returns the resident object of c that is requested last.
func (p *beladySize) farthest(c *sizeClass) (o Object, ok bool) {
	for len(c.entries) > 0 {
		top := c.entries[0]
		if p.current(top) {
			return uint32(top), true
		}
		last := len(c.entries) - 1
		moved := c.entries[last]
		if c.entries = c.entries[:last]; last > 0 {
			siftDown(c.entries, 0, moved)
		}
	}
	return 0, false
}

// prune drops the entries of c that no longer stand for a resident object.
func (p *beladySize) prune(c *sizeClass) {
	kept := c.entries[:0]
	for _, e := range c.entries {
		if p.current(e) {
			kept = append(kept, e)
		}
	}
	c.entries = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		siftDown(kept, i, kept[i])
	}
}

// sizeClassOf returns the number of the class of size: perTwo classes of equal width between a power of two and the next.
func sizeClassOf(size int64, perTwo int) int {
	fraction, exponent := math.Frexp(float64(max(1, size)))
	return exponent*perTwo + int((2*fraction-1)*float64(perTwo))
}

// siftUp places e in the heap, whose last slot is free.
func siftUp(heap []uint64, e uint64) {
	i := len(heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if heap[parent] >= e {
			break
		}
		heap[i] = heap[parent]
		i = parent
	}
	heap[i] = e
}

// siftDown places e in the heap, starting from the free slot i.
func siftDown(heap []uint64, i int, e uint64) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			break
		}
		if child+1 < len(heap) && heap[child+1] > heap[child] {
			child++
		}
		if heap[child] <= e {
			break
		}
		heap[i] = heap[child]
		i = child
	}
	heap[i] = e
}
