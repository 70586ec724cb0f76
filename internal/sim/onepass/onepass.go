// Package onepass gives LRU's counts at many capacities from one pass over a trace, by reuse distances: in the exact
// cache for objects and bytes, and in a cache of prompts. It says what is counted; package sim serves the requests.
// Firsts knows which requests are the first to their object, and so when a cache has filled.
package onepass

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
)

// Stack gives LRU's counts at many capacities.
type Stack interface {
	// Window returns how many requests to serve at a time.
	Window() int
	Serve(objects []uint32, counted bool) error
	// Resident returns the number of objects in the cache at each capacity now.
	Resident() []int64
	// Hits returns the counted hits at each capacity, and their bytes if the capacities count bytes.
	Hits() (hits, hitBytes []int64, err error)
}

// Apart is a Stack that counts requests that write apart.
type Apart interface {
	Stack
	// Turn says whether the next requests write.
	Turn(write bool)
	// WriteHits is Hits of the requests that write.
	WriteHits() (hits, hitBytes []int64)
}

// Grouped is a Stack of a cache that serves groups, whose requests come in whole groups.
type Grouped interface {
	Stack
	// Counts returns what was counted at each capacity, with loads as evictions.
	Counts() []cache.Counts
}

// New returns the stack for a part of a trace and capacities in ascending order. The cache is exact, or has a group
// order. Window is how many requests to serve at a time.
func New(t *traces.Trace, in cache.Spec, bytes bool, capacities []int64, window int) (Stack, error) {
	switch {
	case !cache.IsExact(in):
		return newPromptStack(t, in, capacities, window), nil
	case !bytes:
		s := &objectStack{oracle.NewLRUStack(t.NumObjects), capacities, window, newHitCounts(capacities, t.NumObjects), nil}
		if s.stack.CountIn(s.hits.counts, s.hits.places); t.Ops != nil {
			s.writes = &hitCounts{make([]int64, len(s.hits.counts)), s.hits.places}
		}
		return s, nil
	}
	stack, err := oracle.NewLRUByteStack(t.ObjectSizes, capacities)
	return byteStack{stack, oracle.NewByteHits(len(capacities)), window}, err
}

type objectStack struct {
	stack      *oracle.LRUStack
	capacities []int64
	window     int
	hits       *hitCounts
	writes     *hitCounts // of requests that write; nil if none do
}

func (s *objectStack) Window() int { return s.window }

func (s *objectStack) Serve(objects []uint32, counted bool) error {
	s.stack.Serve(objects, counted)
	return nil
}

func (s *objectStack) Resident() []int64 { return ResidentsIn(s.capacities, s.stack.Seen()) }

func (s *objectStack) Hits() (hits, hitBytes []int64, err error) {
	hits = s.hits.perCapacity()
	return hits, make([]int64, len(hits)), nil
}

func (s *objectStack) Turn(write bool) {
	to := s.hits
	if write {
		to = s.writes
	}
	s.stack.CountIn(to.counts, to.places)
}

func (s *objectStack) WriteHits() (hits, hitBytes []int64) {
	hits = s.writes.perCapacity()
	return hits, make([]int64, len(hits))
}

// hitCounts counts hits at capacities, which are in ascending order, so that they can be read at any time: distances
// are counted together if the same capacities hit them.
type hitCounts struct {
	counts []int64  // per place
	places []uint32 // per distance: the number of capacities that miss
}

func newHitCounts(capacities []int64, distances int) *hitCounts {
	h := &hitCounts{make([]int64, len(capacities)+1), memory.Column[uint32](distances)}
	for _, c := range capacities {
		if c < int64(distances) {
			h.places[c]++
		}
	}
	for d := 1; d < distances; d++ {
		h.places[d] += h.places[d-1]
	}
	return h
}

func (h *hitCounts) perCapacity() []int64 {
	hits, sum := make([]int64, len(h.counts)-1), int64(0)
	for k := range hits {
		sum += h.counts[k]
		hits[k] = sum
	}
	return hits
}

// ResidentsIn returns how many of the objects seen are in caches of these capacities.
func ResidentsIn(capacities []int64, seen int) []int64 {
	resident := make([]int64, len(capacities))
	for k, c := range capacities {
		resident[k] = min(c, int64(seen))
	}
	return resident
}

// HitsIn returns the hits of caches of these capacities, of the number of requests at each distance.
func HitsIn(capacities, distances []int64) []int64 {
	ascending := make([]int, len(capacities))
	for k := range ascending {
		ascending[k] = k
	}
	slices.SortFunc(ascending, func(a, b int) int { return cmp.Compare(capacities[a], capacities[b]) })
	hits := make([]int64, len(capacities))
	at, sum := 0, int64(0)
	for _, k := range ascending {
		for ; at < len(distances) && int64(at) < capacities[k]; at++ {
			sum += distances[at]
		}
		hits[k] = sum
	}
	return hits
}

type byteStack struct {
	stack  *oracle.LRUByteStack
	writes *oracle.ByteHits
	window int
}

func (s byteStack) Window() int { return s.window }

func (s byteStack) Serve(objects []uint32, counted bool) error {
	s.stack.Serve(objects, counted)
	return nil
}

func (s byteStack) Resident() []int64 { return s.stack.Resident() }

func (s byteStack) Hits() (hits, hitBytes []int64, err error) {
	hits, hitBytes = s.stack.Hits()
	return hits, hitBytes, nil
}

func (s byteStack) Turn(write bool) {
	if write {
		s.stack.CountIn(s.writes)
	} else {
		s.stack.CountIn(nil)
	}
}

func (s byteStack) WriteHits() (hits, hitBytes []int64) { return s.writes.Hits() }

// HitsSoFar returns the hits that a stack has counted at each capacity, also those of writes unless these only fill the
// cache.
func HitsSoFar(stack Stack, t *traces.Trace) (counts []cache.Counts) {
	hits, hitBytes, _ := stack.Hits() // only a device fails, whose stack has no marks
	if t.Ops != nil && !t.Fills() {
		writes, written := stack.(Apart).WriteHits()
		hits, hitBytes = Plus(hits, writes), Plus(hitBytes, written)
	}
	for k := range hits {
		counts = append(counts, cache.Counts{Hits: hits[k], HitBytes: hitBytes[k]})
	}
	return counts
}

// Plus returns the sums of two columns, of which the second may be absent.
func Plus(a, b []int64) []int64 {
	sums := slices.Clone(a)
	for i, n := range b {
		sums[i] += n
	}
	return sums
}
