// Package reuse counts reuse distances on a GPU: how many other distinct objects are requested between two requests to
// an object. LRU of capacity c hits exactly the requests of a distance below c (Mattson et al., Evaluation techniques
// for storage hierarchies, IBM Systems Journal 1970). The counts equal oracle.LRUStack's.
//
// A sort by object finds the last request to each request's object. The distances are then counted by levels, from the
// highest bit of the positions of these last requests to the lowest (kernels/reuse.cu), which is the order of
// Increment-and-Freeze (Bender et al., SPAA 2023) turned into passes over columns. A level reads 12 bytes per request
// and writes 8; the last 11 levels are in shared memory.
package reuse

import (
	"math/bits"
	"sort"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
	columns "github.com/cachesim/cachesim/internal/cuda/sort"
)

// Sizes that the kernels are written for.
const (
	threads  = 256
	tile     = 2048
	tileBits = 11
)

// longestChunk is how many requests are measured at once, if memory allows more and there are fewer objects. Between
// chunks, a computation can be abandoned.
const longestChunk = 1 << 28

// finishing is how many blocks per multiprocessor count distances: each keeps counts of its own.
const finishing = 8

// Stack is an LRU stack on a GPU. A trace that does not fit into the free memory is measured in chunks: the requests of
// a chunk follow one request to each object seen before, in order of their last request, which leaves all distances as
// they are.
type Stack struct {
	scope      *cuda.Scope
	module     cuda.Module
	columns    *columns.Operations
	numObjects int
	room       int // requests of a chunk, including those to objects seen before
	seen       int
	counted    int64    // requests that have a distance
	met        []uint64 // a bit per object: whether it was requested, as the host sees it

	pairs              *columns.Pairs // objects and positions
	last, known, again cuda.Pointer   // per request, as in reuse.cu
	ones               cuda.Pointer   // per tile
	sums               *columns.Sums
	order              cuda.Pointer // the objects seen, in order of last request
	counts             cuda.Pointer // per distance, uint64
}

// bytes returns the memory for chunks of room requests.
func bytes(room, numObjects int) int64 {
	perRequest := 3*4*(int64(room)+1) + 4*int64(tiles(room)+1)
	return columns.PairsBytes(room, false) + columns.SumsBytes(room) + perRequest + 12*int64(numObjects)
}

func tiles(n int) int { return (n + tile - 1) / tile }

// NewStack allocates a stack for a trace of objects below numObjects, of which up to longest requests are served by one
// call. It allocates the memory that this needs, or most of the free memory. If that fails, it tries with shorter
// chunks.
func NewStack(d cuda.Device, numObjects, longest int) (*Stack, error) {
	return cuda.Fit(func(tooLarge *Stack) (*Stack, error) {
		usable, err := cuda.Usable(d)
		if err != nil {
			return nil, err
		}
		if tooLarge != nil {
			usable = min(usable, bytes(tooLarge.room, numObjects)*7/8)
		}
		room, err := roomFor(usable, numObjects, longest)
		return &Stack{scope: cuda.NewScope(d), numObjects: numObjects, room: room,
			met: make([]uint64, (numObjects+63)/64)}, err
	}, (*Stack).allocate, (*Stack).Close)
}

// roomFor returns how many requests, including one per object seen before, are measured at once.
func roomFor(free int64, numObjects, longest int) (int, error) {
	least := numObjects + min(longest, numObjects) // a chunk has at least as many new requests as old objects
	most := min(numObjects+min(longest, max(longestChunk, numObjects)), columns.Longest)
	if least > columns.Longest {
		return 0, cuda.TooLarge("reuse distances of %d objects: at most %d are supported on a GPU; use --device cpu",
			numObjects, columns.Longest/2)
	}
	if need := bytes(least, numObjects); need > free {
		return 0, cuda.TooLarge("reuse distances of %d objects need at least %d MiB on the GPU, of which %d MiB are free; "+
			"free memory there, or use --device cpu", numObjects, (need+1<<20-1)>>20, free>>20)
	}
	// Memory grows with the requests, so bisection finds the most that fit.
	return least + sort.Search(most-least, func(more int) bool { return bytes(least+more+1, numObjects) > free }), nil
}

func (s *Stack) allocate() (err error) {
	if s.module, err = s.scope.Load(kernels.Reuse()); err != nil {
		return err
	}
	if s.columns, err = columns.Load(s.scope); err != nil {
		return err
	}
	if s.pairs, err = columns.NewPairs(s.scope, s.room, false); err != nil {
		return err
	}
	if s.sums, err = columns.NewSums(s.scope, s.room); err != nil {
		return err
	}
	perRequest := 4 * (int64(s.room) + 1)
	return s.scope.AllocAll(cuda.Undefined(&s.last, perRequest), cuda.Undefined(&s.known, perRequest),
		cuda.Undefined(&s.again, perRequest), cuda.Undefined(&s.ones, 4*int64(tiles(s.room)+1)),
		cuda.Undefined(&s.order, 4*int64(s.numObjects)), cuda.Zeros(&s.counts, 8*int64(s.numObjects)))
}

// Close frees the memory on the GPU.
func (s *Stack) Close() error { return s.scope.Close() }

