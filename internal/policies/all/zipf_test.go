package all_test

import (
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
)

// newZipfTrace draws a trace by inverting the cumulative distribution of 1/rank.
func newZipfTrace(requests, ids int) (objects []policies.Object, numObjects int) {
	cumulative := make([]float64, ids)
	sum := 0.0
	for rank := range cumulative {
		sum += 1 / float64(rank+1)
		cumulative[rank] = sum
	}
	rng := rand.New(rand.NewPCG(1, 2))
	number := make([]uint32, ids) // dense number of each rank, plus 1
	objects = make([]policies.Object, requests)
	for i := range objects {
		rank, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
		if number[rank] == 0 {
			numObjects++
			number[rank] = uint32(numObjects)
		}
		objects[i] = number[rank] - 1
	}
	return objects, numObjects
}
