package similarity

import (
	"context"
	"math"

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
	workers := make([]*cpuWorker, s.Jobs)
	from := s.Vectors.proposeFrom(s.From)
	return parallel.For(ctx, s.Jobs, sides*(sides+1)/2, func(_ context.Context, worker, i int) error {
		w := workers[worker]
		if w == nil {
			w = &cpuWorker{tiles: tiles{v: s.Vectors}, search: s, finder: s.Finder(), proposeFrom: from}
			workers[worker] = w
		}
		block := blockOf(i, c.side, s.Vectors.Len())
		w.compare(block)
		return w.finder.Compared(block.pairs())
	})
}

// block is the pairs A < B with firstA <= A < endA and firstB <= B < endB.
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

// pairs returns how many pairs the block has. The blocks cut a triangle into squares: both sides are the same vectors,
// or firstB >= endA.
func (b block) pairs() int64 {
	if b.firstA == b.firstB {
		n := int64(b.endA - b.firstA)
		return n * (n - 1) / 2
	}
	return int64(b.endA-b.firstA) * int64(b.endB-b.firstB)
}

// cpuWorker is what a goroutine keeps between blocks.
type cpuWorker struct {
	tiles
	search      *Search
	finder      *Finder
	proposeFrom float32
	waiting     []candidate // up to 3, decided with others
}

// tiles computes the products of rows with columns in panels.
type tiles struct {
	v       Vectors
	columns [2]int      // first and end of those in the panels
	panels  []dot.Panel // of dot.Columns vectors each
	last    []float32   // the last vectors of all, filled up with zeros to a whole tile
	tile    dot.Tile
}

// candidate is a pair that may be similar.
type candidate struct{ a, b uint32 }

// compare lists the similar pairs of a block.
func (w *cpuWorker) compare(block block) {
	w.load(block.firstB, block.endB)
	for i, panel := range w.panels {
		firstB := block.firstB + i*dot.Columns
		endB := min(firstB+dot.Columns, block.endB)
		// Only pairs A < B count: rows from endB-1 on have none in this panel.
		for a := block.firstA; a < min(block.endA, endB-1); a += dot.Rows {
			if w.tile.Multiply(w.rows(a), panel, w.proposeFrom) {
				w.propose(a, min(a+dot.Rows, block.endA), firstB, endB)
			}
		}
	}
	for _, c := range w.waiting {
		w.add(c, w.v.Similarity(int(c.a), int(c.b)))
	}
	w.waiting = w.waiting[:0]
}

// load fills the panels with the vectors from first to end.
func (w *tiles) load(first, end int) {
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

func (w *tiles) rows(a int) []float32 {
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

// propose decides about the pairs of a tile whose products are large enough.
func (w *cpuWorker) propose(firstA, endA, firstB, endB int) {
	for a := firstA; a < endA; a++ {
		products := w.tile[(a-firstA)*dot.Columns:][:dot.Columns]
		for b := max(firstB, a+1); b < endB; b++ {
			if products[b-firstB] < w.proposeFrom {
				continue
			}
			w.waiting = append(w.waiting, candidate{uint32(a), uint32(b)})
			// dot.Four takes much less time than four products one by one.
			if len(w.waiting) == 4 {
				w.decide()
			}
		}
	}
}

// decide computes the similarities of four candidates and lists the similar ones.
func (w *cpuWorker) decide() {
	for i, product := range w.products(w.waiting) {
		w.add(w.waiting[i], round(product))
	}
	w.waiting = w.waiting[:0]
}

func (w *tiles) products(candidates []candidate) [4]float64 {
	var four [4]dot.Pair
	for i, c := range candidates {
		four[i] = dot.Pair{A: w.v.At(int(c.a)), B: w.v.At(int(c.b))}
	}
	return dot.Four(&four)
}

func (w *cpuWorker) add(c candidate, similarity float32) {
	if similarity >= w.search.From {
		w.finder.Add(Pair{c.a, c.b, similarity})
	}
}
