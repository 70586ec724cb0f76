// Package retrieve chooses the tokens for the attention of a decode step: k tokens, or blocks of tokens. Some
// retrievers need the probabilities that attention gives the tokens, others approximate them.
//
// To add a retriever, write one file with its type and its Entry, and add the Entry to the table in registry.go.
package retrieve

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// Head is what a retriever knows of an attention head.
type Head struct {
	// Keys has a row for each token. Those of tokens that are generated later are among them: a retriever reads no key
	// before it is a candidate.
	Keys  []float32
	Dim   int
	From  int     // the first candidate
	To    int     // where the candidates of the first step end
	Scale float64 // of the product of a query and a key, before the softmax
	Seed  uint64  // the only source of randomness
}

// Step is what a decode step asks for.
type Step struct {
	Queries []float32 // of the group, one after another
	// Sums has the probability of each token from 0 on, summed over the group. It is set for entries with Sums.
	Sums []float32
	To   int // the candidates are the tokens from Head.From to here; it never decreases
	K    int // tokens that are wanted, from 1 to the number of candidates
}

// Retriever finds the tokens for one head at a time.
type Retriever interface {
	// Begin starts a head. Its keys stay as they are until the next Begin.
	Begin(h Head)
	// Retrieve appends the tokens that a step asks for, in ascending order.
	Retrieve(dst []int32, s Step) []int32
}

// Divided is a Retriever that finds whole blocks of tokens, so that a store can hold them. Only clusters does so far;
// caches ask for the ability, not for the name.
type Divided interface {
	Retriever
	// Rank appends the blocks that a step asks for, the best first. No block comes twice.
	Rank(dst []uint32, s Step) []uint32
	// Tokens appends the tokens of a block in ascending order.
	Tokens(dst []int32, block uint32) []int32
	// Size returns the number of tokens of each block; 0: Sizes says how many each has.
	Size() int
	// Sizes returns the number of tokens of each block so far. It is nil if Size has it. Blocks are added while tokens
	// become candidates, and never change.
	Sizes() []int
}

// Tokens appends the tokens of several blocks in ascending order.
func Tokens(dst []int32, d Divided, blocks []uint32) []int32 {
	from := len(dst)
	for _, b := range blocks {
		dst = d.Tokens(dst, b)
	}
	slices.Sort(dst[from:])
	return dst
}

// Overlap returns how many numbers two ascending lists have in common.
func Overlap(a, b []int32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0], b[0]; {
		case x < y:
			a = a[1:]
		case x > y:
			b = b[1:]
		default:
			n++
			a, b = a[1:], b[1:]
		}
	}
	return n
}

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

// Best appends the k tokens with the greatest scores in ascending order, given the scores of the tokens from from on.
// Ties go to the lower token. Scores have the same bits on every machine, so that near-ties need no further care.
func Best(dst []int32, selector *softmax.Selector, scores []float32, from, k int) []int32 {
	at := len(dst)
	dst = selector.Top(dst, scores, k)
	for i := range dst[at:] {
		dst[at+i] += int32(from)
	}
	return dst
}
