package retrieve

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// ranking finds the greatest of many scores. Ties go to the lower number. Its buffers are reused.
type ranking struct {
	scores   []float32 // by number
	selector softmax.Selector
	best     []int32
}

// reset makes room for n scores, and returns it.
func (r *ranking) reset(n int) []float32 {
	r.scores = slices.Grow(r.scores[:0], n)[:n]
	return r.scores
}

// ranked returns the numbers of the n greatest scores, the greatest first. They are valid until the next call.
func (r *ranking) ranked(n int) []int32 {
	r.best = r.selector.Top(r.best[:0], r.scores, n)
	slices.SortStableFunc(r.best, func(a, b int32) int { return cmp.Compare(r.scores[b], r.scores[a]) })
	return r.best
}
