package similarity

import (
	"cmp"
	"slices"
)

// Pair is two vectors, A < B, and how similar they are.
type Pair struct {
	A, B       uint32
	Similarity float32
}

// Neighbours lists for each vector those that are at least From similar to it. It is read-only and shared by all replays of a trace.
// Memory: 16 bytes per pair and 8 per vector.
type Neighbours struct {
	From         float32
	starts       []int // per vector: where its list begins, and the end of the last
	ids          []uint32
	similarities []float32
}

// NewNeighbours makes lists of n vectors from the pairs that are at least from similar, each once, in any order.
func NewNeighbours(n int, from float32, pairs []Pair) *Neighbours {
	out := &Neighbours{From: from, starts: make([]int, n+1), ids: make([]uint32, 2*len(pairs)), similarities: make([]float32, 2*len(pairs))}
	for _, p := range pairs {
		out.starts[p.A+1]++
		out.starts[p.B+1]++
	}
	for i := range n {
		out.starts[i+1] += out.starts[i]
	}
	// From the most similar on, so that the lists come out in order.
	slices.SortFunc(pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	filled := slices.Clone(out.starts)
	add := func(to, id uint32, similarity float32) {
		out.ids[filled[to]], out.similarities[filled[to]] = id, similarity
		filled[to]++
	}
	for _, p := range pairs {
		add(p.A, p.B, p.Similarity)
		add(p.B, p.A, p.Similarity)
	}
	return out
}

// Of returns the neighbours of a vector, without itself, and how similar they are: the most similar first, of equals the lower number.
func (n *Neighbours) Of(i uint32) (ids []uint32, similarities []float32) {
	from, to := n.starts[i], n.starts[i+1]
	return n.ids[from:to], n.similarities[from:to]
}

// Len returns of how many vectors n lists the neighbours.
func (n *Neighbours) Len() int { return len(n.starts) - 1 }

// Pairs returns how many pairs n lists.
func (n *Neighbours) Pairs() int { return len(n.ids) / 2 }
