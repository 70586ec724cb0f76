package similarity

import (
	"context"
	"errors"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/parallel"
)

// Options say how Join works. None of them changes the result.
type Options struct {
	Jobs     int                     // goroutines; 0: one per core
	MaxPairs int                     // more similar pairs than this are an error; 0: DefaultMaxPairs
	Progress func(done, total int64) // pairs compared; called from all goroutines; may be nil
	Backend  Backend                 // nil: CPU
}

// DefaultMaxPairs bounds the memory of a Join to 3.5 GiB, and of its result to 2 GiB.
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

// Join lists the neighbours of each vector: the others with a similarity of at least from. It stops with ctx's error.
// Memory: 28 bytes per similar pair while it works, and 16 in the result.
func Join(ctx context.Context, v Vectors, from float32, options Options) (*Neighbours, error) {
	options = options.withDefaults()
	if from > 1 || v.Len() < 2 { // nothing is more similar than 1
		return NewNeighbours(v.Len(), from, nil), ctx.Err()
	}
	s := &Search{Vectors: v, From: from, Jobs: options.Jobs, maxPairs: options.MaxPairs, progress: options.Progress}
	if err := options.Backend.Find(ctx, s); err != nil {
		return nil, explain(ctx, options.Backend, err)
	}
	var chunks [][]Pair
	for _, f := range s.finders {
		chunks = append(chunks, f.pairs.chunks...)
	}
	found, err := newNeighbours(ctx, v.Len(), from, chunks, options.Jobs)
	// A device may return anything: it is not trusted until a sample of its lists agrees with the CPU.
	if err != nil || trusted(options.Backend) {
		return found, err
	}
	if err := verifyNeighbours(ctx, v, options.Jobs, found); err != nil {
		return nil, explain(ctx, options.Backend, err)
	}
	return found, nil
}

// explain names the backend in its errors. An end of ctx and too many pairs are the same in all backends.
func explain(ctx context.Context, b Backend, err error) error {
	var tooMany *tooManyError
	if ctx.Err() != nil || errors.As(err, &tooMany) {
		return err
	}
	return fmt.Errorf("backend %s: %w", b.Name(), err)
}