// Chunk returns how many of the next requests Serve measures at once. Calls with more take longer before they return.
func (s *Stack) Chunk() int { return s.room - s.seen }

// Seen returns the number of distinct objects so far, counted or not.
func (s *Stack) Seen() int { return s.seen }

// Serve processes the next requests of the trace. If counted is false, as in a warm-up, they only move the objects.
func (s *Stack) Serve(objects []uint32, counted bool) error {
	for len(objects) > 0 {
		n := min(len(objects), s.Chunk())
		if err := s.serve(objects[:n], counted); err != nil {
			return err
		}
		objects = objects[n:]
	}
	return nil
}

// serve measures a chunk.
func (s *Stack) serve(objects []uint32, counted bool) error {
	// The objects seen so far come first, one request each in the order of their last requests. That is all the past that
	// matters to the chunk: every distance is exact.
	first, n := s.seen, s.seen+len(objects)
	steps := []func() error{
		func() error { return s.each("reuse_copy", s.seen, s.order, uint32(s.seen), s.pairs.Keys) },
		func() error { return cuda.Put(s.scope, s.pairs.Keys+cuda.Pointer(4*s.seen), objects) },
		func() error { return s.columns.Iota(s.pairs.Values, n) },
		func() error { return s.columns.Sort(s.pairs, n, bits.Len(uint(s.numObjects-1))) },
		func() error {
			return s.each("reuse_link", n, s.pairs.Keys, s.pairs.Values, uint32(n), s.last, s.known, s.again)
		},
		func() error { return s.columns.PrefixSum(s.known, n, s.sums) },
		func() error { return s.columns.PrefixSum(s.again, n, s.sums) },
		func() error {
			return s.each("reuse_stack", n, s.pairs.Keys, s.pairs.Values, uint32(n), s.again, s.order)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	seen := s.seen + s.meet(objects) // while the device is busy
	var again [1]uint32
	if err := cuda.Download(s.scope, again[:], s.again+cuda.Pointer(4*n)); err != nil {
		return err
	}
	if int(again[0]) != n-seen {
		return cuda.Wrong("%d of %d requests are to objects requested before; %d are", again[0], n, n-seen)
	}
	s.seen = seen
	if !counted || again[0] == 0 {
		return nil
	}
	s.counted += int64(again[0])
	if err := s.each("reuse_rank", n, s.last, s.known, s.again, uint32(n), uint32(first),
		s.pairs.Keys, s.pairs.Values); err != nil {
		return err
	}
	return s.count(int(again[0]))
}

// meet records which objects were requested, and returns how many of them are new.
func (s *Stack) meet(objects []uint32) (fresh int) {
	for _, o := range objects {
		word, bit := &s.met[o/64], uint64(1)<<(o%64)
		if *word&bit == 0 {
			*word |= bit
			fresh++
		}
	}
	return fresh
}

// count counts the distances of n keys and values in the columns of the pairs, level by level.
func (s *Stack) count(n int) error {
	keys, values, otherKeys, otherValues := s.pairs.Keys, s.pairs.Values, s.last, s.known
	grid := cuda.Grid{Blocks: tiles(n), Threads: threads}
	for bit := bits.Len(uint(n-1)) - 1; bit >= tileBits; bit-- {
		if err := s.module.Launch("reuse_count", grid, keys, uint32(n), uint32(bit), s.ones); err != nil {
			return err
		}
		if err := s.columns.PrefixSum(s.ones, grid.Blocks, s.sums); err != nil {
			return err
		}
		if err := s.module.Launch("reuse_split", grid, keys, values, uint32(n), uint32(bit), s.ones,
			otherKeys, otherValues); err != nil {
			return err
		}
		keys, values, otherKeys, otherValues = otherKeys, otherValues, keys, values
	}
	grid.Blocks = min(grid.Blocks, finishing*max(1, s.scope.Processors()))
	return s.module.Launch("reuse_finish", grid, keys, values, uint32(n), s.counts)
}

// each launches a kernel with a thread per element, if there are elements.
func (s *Stack) each(kernel string, n int, arguments ...any) error {
	if n == 0 {
		return nil
	}
	return s.module.Launch(kernel, cuda.Grid{Blocks: (n + threads - 1) / threads, Threads: threads}, arguments...)
}

// Distances returns, for each distance, the number of counted requests that have it.
func (s *Stack) Distances() ([]int64, error) {
	counts := make([]int64, s.numObjects)
	if len(counts) == 0 {
		return counts, nil
	}
	if err := cuda.Download(s.scope, counts, s.counts); err != nil {
		return nil, err
	}
	sum := int64(0)
	for distance, n := range counts {
		if n < 0 || n > s.counted-sum {
			return nil, cuda.Wrong("%d requests have a distance of %d, and %d a smaller one; all are %d", n, distance, sum,
				s.counted)
		}
		sum += n
	}
	if sum != s.counted {
		return nil, cuda.Wrong("%d requests have a distance; %d have", sum, s.counted)
	}
	return counts, nil
}

// Restart empties the stack and sets the counts to 0.
func (s *Stack) Restart() error {
	s.seen, s.counted = 0, 0
	clear(s.met)
	if s.numObjects == 0 {
		return nil
	}
	return s.scope.Fill(s.counts, 0, 8*int64(s.numObjects))
}
