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

// best appends the k tokens with the greatest scores in ascending order, given the scores of the tokens from from on.
// Ties go to the lower token. Scores have the same bits on every machine, so that near-ties need no further care.
func best(dst []int32, selector *softmax.Selector, scores []float32, from, k int) []int32 {
	at := len(dst)
	dst = selector.Top(dst, scores, k)
	for i := range dst[at:] {
		dst[at+i] += int32(from)
	}
	return dst
}
