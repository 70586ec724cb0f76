package adaptive

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var cartEntry = policies.Entry{
	Name:   "cart",
	Look:   policies.Look{Color: policies.Cyan, Mark: policies.Hexagon},
	Memory: policies.Memory{PerObject: 11, PerSlot: 0},
	Summary: "car that only counts an object as requested again if that happens outside of a window, which adapts: " +
		"requests in quick succession are one",
	Source: "Bansal, Modha, CAR: clock with adaptive replacement, FAST 2004, section 4",
	Params: []policies.Param{wholeStepsParam},
	New:    func(c policies.Config) (policies.Policy, error) { return newCART(c), nil },
}

// cart follows the pseudocode of the paper. T1 and T2 are lists whose back is under the hand. T1 has all objects of
// short-term utility and some of long-term utility, T2 has only these. B1 and B2 remember what T1 and T2 evicted.
type cart struct {
	dense.Segments
	referenced []bool
	longTerm   []bool
	short      int64   // charges of the residents of short-term utility
	long       int64   // of those of long-term utility
	p          float64 // target for T1
	q          float64 // target for B1
	capacity   int64
	whole      bool
}

func newCART(c policies.Config) *cart {
	return &cart{
		Segments:   dense.NewSegments(c.Objects, c.Unit, make([]int64, arcLists)...),
		referenced: make([]bool, c.Objects), longTerm: make([]bool, c.Objects),
		capacity: c.Capacity, whole: c.Params.Bool("int"),
	}
}

func (c *cart) Grow(objects int) {
	c.Segments.Grow(objects)
	c.referenced, c.longTerm = dense.Grown(c.referenced, objects), dense.Grown(c.longTerm, objects)
}

func (c *cart) Resize(capacity int64) {
	c.capacity = capacity
	c.p, c.q = min(c.p, float64(capacity)), min(c.q, float64(2*capacity))
	c.forget()
}

func (c *cart) Hit(r policies.Request) { c.referenced[r.Object] = true }

func (c *cart) Miss(r policies.Request) {
	if r.Reason != policies.Demand && c.Has(r.Object) {
		c.Take(r.Object)
	}
}

// Victim is replace of the paper. An object of T2 that was requested goes to T1. One of T1 goes on to T2 if it is of
// long-term utility, which it becomes if it was requested while T1 was as large as its target: then it is outside of
// the window.
func (c *cart) Victim(r policies.Request) policies.Object {
	for o, ok := c.List.Back(arcT2); ok && c.referenced[o]; o, ok = c.List.Back(arcT2) {
		c.referenced[o] = false
		c.Take(o)
		c.Put(arcT1, o)
		c.growB1(o)
	}
	for o, ok := c.List.Back(arcT1); ok && (c.longTerm[o] || c.referenced[o]); o, ok = c.List.Back(arcT1) {
		if c.referenced[o] {
			c.referenced[o] = false
			c.Renew(o)
			if !c.longTerm[o] && float64(c.Used[arcT1]) >= min(c.p+1, float64(c.Used[arcB1])) {
				c.setLongTerm(o)
			}
			continue
		}
		c.Take(o)
		c.Put(arcT2, o)
		c.q = max(c.q-float64(c.Charged.Of(o)), float64(c.capacity-c.Used[arcT1]))
	}
	from, to := arcT2, arcB2
	if c.Used[arcT2] == 0 || c.Used[arcT1] > 0 && float64(c.Used[arcT1]) >= c.p {
		from, to = arcT1, arcB1
	}
	o, _ := c.Pop(from)
	c.count(o, -c.Charged.Of(o))
	c.Put(to, o)
	if r.Reason == policies.Shrink || !c.Has(r.Object) {
		c.forget()
	}
	return o
}

// setLongTerm makes o, which is resident, one of long-term utility.
func (c *cart) setLongTerm(o policies.Object) {
	c.count(o, -c.Charged.Of(o))
	c.longTerm[o] = true
	c.count(o, c.Charged.Of(o))
}

// count adds to the charges of the residents of the utility of o.
func (c *cart) count(o policies.Object, by int64) {
	if c.longTerm[o] {
		c.long += by
	} else {
		c.short += by
	}
}

// growB1 raises the target for B1, for o, if there is much of long-term utility.
func (c *cart) growB1(o policies.Object) {
	if c.Used[arcT2]+c.Used[arcB2]+c.Used[arcT1]-c.short >= c.capacity {
		c.q = min(c.q+float64(c.Charged.Of(o)), float64(2*c.capacity-c.Used[arcT1]))
	}
}

// forget drops the oldest of what was evicted while that exceeds the capacity.
func (c *cart) forget() {
	for c.Used[arcB1]+c.Used[arcB2] > c.capacity {
		if c.Used[arcB2] == 0 || float64(c.Used[arcB1]) > max(0, c.q) {
			c.Pop(arcB1)
		} else {
			c.Pop(arcB2)
		}
	}
}

// Insert loads an object into T1. One that was remembered is of long-term utility, and moves the target for T1.
func (c *cart) Insert(r policies.Request) {
	o, from := r.Object, c.Of(r.Object)
	b1, b2, size := float64(c.Used[arcB1]), float64(c.Used[arcB2]), float64(r.Size)
	switch from {
	case arcB1:
		c.p = min(c.p+float64(c.step(float64(c.short)/b1)*size), float64(c.capacity))
	case arcB2:
		c.p = max(c.p-float64(c.step(float64(c.long)/b2)*size), 0)
	}
	if from != dense.NoSegment {
		c.Take(o)
	}
	c.referenced[o], c.longTerm[o] = false, from != dense.NoSegment
	c.Load(arcT1, o, r.Size)
	c.count(o, r.Size)
	if from == arcB2 {
		c.growB1(o)
	}
	c.forget() // where sizes count, victims may take more room there than the object has left
}

func (c *cart) step(ratio float64) float64 {
	if c.whole {
		ratio = math.Floor(ratio)
	}
	return max(ratio, 1)
}

func (c *cart) Remove(o policies.Object) {
	c.count(o, -c.Charged.Of(o))
	c.Take(o)
}

// Resized implements SizeFollower.
func (c *cart) Resized(o policies.Object, size int64) {
	c.count(o, size-c.Charged.Of(o))
	c.Segments.Resized(o, size)
}

func (c *cart) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if at := c.Segment[o]; at == arcT1+1 || at == arcT2+1 {
			hits++
			c.referenced[o] = true
			continue
		}
		r := policies.Request{Object: o, Size: 1}
		if c.Used[arcT1]+c.Used[arcT2] == c.capacity {
			c.Victim(r)
			evictions++
		}
		c.Insert(r)
	}
	return hits, evictions
}
