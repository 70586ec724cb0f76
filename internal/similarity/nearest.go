package similarity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/parallel"
)

// Nearest lists for each vector the others that are most similar to it: the most similar first; ties go to the lower
// number. Memory: 8 bytes per entry.
type Nearest struct {
	n, k    int
	entries []uint64 // k per vector, see entryOf
}

// MostNearest is the largest k of FindNearest.
const MostNearest = 1000

// MaxNearest bounds the memory of FindNearest to 2 GiB: k times the number of vectors is at most this.
const MaxNearest = 1 << 28

// FindNearest lists the k most similar others of each vector, all others if there are fewer. MaxPairs of the options
// limits the entries of all lists; the default is MaxNearest. It stops with ctx's error.
func FindNearest(ctx context.Context, v Vectors, k int, options Options) (*Nearest, error) {
	if options.MaxPairs <= 0 {
		options.MaxPairs = MaxNearest
	}
	options = options.withDefaults()
	n := v.Len()
	if k < 1 || k > MostNearest {
		return nil, fmt.Errorf("the %d most similar vectors of each: want a number from 1 to %d", k, MostNearest)
	}
	k = min(k, max(n-1, 0))
	if k > 0 && n > options.MaxPairs/k {
		return nil, fmt.Errorf("the %d most similar of each of %d vectors need %s of memory, more than %s; ask for %d or "+
			"fewer, or compare fewer vectors", k, n, memory.Bytes(8*int64(n)*int64(k)),
			memory.Bytes(8*int64(options.MaxPairs)), options.MaxPairs/n)
	}
	s := &NearestSearch{Vectors: v, Jobs: options.Jobs, progress: options.Progress,
		lists: Nearest{n: n, k: k, entries: make([]uint64, n*k)}}
	if k == 0 {
		return &s.lists, ctx.Err()
	}
	if err := options.Backend.FindNearest(ctx, s); err != nil {
		return nil, explain(ctx, options.Backend, err)
	}
	err := parallel.For(ctx, options.Jobs, n, func(_ context.Context, _, i int) error {
		list := s.lists.of(i)
		slices.Sort(list)
		slices.Reverse(list)
		return nil
	})
	if err == nil && !trusted(options.Backend) {
		err = verify(ctx, v, options.Jobs, s.lists.of, func(sorted []uint64) []uint64 { return sorted[:k] })
		if err != nil {
			err = explain(ctx, options.Backend, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return &s.lists, nil
}

func (l *Nearest) Len() int { return l.n }

// K returns how many others each list has.
func (l *Nearest) K() int       { return l.k }
func (l *Nearest) Bytes() int64 { return 8 * int64(len(l.entries)) }

// At returns entry number rank, from 0, of the list of a vector.
func (l *Nearest) At(i, rank int) (id uint32, similarity float32) {
	e := l.entries[i*l.k+rank]
	return ^uint32(e), fromRank(uint32(e >> 32))
}

func (l *Nearest) of(i int) []uint64 { return l.entries[i*l.k : (i+1)*l.k] }

// entryOf packs a vector and its similarity into one integer. Nearer vectors have larger integers; ties go to the
// lower number, hence the complement. It is never 0, which stands for an entry that a list does not have yet: no
// similarity is NaN.
func entryOf(id uint32, similarity float32) uint64 { return uint64(rank(similarity))<<32 | uint64(^id) }

// NearestSearch is what a Backend looks for, and collects the lists. While it runs, each list is a heap with the least
// similar entry first.
type NearestSearch struct {
	Vectors Vectors // at least two
	Jobs    int     // goroutines, at least 1

	lists    Nearest
	progress func(done, total int64)
	compared atomic.Int64 // pairs, each in both directions
}

// Bound returns the least similarity with which another vector can still enter the list of vector i.
func (s *NearestSearch) Bound(i int) float32 {
	if first := s.lists.entries[i*s.lists.k]; first != 0 {
		return fromRank(uint32(first >> 32))
	}
	return float32(math.Inf(-1))
}

// Offer adds vector b to a's list if it is among the most similar so far. Each b is offered to each a once, in any
// order, and only one goroutine at a time offers to an a.
func (s *NearestSearch) Offer(a, b uint32, similarity float32) {
	heap := s.lists.of(int(a))
	e := entryOf(b, similarity)
	if e < heap[0] {
		return
	}
	at := 0
	for {
		least := 2*at + 1
		if least >= len(heap) {
			break
		}
		if least+1 < len(heap) && heap[least+1] < heap[least] {
			least++
		}
		if e <= heap[least] {
			break
		}
		heap[at] = heap[least]
		at = least
	}
	heap[at] = e
}

// Compared adds to the number of compared pairs; (a, b) and (b, a) are two.
func (s *NearestSearch) Compared(pairs int64) {
	compared := s.compared.Add(pairs)
	if s.progress != nil {
		n := int64(s.Vectors.Len())
		s.progress(compared, n*(n-1))
	}
}
