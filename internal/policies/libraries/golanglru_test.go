package libraries

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// A cache of 4, small enough to follow by hand: one place of it is for objects requested once, and two are remembered.
func TestGolangTwoQueueExample(t *testing.T) {
	d := policytest.Drive(t, "golang-lru-2q", policies.Config{Capacity: 4, Unit: true, Objects: 8, Requests: 20})
	p := d.Policy.(*golangTwoQueue)
	for i, step := range []struct {
		request                 policies.Object
		recent, frequent, ghost []policies.Object
	}{
		{request: 0, recent: []policies.Object{0}},
		{request: 1, recent: []policies.Object{1, 0}},
		{request: 0, recent: []policies.Object{1}, frequent: []policies.Object{0}},
		{request: 2, recent: []policies.Object{2, 1}, frequent: []policies.Object{0}},
		{request: 3, recent: []policies.Object{3, 2, 1}, frequent: []policies.Object{0}},
		{4, []policies.Object{4, 3, 2}, []policies.Object{0}, []policies.Object{1}},
		{5, []policies.Object{5, 4, 3}, []policies.Object{0}, []policies.Object{2, 1}},
		// 3 pushes 1 out of the ghost queue, which enters the frequent list nevertheless.
		{1, []policies.Object{5, 4}, []policies.Object{1, 0}, []policies.Object{3, 2}},
		{2, []policies.Object{5}, []policies.Object{2, 1, 0}, []policies.Object{4, 3}},
		// The recent list has its share: it gives way to a new object, but not to one that returns.
		{3, []policies.Object{5}, []policies.Object{3, 2, 1}, []policies.Object{4}},
		{6, []policies.Object{6}, []policies.Object{3, 2, 1}, []policies.Object{5, 4}},
	} {
		d.Serve(step.request, 1, i)
		for k, want := range [][]policies.Object{step.ghost, step.recent, step.frequent} {
			if got := policytest.Listed(&p.List, k); !slices.Equal(got, want) {
				t.Fatalf("after request %d: list %d is %v, want %v", i, k, got, want)
			}
		}
	}
}

// naiveLRU is a list of golang-lru, most recent first, with a limit of its own.
type naiveLRU struct {
	size int
	list []policies.Object
}

func (l *naiveLRU) has(o policies.Object) bool { return slices.Contains(l.list, o) }
func (l *naiveLRU) remove(o policies.Object)   { l.list = policytest.Without(l.list, o) }

func (l *naiveLRU) add(o policies.Object) {
	l.list = append([]policies.Object{o}, policytest.Without(l.list, o)...)
	l.list = l.list[:min(len(l.list), l.size)]
}

func (l *naiveLRU) removeOldest() (o policies.Object) {
	last := len(l.list) - 1
	o, l.list = l.list[last], l.list[:last]
	return o
}

// naiveTwoQueue is TwoQueueCache with its methods Get and Add in one.
type naiveTwoQueue struct {
	size, recentSize        int
	recent, frequent, ghost naiveLRU
}

func newNaiveTwoQueue(size int) *naiveTwoQueue {
	return &naiveTwoQueue{size, size / 4, naiveLRU{size: size}, naiveLRU{size: size}, naiveLRU{size: size / 2}}
}

func (c *naiveTwoQueue) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	switch {
	case c.frequent.has(o) || c.recent.has(o):
		c.recent.remove(o)
		c.frequent.add(o)
		return true, nil
	case c.ghost.has(o):
		victims = c.ensureSpace(true)
		c.ghost.remove(o)
		c.frequent.add(o)
	default:
		victims = c.ensureSpace(false)
		c.recent.add(o)
	}
	return false, victims
}

func (c *naiveTwoQueue) ensureSpace(returning bool) []policies.Object {
	n := len(c.recent.list)
	if n+len(c.frequent.list) < c.size {
		return nil
	}
	if n > c.recentSize || n == c.recentSize && !returning && n > 0 {
		o := c.recent.removeOldest()
		c.ghost.add(o)
		return []policies.Object{o}
	}
	return []policies.Object{c.frequent.removeOldest()}
}

func TestGolangTwoQueueEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		w.SameVictims(t, policytest.Drive(t, "golang-lru-2q", w.Config), newNaiveTwoQueue(int(w.Config.Capacity)))
	})
}

// naiveARC is ARCCache with its methods Get and Add in one.
type naiveARC struct {
	size, p        int
	t1, t2, b1, b2 naiveLRU
}

func newNaiveARC(size int) *naiveARC {
	l := naiveLRU{size: size}
	return &naiveARC{size: size, t1: l, t2: l, b1: l, b2: l}
}

func (c *naiveARC) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	b1, b2 := len(c.b1.list), len(c.b2.list)
	switch {
	case c.t1.has(o) || c.t2.has(o):
		c.t1.remove(o)
		c.t2.add(o)
		return true, nil
	case c.b1.has(o):
		c.p = min(c.p+max(1, b2/b1), c.size)
		victims = c.replace(false)
		c.b1.remove(o)
		c.t2.add(o)
	case c.b2.has(o):
		c.p = max(c.p-max(1, b1/b2), 0)
		victims = c.replace(true)
		c.b2.remove(o)
		c.t2.add(o)
	default:
		victims = c.replace(false)
		if len(c.b1.list) > c.size-c.p {
			c.b1.removeOldest()
		}
		if len(c.b2.list) > c.p {
			c.b2.removeOldest()
		}
		c.t1.add(o)
	}
	return false, victims
}

// replace evicts nothing in the library where T2 is empty and T1 not above its target. T1 then drops its last object,
// or, unlike here, the cache has one object more than fits.
func (c *naiveARC) replace(missedB2 bool) []policies.Object {
	n := len(c.t1.list)
	switch {
	case n+len(c.t2.list) < c.size:
		return nil
	case n > c.p || n == c.p && n > 0 && missedB2:
		o := c.t1.removeOldest()
		c.b1.add(o)
		return []policies.Object{o}
	case len(c.t2.list) == 0:
		return []policies.Object{c.t1.removeOldest()}
	}
	o := c.t2.removeOldest()
	c.b2.add(o)
	return []policies.Object{o}
}

func TestGolangARCEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		w.SameVictims(t, policytest.Drive(t, "golang-lru-arc", w.Config), newNaiveARC(int(w.Config.Capacity)))
	})
}
