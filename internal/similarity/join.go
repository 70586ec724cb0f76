package similarity

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/parallel"
)

// Options say how Join works. None of them changes the result.
type Options struct {
	Jobs     int                     // goroutines; 0: one per core
	MaxPairs int                     // more similar pairs than this are an error; 0: DefaultMaxPairs
	Progress func(done, total int64) // pairs compared; called from all goroutines; may be nil
	Backend  Backend                 // nil: CPU
}

// DefaultMaxPairs bounds the memory of a Join to 3.5 GiB, of which 2 GiB stay with the result.
const DefaultMaxPairs = 1 << 27

func (o Options) withDefaults() Options {
	o.Jobs = parallel.Jobs(o.Jobs)
	if o.MaxPairs <= 0 {
		o.MaxPairs = DefaultMaxPairs
	}
	if o.Backend == nil {
		o.Backend = CPU
	}
	return o
}

// Join lists the neighbours of all vectors: those with a similarity of at least from. It stops with ctx's error.
// Memory: 28 bytes per similar pair while it works, and 16 in the result.
func Join(ctx context.Context, v Vectors, from float32, options Options) (*Neighbours, error) {
	options = options.withDefaults()
	if from > 1 || v.Len() < 2 { // nothing is more similar than 1
		return NewNeighbours(v.Len(), from, nil), ctx.Err()
	}
	products, err := options.Backend.Open(v)
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", options.Backend.Name(), err)
	}
	defer products.Close()
	j := &join{Options: options, v: v, from: from, proposeFrom: v.proposeFrom(from), products: products,
		workers: make([]joinWorker, options.Jobs)}
	if err := parallel.For(ctx, options.Jobs, j.blocks(), j.compare); err != nil {
		return nil, err
	}
	var chunks [][]Pair
	for _, w := range j.workers {
		chunks = append(chunks, w.pairs.chunks...)
	}
	return newNeighbours(ctx, v.Len(), from, chunks, options.Jobs)
}

type join struct {
	Options
	v           Vectors
	from        float32
	proposeFrom float32
	products    Products
	workers     []joinWorker
	found       atomic.Int64 // pairs
	compared    atomic.Int64 // pairs
}

// joinWorker has the pairs found by one goroutine. Which of them finds a pair is left to chance; the lists are sorted
// afterwards.
type joinWorker struct {
	candidates []Candidate
	pairs      pairList
}

// sides returns how many blocks a side of the triangle of all pairs has.
func (j *join) sides() int { return (j.v.Len() + j.products.Side() - 1) / j.products.Side() }

func (j *join) blocks() int { return j.sides() * (j.sides() + 1) / 2 }

// block returns block number i; blocks are numbered column by column.
func (j *join) block(i int) Block {
	column := int((math.Sqrt(8*float64(i)+1) - 1) / 2)
	for column*(column+1)/2 > i { // the root may be rounded
		column--
	}
	for (column+1)*(column+2)/2 <= i {
		column++
	}
	row, side := i-column*(column+1)/2, j.products.Side()
	return Block{row * side, min((row+1)*side, j.v.Len()), column * side, min((column+1)*side, j.v.Len())}
}

// compare finds the similar pairs of block number i.
func (j *join) compare(_ context.Context, worker, i int) (err error) {
	w, block := &j.workers[worker], j.block(i)
	if w.candidates, err = j.products.Propose(block, j.proposeFrom, w.candidates[:0]); err != nil {
		return fmt.Errorf("backend %s: %w", j.Backend.Name(), err)
	}
	found := 0
	for _, c := range w.candidates {
		if s := j.v.Similarity(int(c.A), int(c.B)); s >= j.from {
			w.pairs.add(Pair{c.A, c.B, s})
			found++
		}
	}
	if j.found.Add(int64(found)) > int64(j.MaxPairs) {
		return fmt.Errorf("more than %d pairs of the %d vectors have a similarity of at least %v, which needs more memory "+
			"than is allowed; raise the threshold",
			j.MaxPairs, j.v.Len(), j.from)
	}
	compared := j.compared.Add(block.pairs())
	if j.Progress != nil {
		n := int64(j.v.Len())
		j.Progress(compared, n*(n-1)/2)
	}
	return nil
}
