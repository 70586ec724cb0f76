package similarity

import (
	"context"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
)

// Pair is two vectors, A < B, and how similar they are.
type Pair struct {
	A, B       uint32
	Similarity float32
}

// pairList collects pairs. Its chunks are never copied into larger ones, which would briefly need three times the
// memory.
type pairList struct{ chunks [][]Pair }

const chunkPairs = 1 << 15

func (l *pairList) add(p Pair) {
	last := len(l.chunks) - 1
	switch {
	case last < 0: // it grows, as most lists are short
		l.chunks = append(l.chunks, nil)
		last++
	case len(l.chunks[last]) >= chunkPairs:
		l.chunks = append(l.chunks, make([]Pair, 0, chunkPairs))
		last++
	}
	l.chunks[last] = append(l.chunks[last], p)
}

func (l *pairList) addAll(pairs []Pair) {
	if len(pairs) > 0 {
		l.chunks = append(l.chunks, pairs[:len(pairs):len(pairs)])
	}
}

// Neighbours lists for each vector the others with a similarity of at least From. It is read-only and shared by all
// replays of a trace. Memory: 16 bytes per pair and 8 per vector.
type Neighbours struct {
	From         float32
	starts       []int // per vector: where its list begins, and the end of the last
	ids          []uint32
	similarities []float32
}

// NewNeighbours makes the lists of n vectors from the pairs with a similarity of at least from, each given once, in any
// order.
func NewNeighbours(n int, from float32, pairs []Pair) *Neighbours {
	out, err := newNeighbours(context.Background(), n, from, [][]Pair{pairs}, 1)
	if err != nil {
		panic(err) // the only error is a context that ends
	}
	return out
}

// newNeighbours sorts the pairs of all chunks into lists. Each goroutine reads all pairs and fills the lists of a range
// of the vectors: reading is fast, writing to lists in random order is not.
func newNeighbours(ctx context.Context, n int, from float32, chunks [][]Pair, jobs int) (*Neighbours, error) {
	out := &Neighbours{From: from, starts: make([]int, n+1)}
	inRanges := func(work func(pairs []Pair, first, end uint32)) error {
		return parallel.For(ctx, jobs, jobs, func(ctx context.Context, _, i int) error {
			for _, pairs := range chunks {
				if err := ctx.Err(); err != nil {
					return err
				}
				work(pairs, uint32(i*n/jobs), uint32((i+1)*n/jobs))
			}
			return nil
		})
	}
	if err := inRanges(out.count); err != nil {
		return nil, err
	}
	for i := range n {
		out.starts[i+1] += out.starts[i]
	}
	out.ids, out.similarities = make([]uint32, out.starts[n]), make([]float32, out.starts[n])
	ends := slices.Clone(out.starts)
	err := inRanges(func(pairs []Pair, first, end uint32) { out.fill(ends, pairs, first, end) })
	if err != nil {
		return nil, err
	}
	keys := make([][]uint64, jobs)
	err = parallel.For(ctx, jobs, n, func(_ context.Context, worker, i int) error {
		keys[worker] = out.sort(i, keys[worker])
		return nil
	})
	return out, err
}

// count adds the neighbours of each vector i from first to end to starts[i+1]. The numbers are unsigned, so that one
// comparison checks both bounds.
func (n *Neighbours) count(pairs []Pair, first, end uint32) {
	for _, p := range pairs {
		if p.A-first < end-first {
			n.starts[p.A+1]++
		}
		if p.B-first < end-first {
			n.starts[p.B+1]++
		}
	}
}

// fill appends neighbours to the lists of the vectors from first to end, which end at ends.
func (n *Neighbours) fill(ends []int, pairs []Pair, first, end uint32) {
	for _, p := range pairs {
		if p.A-first < end-first {
			at := ends[p.A]
			n.ids[at], n.similarities[at] = p.B, p.Similarity
			ends[p.A]++
		}
		if p.B-first < end-first {
			at := ends[p.B]
			n.ids[at], n.similarities[at] = p.A, p.Similarity
			ends[p.B]++
		}
	}
}

// sort brings the list of a vector into order. Similarity and number make one integer, which sorts several times faster
// than comparing both.
func (n *Neighbours) sort(i int, keys []uint64) []uint64 {
	ids, similarities := n.Of(uint32(i))
	keys = keys[:0]
	for k, id := range ids {
		keys = append(keys, uint64(^rank(similarities[k]))<<32|uint64(id))
	}
	slices.Sort(keys)
	for k, key := range keys {
		ids[k], similarities[k] = uint32(key), fromRank(^uint32(key>>32))
	}
	return keys
}

// rank maps numbers to integers of the same order; 0 and -0 are one.
func rank(x float32) uint32 {
	bits := math.Float32bits(x)
	if x == 0 {
		bits = 0
	}
	if bits>>31 != 0 {
		return ^bits
	}
	return bits | 1<<31
}

// fromRank is the inverse of rank.
func fromRank(r uint32) float32 {
	if r>>31 != 0 {
		return math.Float32frombits(r &^ (1 << 31))
	}
	return math.Float32frombits(^r)
}

// Of returns the neighbours of a vector, without itself, with their similarities: the most similar first; ties go to
// the lower number.
func (n *Neighbours) Of(i uint32) (ids []uint32, similarities []float32) {
	from, to := n.starts[i], n.starts[i+1]
	return n.ids[from:to], n.similarities[from:to]
}

func (n *Neighbours) Len() int     { return len(n.starts) - 1 }
func (n *Neighbours) Bytes() int64 { return 8*int64(len(n.starts)) + 8*int64(len(n.ids)) }
func (n *Neighbours) Pairs() int   { return len(n.ids) / 2 }
