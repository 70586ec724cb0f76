package libraries

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveTheine is the policy on slices, for objects of size 1, without jitter and with one buffer at most. The oldest
// object of a segment is the first. Only the sketch is ours.
type naiveTheine struct {
	capacity                     int
	window, probation, protected []policies.Object
	windowMost, protectedMost    int
	sketch                       dense.Sketch
	words                        int
	seed                         uint64
	step, ratio                  float32
	hits, misses                 int
	buffered                     bool
	buffer                       []policies.Object // those that were evicted since have left it
}

func newNaiveTheine(c policies.Config, buffered bool) *naiveTheine {
	n := &naiveTheine{capacity: int(c.Capacity), seed: random.Scramble(c.Seed), step: -0.0625 * float32(c.Capacity),
		buffered: buffered}
	n.windowMost = max(1, int(float32(n.capacity)*0.01))
	n.protectedMost = int(float32(n.capacity-n.windowMost) * 0.8)
	n.enlarge(64)
	return n
}

func (n *naiveTheine) enlarge(words int) {
	n.words = words
	n.sketch = dense.NewSketch(words*dense.WordCounters, 10*words, false, 0)
}

func (n *naiveTheine) hash(o policies.Object) uint64  { return random.Scramble(uint64(o) + n.seed) }
func (n *naiveTheine) requests(o policies.Object) int { return n.sketch.EstimateHash(n.hash(o)) }
func (n *naiveTheine) segments() []*[]policies.Object {
	return []*[]policies.Object{&n.window, &n.probation, &n.protected}
}
func (n *naiveTheine) all() []policies.Object {
	return slices.Concat(n.window, n.probation, n.protected)
}

func (n *naiveTheine) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	if slices.Contains(n.all(), o) {
		n.buffer = append(n.buffer, o)
		if !n.buffered || len(n.buffer) == 16 {
			for _, b := range n.buffer {
				if b != gone {
					n.access(b)
				}
			}
			n.buffer = nil
		}
		return true, nil
	}
	n.sketch.AddHash(n.hash(o))
	n.climb()
	n.misses++
	n.window = append(n.window, o)
	n.demote()
	loser, over := n.evict()
	if over && loser != o {
		victims = []policies.Object{loser}
	}
	for i, b := range n.buffer {
		if over && b == loser {
			n.buffer[i] = gone
		}
	}
	if resident := len(n.all()); resident > n.words {
		n.enlarge(dense.CeilPowerOfTwo(resident))
	}
	return false, victims
}

// gone stands in the buffer for an object that was evicted.
const gone = policies.NoObject

func (n *naiveTheine) access(o policies.Object) {
	n.climb()
	n.hits++
	n.sketch.AddHash(n.hash(o))
	to := &n.protected
	if slices.Contains(n.window, o) {
		to = &n.window
	}
	for _, s := range n.segments() {
		*s = policytest.Without(*s, o)
	}
	*to = append(*to, o)
}

func (n *naiveTheine) demote() {
	for len(n.protected) > n.protectedMost {
		n.probation = append(n.probation, first(&n.protected))
	}
}

func (n *naiveTheine) evict() (loser policies.Object, ok bool) {
	var candidates []policies.Object
	for len(n.window) > n.windowMost {
		candidates = append(candidates, first(&n.window))
	}
	n.probation = append(n.probation, candidates...)
	if len(n.all()) <= n.capacity {
		return 0, false
	}
	if candidates = append(candidates, n.window...); len(candidates) == 0 {
		loser = slices.Concat(n.probation, n.protected)[0]
	} else if loser = candidates[0]; len(n.probation) > 0 {
		if victim := n.probation[0]; victim != loser && n.requests(loser) > n.requests(victim) {
			loser = victim
		}
	}
	for _, s := range n.segments() {
		*s = policytest.Without(*s, loser)
	}
	return loser, true
}

func (n *naiveTheine) climb() {
	requests := n.hits + n.misses
	if requests <= 10*n.words {
		return
	}
	ratio := float32(n.hits) / float32(requests)
	change := ratio - n.ratio
	n.ratio, n.hits, n.misses = ratio, 0, 0
	if change < 0 {
		n.step = -n.step
	}
	move := int(n.step)
	if math.Abs(float64(change)) < 0.05 {
		n.step *= 0.98
	} else {
		n.step = float32(math.Copysign(0.0625*float64(n.capacity), float64(n.step)))
	}
	move = max(min(move, n.protectedMost), 1-n.windowMost)
	n.protectedMost -= max(move, 0)
	n.demote()
	n.protectedMost += max(move, 0)
	for ; move > 0 && len(n.probation)+len(n.protected) > 0; move-- {
		from := &n.probation
		if len(n.probation) == 0 {
			from = &n.protected
		}
		n.window = append(n.window, first(from))
		n.windowMost++
		n.protectedMost--
	}
	for ; move < 0 && len(n.window) > 0; move++ {
		n.probation = append(n.probation, first(&n.window))
		n.windowMost--
		n.protectedMost++
	}
}

func TestTheineEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		w.Trace = slices.Repeat(w.Trace, 1+2000/max(len(w.Trace), 1)) // so that the window moves
		buffers := rapid.IntRange(0, 1).Draw(t, "buffers")
		spec := fmt.Sprintf("theine(jitter=0,buffers=%d)", buffers)
		w.SameVictims(t, policytest.Drive(t, spec, w.Config), newNaiveTheine(w.Config, buffers == 1))
	})
}

// A hit counts when 16 are in its buffer: with fewer, object 1 has more requests than object 0.
func TestTheineBuffersHits(t *testing.T) {
	for hits, want := range map[int]bool{15: false, 16: true} {
		d := policytest.Drive(t, "theine(buffers=1,jitter=0)",
			policies.Config{Capacity: 2, Unit: true, Objects: 4, Requests: 30})
		d.ServeAll(slices.Repeat([]policies.Object{0}, 1+hits)...)
		d.ServeAll(1, 2, 1, 3) // 1 leaves the window twice, and loses a tie at first
		if got := d.Stored[0] != 0; got != want {
			t.Errorf("object 0 is resident after %d hits: %v", hits, got)
		}
	}
}

// Where objects are requested twice within a short time, and never again, the window grows.
func TestTheineClimbs(t *testing.T) {
	const capacity, reuse, requests = 1000, 100, 200_000
	d := policytest.Drive(t, "theine", policies.Config{Capacity: capacity, Unit: true, Objects: requests,
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
