package similarity

import (
	"context"
	"math"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// FindNearest implements Backend. A goroutine has some rows, and compares them with all vectors: it needs no locks, but
// computes each product twice, once for either vector.
func (c cpu) FindNearest(ctx context.Context, s *NearestSearch) error {
	n := s.Vectors.Len()
	height := c.nearestRows(n, s.Jobs)
	slack := s.Vectors.slack(s.Vectors.longest())
	workers := make([]*nearestWorker, s.Jobs)
	return parallel.For(ctx, s.Jobs, (n+height-1)/height, func(ctx context.Context, worker, i int) error {
		w := workers[worker]
		if w == nil {
			w = &nearestWorker{tiles: tiles{v: s.Vectors}, search: s, slack: slack, from: make([]float32, height)}
			workers[worker] = w
		}
		first, end := i*height, min((i+1)*height, n)
		w.first = first
		for a := first; a < end; a++ {
			w.from[a-first] = float32(math.Inf(-1))
		}
		for firstB := 0; firstB < n; firstB += c.side {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := block{first, end, firstB, min(firstB+c.side, n)}
			w.compare(b)
			s.Compared(b.ordered())
		}
		return nil
	})
}

// nearestRows returns how many rows a goroutine has at a time: a block's, but fewer if some goroutines would get none.
func (c cpu) nearestRows(n, jobs int) int {
	share := (n/(4*jobs) + dot.Rows) / dot.Rows * dot.Rows
	return min(c.side, share)
}

// ordered returns how many pairs of different vectors the block has, if A need not be below B.
func (b block) ordered() int64 {
	same := max(0, min(b.endA, b.endB)-max(b.firstA, b.firstB))
	return int64(b.endA-b.firstA)*int64(b.endB-b.firstB) - int64(same)
}

// nearestWorker is what a goroutine keeps between blocks.
type nearestWorker struct {
	tiles
	search  *NearestSearch
	slack   float64
	first   int
	from    []float32   // per row from first on: its products that are at least this are proposed
	waiting []candidate // up to 3, decided with others
}

// compare offers the vectors b of a block for its rows a.
func (w *nearestWorker) compare(block block) {
	w.load(block.firstB, block.endB)
	for i, panel := range w.panels {
		firstB := block.firstB + i*dot.Columns
		endB := min(firstB+dot.Columns, block.endB)
		for a := block.firstA; a < block.endA; a += dot.Rows {
			endA := min(a+dot.Rows, block.endA)
			// Multiply compares a whole tile with one bound: the lowest of its rows.
			least := w.from[a-w.first]
			for _, from := range w.from[a-w.first+1 : endA-w.first] {
				least = min(least, from)
			}
			if w.tile.Multiply(w.rows(a), panel, least) {
				w.propose(a, endA, firstB, endB)
			}
		}
	}
	for _, c := range w.waiting {
		w.offer(c, w.v.Similarity(int(c.a), int(c.b)))
	}
	w.waiting = w.waiting[:0]
}

// propose decides about the pairs of a tile whose products are large enough.
func (w *nearestWorker) propose(firstA, endA, firstB, endB int) {
	for a := firstA; a < endA; a++ {
		products := w.tile[(a-firstA)*dot.Columns:][:dot.Columns]
		for b := firstB; b < endB; b++ {
			if products[b-firstB] < w.from[a-w.first] || a == b {
				continue
			}
			w.waiting = append(w.waiting, candidate{uint32(a), uint32(b)})
			if len(w.waiting) < 4 {
				continue
			}
			for i, product := range w.products(w.waiting) {
				w.offer(w.waiting[i], round(product))
			}
			w.waiting = w.waiting[:0]
		}
	}
}

// offer adds a vector to a list if it is similar enough, and raises the bound of further proposals to the last of the
// list.
func (w *nearestWorker) offer(c candidate, similarity float32) {
	// The bound only rises, so ever fewer products are worth a decision in float64.
	w.search.Offer(c.a, c.b, similarity)
	w.from[int(c.a)-w.first] = lowered(w.search.Bound(int(c.a)), w.slack)
}
