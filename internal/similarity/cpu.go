package similarity

import (
	"context"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// CPU is the backend that every machine has. It proposes pairs by products in float32, and decides in float64.
var CPU Backend = cpu{side: 240}

// cpu compares blocks of side times side vectors, a multiple of a tile's rows and columns. Blocks of 240 vectors of 384
// dimensions stay in a second-level cache of 512 KiB.
type cpu struct{ side int }

func (cpu) Name() string { return "cpu" }

// Find implements Backend. Blocks are numbered column by column, and a goroutine keeps the columns of the last one.
func (c cpu) Find(ctx context.Context, s *Search) error {
	sides := (s.Vectors.Len() + c.side - 1) / c.side
	from := slices.Repeat([]float32{s.Vectors.proposeFrom(s.From)}, c.side)
	workers := make([]*cpuWorker, s.Jobs)
	return parallel.For(ctx, s.Jobs, sides*(sides+1)/2, func(_ context.Context, worker, i int) error {
		w := workers[worker]
		if w == nil {
			w = &cpuWorker{v: s.Vectors, once: true, from: from, finder: s.Finder()}
			w.found = func(a, b int, similarity float32) {
				if similarity >= s.From {
					w.finder.Add(Pair{uint32(a), uint32(b), similarity})
				}
			}
			workers[worker] = w
		}
		block := blockOf(i, c.side, s.Vectors.Len())
		w.compare(block)
		return w.finder.Compared(block.pairs())
	})
}

// FindNearest implements Backend. A goroutine has some rows, and compares them with all vectors: it needs no locks, but
// computes each product twice, once for either vector.
func (c cpu) FindNearest(ctx context.Context, s *NearestSearch) error {
	n := s.Vectors.Len()
	// A block's rows, but fewer if some goroutines would get none.
	height := min(c.side, (n/(4*s.Jobs)+dot.Rows)/dot.Rows*dot.Rows)
	slack := s.Vectors.slack(s.Vectors.longest())
	workers := make([]*cpuWorker, s.Jobs)
	return parallel.For(ctx, s.Jobs, (n+height-1)/height, func(ctx context.Context, worker, i int) error {
		w := workers[worker]
		if w == nil {
			w = &cpuWorker{v: s.Vectors, from: make([]float32, height)}
			workers[worker] = w
		}
		first, end := i*height, min((i+1)*height, n)
		for row := range w.from {
			w.from[row] = float32(math.Inf(-1))
		}
		w.found = func(a, b int, similarity float32) {
			// The bound only rises, so ever fewer products are worth a decision in float64.
			s.Offer(uint32(a), uint32(b), similarity)
			w.from[a-first] = lowered(s.Bound(a), slack)
		}
		for firstB := 0; firstB < n; firstB += c.side {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := block{first, end, firstB, min(firstB+c.side, n)}
			w.compare(b)
			same := max(0, min(b.endA, b.endB)-max(b.firstA, b.firstB))
			s.Compared(int64(b.endA-b.firstA)*int64(b.endB-b.firstB) - int64(same))
		}
		return nil
	})
}

// block is the pairs with firstA <= A < endA and firstB <= B < endB.
type block struct{ firstA, endA, firstB, endB int }

// blockOf returns block number i of the triangle of all pairs of n vectors.
func blockOf(i, side, n int) block {
	column := int((math.Sqrt(8*float64(i)+1) - 1) / 2)
	for column*(column+1)/2 > i { // the root may be rounded
		column--
	}
	for (column+1)*(column+2)/2 <= i {
		column++
	}
	row := i - column*(column+1)/2
	return block{row * side, min((row+1)*side, n), column * side, min((column+1)*side, n)}
}

// pairs returns how many pairs A < B the block has. The blocks of blockOf cut a triangle into squares: both sides are
// the same vectors, or firstB >= endA.
func (b block) pairs() int64 {
	if b.firstA == b.firstB {
		n := int64(b.endA - b.firstA)
		return n * (n - 1) / 2
	}
	return int64(b.endA-b.firstA) * int64(b.endB-b.firstB)
}

// cpuWorker is what a goroutine keeps between blocks.
type cpuWorker struct {
	v       Vectors
	columns [2]int      // first and end of those in the panels
	panels  []dot.Panel // of dot.Columns vectors each
	last    []float32   // the last vectors of all, filled up with zeros to a whole tile
	tile    dot.Tile
	once    bool      // only pairs A < B count
	from    []float32 // per row of a block: its products that are at least this are proposed
	found   func(a, b int, similarity float32)
	finder  *Finder
	waiting [][2]int // up to 3 pairs, decided with others
}

// compare finds pairs of a block.
func (w *cpuWorker) compare(block block) {
	w.load(block.firstB, block.endB)
	for i, panel := range w.panels {
		firstB := block.firstB + i*dot.Columns
		endB := min(firstB+dot.Columns, block.endB)
		end := block.endA
		if w.once { // rows from endB-1 on have no pairs in this panel
			end = min(end, endB-1)
		}
		for a := block.firstA; a < end; a += dot.Rows {
			from := w.from[a-block.firstA : min(a+dot.Rows, block.endA)-block.firstA]
			// Multiply compares a whole tile with one bound: the lowest of its rows.
			if w.tile.Multiply(w.rows(a), panel, slices.Min(from)) {
				w.propose(a, from, firstB, endB)
			}
		}
	}
	for _, c := range w.waiting {
		w.found(c[0], c[1], w.v.Similarity(c[0], c[1]))
	}
	w.waiting = w.waiting[:0]
}

// load fills the panels with the vectors from first to end.
func (w *cpuWorker) load(first, end int) {
	if w.columns == [2]int{first, end} {
		return
	}
	w.columns = [2]int{first, end}
	count := (end - first + dot.Columns - 1) / dot.Columns
	for len(w.panels) < count {
		w.panels = append(w.panels, dot.NewPanel(w.v.Dim))
	}
	w.panels = w.panels[:count]
	for i, p := range w.panels {
		from := first + i*dot.Columns
		p.Fill(w.v.Data[from*w.v.Dim:min(from+dot.Columns, end)*w.v.Dim], w.v.Dim)
	}
}

func (w *cpuWorker) rows(a int) []float32 {
	// A tile reads dot.Rows vectors, and the last rows of a block may be fewer.
	if a+dot.Rows <= w.v.Len() {
		return w.v.Data[a*w.v.Dim:]
	}
	if w.last == nil {
		w.last = make([]float32, dot.Rows*w.v.Dim)
	}
	clear(w.last[copy(w.last, w.v.Data[a*w.v.Dim:]):])
	return w.last
}

// propose decides about the pairs of a tile whose products are large enough for their rows.
func (w *cpuWorker) propose(firstA int, from []float32, firstB, endB int) {
	for row := range from {
		products, a, b := w.tile[row*dot.Columns:][:dot.Columns], firstA+row, firstB
		if w.once {
			b = max(b, a+1)
		}
		for ; b < endB; b++ {
			if products[b-firstB] < from[row] || a == b {
				continue
			}
			w.waiting = append(w.waiting, [2]int{a, b})
			// dot.Four takes much less time than four products one by one.
			if len(w.waiting) == 4 {
				w.decide()
			}
		}
	}
}

// decide computes the similarities of four pairs.
func (w *cpuWorker) decide() {
	var four [4]dot.Pair
	for i, c := range w.waiting {
		four[i] = dot.Pair{A: w.v.At(c[0]), B: w.v.At(c[1])}
	}
	for i, product := range dot.Four(&four) {
		w.found(w.waiting[i][0], w.waiting[i][1], round(product))
	}
	w.waiting = w.waiting[:0]
}
