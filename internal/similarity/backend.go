package similarity

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Backend finds similar pairs. It may look for them with products of any precision, as long as bound.go shows that
// none is missed, but it decides by Vectors.Similarity, bit by bit: results do not depend on the backend.
type Backend interface {
	Name() string
	// Find lists every pair whose similarity is at least s.From, once each, in any order. It stops with the error of
	// ctx or of Finder.Compared.
	Find(ctx context.Context, s *Search) error
	// FindNearest offers the most similar others of each vector, in any order. It may leave out pairs whose similarity is
	// below NearestSearch.Bound. It stops with ctx's error.
	FindNearest(ctx context.Context, s *NearestSearch) error
}

// Search is what a Backend looks for, and collects the pairs that it finds.
type Search struct {
	Vectors Vectors // at least two
	From    float32 // at most 1
	Jobs    int     // goroutines, at least 1

	maxPairs int
	progress func(done, total int64)
	found    atomic.Int64 // pairs
	compared atomic.Int64 // pairs
	mu       sync.Mutex
	finders  []*Finder
}

// Finder lists pairs for one goroutine. Which goroutine finds a pair is left to chance; the lists are sorted
// afterwards.
type Finder struct {
	search    *Search
	pairs     pairList
	uncounted int64 // pairs that were added since Compared was called
}

// Finder returns a new list of pairs.
func (s *Search) Finder() *Finder {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &Finder{search: s}
	s.finders = append(s.finders, f)
	return f
}

func (f *Finder) Add(p Pair) {
	f.pairs.add(p)
	f.uncounted++
}

// AddAll lists pairs without copying them: the caller does not use them any longer.
func (f *Finder) AddAll(pairs []Pair) {
	f.pairs.addAll(pairs)
	f.uncounted += int64(len(pairs))
}

// Compared adds to the number of compared pairs; the similar ones among them must have been added before. It fails if
// more pairs are similar than fit in memory.
func (f *Finder) Compared(pairs int64) error {
	s := f.search
	found := s.found.Add(f.uncounted)
	f.uncounted = 0
	// Checked per block and not per pair: the counter is shared by all goroutines.
	if found > int64(s.maxPairs) {
		return &tooManyError{s}
	}
	compared := s.compared.Add(pairs)
	if s.progress != nil {
		n := int64(s.Vectors.Len())
		s.progress(compared, n*(n-1)/2)
	}
	return nil
}

// tooManyError says that a search has found more pairs than allowed.
type tooManyError struct{ s *Search }

func (e *tooManyError) Error() string {
	return fmt.Sprintf("more than %d pairs of the %d vectors have a similarity of at least %v, which needs more memory "+
		"than is allowed; raise the threshold", e.s.maxPairs, e.s.Vectors.Len(), e.s.From)
}
