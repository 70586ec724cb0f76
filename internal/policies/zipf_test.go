package policies

import (
	"math/rand/v2"
	"slices"
)

// zipfTrace is a Zipf(1.0) trace.
type zipfTrace struct {
	objects    []Object
	numObjects int
}

// NewZipfTrace exports the trace to the benchmark, which is in another package because it also replays policies of
// packages below this one.
func NewZipfTrace(requests, ids int) (objects []Object, numObjects int) {
	t := newZipfTrace(requests, ids)
	return t.objects, t.numObjects
}

// newZipfTrace draws requests by inverting the cumulative distribution of 1/rank.
func newZipfTrace(requests, ids int) zipfTrace {
	cumulative := make([]float64, ids)
	sum := 0.0
	for rank := range cumulative {
		sum += 1 / float64(rank+1)
		cumulative[rank] = sum
	}
	rng := rand.New(rand.NewPCG(1, 2))
	number := make([]uint32, ids) // dense number of each rank, plus 1
	t := zipfTrace{objects: make([]Object, requests)}
	for i := range t.objects {
		rank, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
		if number[rank] == 0 {
			t.numObjects++
			number[rank] = uint32(t.numObjects)
		}
		t.objects[i] = number[rank] - 1
	}
	return t
}
