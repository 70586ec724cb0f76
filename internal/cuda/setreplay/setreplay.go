// Package setreplay replays set-associative caches on a GPU, many of them at once: a warp of 32 threads serves a set.
// Results are the same as on the CPU.
//
// The trace is replayed in chunks that fit into the memory of the device; the state of the sets stays there between
// them. Each chunk is prepared for all caches with the same number of sets: requests are reduced to one per object and
// batch, sorted by set, and repeats within a set that must hit are left out. Otherwise the set of the most popular
// object would take as long as all others together: in a trace with Zipf 1.0, one of 1 562 sets has 7% of the requests,
// but 0.5% of the entries that are left.
//
// Where every request is a batch of its own, all numbers of ways of LRU at a number of sets are one replay, of a stack
// per set.
package setreplay

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

// Trace is a trace to replay. Its requests come in batches.
type Trace struct {
	Objects []uint32
	Count   int // distinct objects; every object is below it
	// An object belongs to set Hashes mod the number of sets, and is first looked up in slab Keys mod the number of slabs.
	Hashes []uint32
	Keys   []uint64
	Groups []int // positions at which batches begin, the first of them 0; nil: all batches have Batch requests
	Batch  int
	Warmup int // requests whose hits and evictions do not count
	// Predict are the predictors. Each sets next[i] to the Order of the prediction for the object of the request at
	// from+i, after observing it. Calls are in order of positions, and for each position once.
	Predict []func(from int, next []uint64)
}

// Cell is a cache of Sets sets. The slots of each set, its Ways, are divided into Slabs slabs of Lanes lanes.
type Cell struct {
	Sets, Ways, Slabs, Lanes int
	slabs.Replacement
	Predictor int // an index of Trace.Predict; used if there are Candidates
}

// Result is what a replay counts.
type Result struct {
	Misses, Evictions int64 // after the warm-up
	Tally             slabs.Tally
	Calls             int64 // of the predictor
	Predictions       int64 // for one object each
}

// Options say how a trace is replayed.
type Options struct {
	Chunk    int         // most requests of a chunk; 0: as many as fit
	Set      int         // most lookups of a chunk in one set, over several batches; 0: what a warp serves in a second
	Progress func(n int) // is called with the requests of each chunk when all caches have served them; may be nil
}

// Order returns numbers in the order of predictions. NaN is before all others, and -0 equals 0.
func Order(next float64) uint64 {
	if math.IsNaN(next) {
		return 0
	}
	b := math.Float64bits(next + 0) // + 0 turns -0 into 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// Replay replays t in all cells on d. It returns early with ctx's error. If the caches do not fit into the free memory
// together, the error is cuda.ErrOutOfMemory: fewer of them may fit.
func Replay(ctx context.Context, d cuda.Device, t Trace, cells []Cell, o Options) (results []Result, err error) {
	if len(t.Objects) == 0 || len(cells) == 0 {
		return make([]Result, len(cells)), nil
	}
	r, err := prepare(d, t, cells, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := r.scope.Close(); err == nil && closed != nil {
			results, err = nil, closed
		}
	}()
	for from := 0; from < len(t.Objects); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to, err := r.serve(from)
		if err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(to - from)
		}
		from = to
	}
	return r.results()
}

// prepare returns a replay with its memory. If an allocation fails although the memory was free, it tries with shorter
// chunks.
func prepare(d cuda.Device, t Trace, cells []Cell, o Options) (*replay, error) {
	return cuda.Fit(func(tooLarge *replay) (*replay, error) {
		if tooLarge != nil {
			if tooLarge.chunk == 1 {
				return nil, cuda.ErrOutOfMemory
			}
			o.Chunk = tooLarge.chunk / 2
		}
		return newReplay(d, t, cells, o)
	}, (*replay).allocate, func(r *replay) error { return r.scope.Close() })
}

// chunkEnd returns the end of the chunk of at most length requests that begins at a position. It is the end of a batch;
// a chunk has at least one.
func (r *replay) chunkEnd(from, length int) (to int) {
	t := &r.trace
	end := len(t.Objects)
	if from+length >= end {
		return end
	}
	if t.Groups == nil {
		return min(end, max(from+t.Batch, (from+length)/t.Batch*t.Batch))
	}
	next, _ := slices.BinarySearch(t.Groups, from+length+1)
	if to = t.Groups[next-1]; to > from {
		return to
	}
	if next == len(t.Groups) {
		return end
	}
	return t.Groups[next]
}

// longestBatch returns the length of the longest batch, and where it begins.
func (t *Trace) longestBatch() (length, first int) {
	if t.Groups == nil {
		return min(t.Batch, len(t.Objects)), 0
	}
	for i, begin := range t.Groups {
		end := len(t.Objects)
		if i+1 < len(t.Groups) {
			end = t.Groups[i+1]
		}
		if end-begin > length {
			length, first = end-begin, begin
		}
	}
	return length, first
}

// batchOf returns the number of the batch that has the request at a position, larger for later batches and above 0.
// At the end of the trace it is larger than all others.
func (t *Trace) batchOf(pos int) uint32 {
	switch {
	case pos >= len(t.Objects):
		return math.MaxUint32
	case t.Groups == nil:
		return uint32(pos/t.Batch) + 1
	}
	begun, _ := slices.BinarySearch(t.Groups, pos+1)
	return uint32(begun) + 1
}

// bitsOf returns how many bits numbers below n have.
func bitsOf(n int) int { return bits.Len(uint(n - 1)) }
