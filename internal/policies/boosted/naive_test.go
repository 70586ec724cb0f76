package boosted

import (
	"cmp"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
)

// naive knows, by lists of times and no other structure, what a policy must have learned of each object.
type naive struct {
	window           int
	deltas, counters int
	now              int
	times            map[policies.Object][]int // of the requests to a tracked object, the first one first
	sizes            map[policies.Object]int64
	resident         map[policies.Object]bool
	used             map[policies.Object]int   // when it was last requested or loaded
	waiting          map[policies.Object][]int // times of the samples without a label
	samples          []sample                  // with a label
}

// sample is a row of features with its label.
type sample struct {
	row   []float64
	label float64
}

func newNaive(window, deltas, counters int) *naive {
	return &naive{window: window, deltas: deltas, counters: counters, times: map[policies.Object][]int{},
		sizes: map[policies.Object]int64{}, resident: map[policies.Object]bool{}, used: map[policies.Object]int{},
		waiting: map[policies.Object][]int{}}
}

func (n *naive) last(o policies.Object) int { return n.times[o][len(n.times[o])-1] }

// request counts a request to o, before o is loaded if it is missing.
func (n *naive) request(o policies.Object) {
	n.now++
	for other := range n.times {
		if !n.resident[other] && n.now-n.last(other) >= n.window {
			n.forget(other, 2*n.window)
		}
	}
	if len(n.times[o]) > 0 {
		for _, at := range n.waiting[o] {
			n.label(o, at, n.now-at)
		}
		delete(n.waiting, o)
		n.times[o] = append(n.times[o], n.now)
	}
	if n.resident[o] {
		n.used[o] = n.now
	}
}

func (n *naive) forget(o policies.Object, silence int) {
	for _, at := range n.waiting[o] {
		n.label(o, at, silence)
	}
	delete(n.waiting, o)
	delete(n.times, o)
}

func (n *naive) label(o policies.Object, at, time int) {
	n.samples = append(n.samples, sample{n.row(o, at), math.Log1p(float64(time))})
}

func (n *naive) load(o policies.Object, size int64) {
	if len(n.times[o]) == 0 {
		n.times[o] = []int{n.now}
	}
	n.resident[o], n.sizes[o], n.used[o] = true, size, n.now
}

func (n *naive) evict(o policies.Object) {
	delete(n.resident, o)
	if age := n.now - n.last(o); age >= n.window {
		n.forget(o, age+n.window)
	}
}

// row is what the paper says of an object at a time, in our order of features.
func (n *naive) row(o policies.Object, at int) []float64 {
	times := n.times[o]
	row := []float64{float64(at - n.last(o))}
	within := 0
	for i := range n.deltas - 1 {
		delta := math.NaN()
		if later := len(times) - 1 - i; later > 0 {
			delta = float64(times[later] - times[later-1])
			if n.last(o)-times[later-1] < n.window {
				within++
			}
		}
		row = append(row, delta)
	}
	row = append(row, float64(within))
	for i := 1; i <= n.counters; i++ {
		edc, halving := 0.0, math.Exp2(9+float64(i))
		for _, t := range times {
			edc += math.Exp2(-float64(at-t) / halving)
		}
		row = append(row, edc)
	}
	return append(row, float64(n.sizes[o]))
}

// oldest returns the resident that was requested or loaded longest ago.
func (n *naive) oldest() (least policies.Object) {
	first := true
	for o := range n.resident {
		if first || n.used[o] < n.used[least] {
			least, first = o, false
		}
	}
	return least
}

// near reports whether two rows are equal but for rounding.
func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-5*(1+math.Abs(y))
	})
}

// sorted orders samples, whose order within a request means nothing.
func sorted(samples []sample) []sample {
	slices.SortFunc(samples, func(a, b sample) int {
		if c := cmp.Compare(a.label, b.label); math.Abs(a.label-b.label) > 1e-9 {
			return c
		}
		return slices.Compare(a.row, b.row)
	})
	return samples
}
