package similarity

import (
	"cmp"
	"container/heap"
	"slices"
)

// Searcher finds the vectors nearest to a query. It is for one goroutine at a time.
// Memory: 4 bytes per vector.
type Searcher struct {
	v        Vectors
	longest  float64
	products []float32
	best     lowestFirst
}

// NewSearcher prepares for searches among all of v.
func NewSearcher(v Vectors) *Searcher {
	return &Searcher{v: v, longest: v.longest(), products: make([]float32, v.Len())}
}

// Nearest returns the k vectors that are most similar to a query of length 1, all if there are fewer, with their
// similarities: the most similar first; ties go to the lower number. It looks at all vectors, and decides by the cosine
// as in Similarity.
func (s *Searcher) Nearest(query []float32, k int) (ids []uint32, similarities []float32) {
	k = min(k, s.v.Len())
	if k <= 0 {
		return nil, nil
	}
	s.best = s.best[:0]
	for i := range s.products {
		p := product(query, s.v.At(i))
		s.products[i] = p
		s.best.offer(p, k)
	}
	// Two products with the largest error may be in the wrong order if they are closer than twice that.
	from := float64(s.best[0]) - 2*s.v.slack(max(s.longest, squaredLength(query)))
	var found []neighbour
	for i, p := range s.products {
		if float64(p) >= from {
			found = append(found, neighbour{uint32(i), cosine(query, s.v.At(i))})
		}
	}
	slices.SortFunc(found, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.id, b.id))
	})
	for _, f := range found[:k] {
		ids, similarities = append(ids, f.id), append(similarities, f.similarity)
	}
	return ids, similarities
}

type neighbour struct {
	id         uint32
	similarity float32
}

// lowestFirst is a heap of the largest numbers offered.
type lowestFirst []float32

// offer keeps x if it is among the k largest so far.
func (h *lowestFirst) offer(x float32, k int) {
	switch {
	case len(*h) < k:
		heap.Push(h, x)
	case x > (*h)[0]:
		(*h)[0] = x
		heap.Fix(h, 0)
	}
}

func (h lowestFirst) Len() int           { return len(h) }
func (h lowestFirst) Less(i, j int) bool { return h[i] < h[j] }
func (h lowestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowestFirst) Push(x any)        { *h = append(*h, x.(float32)) }
func (h *lowestFirst) Pop() any          { panic("nothing is ever taken out") }
