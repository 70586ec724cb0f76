package similarity

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// Searcher finds the vectors nearest to a query. It is for one goroutine at a time.
type Searcher struct {
	v    Vectors
	best furthestFirst
}

// NewSearcher prepares for searches among all of v.
func NewSearcher(v Vectors) *Searcher { return &Searcher{v: v} }

// Nearest returns the k vectors that are most similar to a query of length 1, all if there are fewer, with their
// similarities: the most similar first; ties go to the lower number. It computes the cosines of all vectors, as
// Similarity does.
func (s *Searcher) Nearest(query []float32, k int) (ids []uint32, similarities []float32) {
	k = min(k, s.v.Len())
	if k <= 0 {
		return nil, nil
	}
	s.best = s.best[:0]
	i := 0
	for ; i+4 <= s.v.Len(); i += 4 {
		var four [4]dot.Pair
		for j := range four {
			four[j] = dot.Pair{A: query, B: s.v.At(i + j)}
		}
		for j, product := range dot.Four(&four) {
			s.best.offer(neighbour{uint32(i + j), round(product)}, k)
		}
	}
	for ; i < s.v.Len(); i++ {
		s.best.offer(neighbour{uint32(i), cosine(query, s.v.At(i))}, k)
	}
	slices.SortFunc(s.best, nearerFirst)
	for _, n := range s.best {
		ids, similarities = append(ids, n.id), append(similarities, n.similarity)
	}
	return ids, similarities
}

type neighbour struct {
	id         uint32
	similarity float32
}

func nearerFirst(a, b neighbour) int {
	return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.id, b.id))
}

// furthestFirst is a heap of the nearest vectors offered.
type furthestFirst []neighbour

// offer keeps n if it is among the k nearest so far. Numbers are offered in ascending order, so that n loses all ties.
func (h *furthestFirst) offer(n neighbour, k int) {
	switch {
	case len(*h) < k:
		heap.Push(h, n)
	case n.similarity > (*h)[0].similarity:
		(*h)[0] = n
		heap.Fix(h, 0)
	}
}

func (h furthestFirst) Len() int           { return len(h) }
func (h furthestFirst) Less(i, j int) bool { return nearerFirst(h[i], h[j]) > 0 }
func (h furthestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *furthestFirst) Push(x any)        { *h = append(*h, x.(neighbour)) }
func (h *furthestFirst) Pop() any          { panic("nothing is ever taken out") }
