package libraries

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveOtter is the policy on slices, for objects of size 1 and without jitter. The oldest object of a segment is the
// first. Only the sketch is ours.
type naiveOtter struct {
	capacity                     int
	window, probation, protected []policies.Object
	windowMost, protectedMost    int
	sketch                       dense.Sketch
	seed                         uint64
	counting                     bool
	step, ratio                  float64
	hits, misses, move           int
}

func newNaiveOtter(c policies.Config) *naiveOtter {
	n := &naiveOtter{capacity: int(c.Capacity), seed: random.Scramble(c.Seed), step: -0.0625 * float64(c.Capacity)}
	n.windowMost = n.capacity - int(0.99*float64(n.capacity))
	n.protectedMost = int(0.8 * float64(n.capacity-n.windowMost))
	return n
}

func (n *naiveOtter) hash(o policies.Object) uint64 { return random.Scramble(uint64(o) + n.seed) }
func (n *naiveOtter) used() int                     { return len(n.window) + len(n.probation) + len(n.protected) }

// first takes the oldest object off a segment.
func first(segment *[]policies.Object) policies.Object {
	o := (*segment)[0]
	*segment = (*segment)[1:]
	return o
}

func (n *naiveOtter) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	if slices.Contains(slices.Concat(n.window, n.probation, n.protected), o) {
		if n.counting {
			n.access(o)
		}
		n.climb()
		return true, nil
	}
	n.window = append(n.window, o)
	if n.used() >= n.capacity/2 && !n.counting {
		n.counting = true
		n.sketch.Hold(n.capacity*dense.WordCounters, 10*n.capacity)
	}
	if n.counting {
		n.sketch.AddHash(n.hash(o))
	}
	n.misses++
	if v, ok := n.evict(); ok && v != o {
		victims = []policies.Object{v}
	}
	n.climb()
	return false, victims
}

func (n *naiveOtter) access(o policies.Object) {
	n.sketch.AddHash(n.hash(o))
	n.hits++
	to := &n.protected
	switch {
	case slices.Contains(n.window, o):
		to = &n.window
	case slices.Contains(n.probation, o) && n.protectedMost < 1:
		to = &n.probation
	}
	for _, s := range []*[]policies.Object{&n.window, &n.probation, &n.protected} {
		*s = policytest.Without(*s, o)
	}
	*to = append(*to, o)
}

func (n *naiveOtter) evict() (loser policies.Object, ok bool) {
	var candidates []policies.Object
	for len(n.window) > n.windowMost {
		candidates = append(candidates, first(&n.window))
	}
	n.probation = append(n.probation, candidates...)
	if n.used() <= n.capacity {
		return 0, false
	}
	if candidates = append(candidates, n.window...); len(candidates) == 0 {
		loser = slices.Concat(n.probation, n.protected)[0]
	} else if loser = candidates[0]; len(n.probation) > 0 {
		victim := n.probation[0]
		if n.counting && victim != loser && n.sketch.EstimateHash(n.hash(loser)) > n.sketch.EstimateHash(n.hash(victim)) {
			loser = victim
		}
	}
	for _, s := range []*[]policies.Object{&n.window, &n.probation, &n.protected} {
		*s = policytest.Without(*s, loser)
	}
	return loser, true
}

func (n *naiveOtter) climb() {
	switch requests := n.hits + n.misses; {
	case !n.counting:
		n.ratio, n.hits, n.misses = 0, 0, 0
	case requests >= 10*n.capacity:
		ratio := float64(n.hits) / float64(requests)
		change := ratio - n.ratio
		if change < 0 {
			n.step = -n.step
		}
		n.move = int(n.step)
		if math.Abs(change) >= 0.05 {
			n.step = math.Copysign(0.0625*float64(n.capacity), n.step)
		} else {
			n.step *= 0.98
		}
		n.ratio, n.hits, n.misses = ratio, 0, 0
	}
	n.demote()
	switch {
	case n.move > 0 && n.protectedMost > 0:
		n.grow()
	case n.move < 0 && n.windowMost > 1:
		n.shrink()
	}
}

func (n *naiveOtter) demote() {
	for len(n.protected) > n.protectedMost {
		n.probation = append(n.probation, first(&n.protected))
	}
}

// grow moves the border as far as there are objects to take into the window.
func (n *naiveOtter) grow() {
	by := min(n.move, n.protectedMost)
	n.protectedMost -= by
	n.demote()
	n.protectedMost += by
	for ; by > 0 && len(n.probation)+len(n.protected) > 0; by-- {
		from := &n.probation
		if len(n.probation) == 0 {
			from = &n.protected
		}
		n.window = append(n.window, first(from))
		n.windowMost++
		n.protectedMost--
	}
	n.move = by
}

func (n *naiveOtter) shrink() {
	by := min(-n.move, n.windowMost-1)
	for ; by > 0 && len(n.window) > 0; by-- {
		n.probation = append(n.probation, first(&n.window))
		n.windowMost--
		n.protectedMost++
	}
	n.move = -by
}

func TestOtterEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		w.Trace = slices.Repeat(w.Trace, 5) // so that the window moves
		w.SameVictims(t, policytest.Drive(t, "otter(jitter=0)", w.Config), newNaiveOtter(w.Config))
	})
}

// Objects that are requested twice within a short time, and never again, want a large window: it grows from 1 % of the
// cache until all of them hit.
func TestOtterClimbs(t *testing.T) {
	const capacity, reuse, requests = 1000, 100, 200_000
	d := policytest.Drive(t, "otter", policies.Config{Capacity: capacity, Unit: true, Objects: requests,
		Requests: requests, Seed: 1})
	late := 0
	for i := range requests {
		o := i / 2
		if i%2 == 1 && i > reuse {
			o = (i - reuse) / 2 // the last request to it
		}
		if hit, _ := d.Serve(policies.Object(o), 1, i); hit && i >= requests-20_000 {
			late++
		}
	}
	if late < 9000 {
		t.Errorf("%d of the last 10,000 second requests hit", late)
	}
}
