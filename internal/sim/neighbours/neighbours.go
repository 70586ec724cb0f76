// Package neighbours finds the pairs of similar queries of a trace, once for all who need them, and stores them.
package neighbours

import (
	"context"
	"fmt"
	"sync"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/join"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// Options say how a Replayer finds similar queries, and where it stores them.
type Options struct {
	Dir  string // folder of side files, created if it does not exist; "" if nothing is stored
	Jobs int    // goroutines; 0 means one per core
	// Comparing is called when the comparison of queries starts. Its result is notified, from several goroutines, of the
	// number of finished pairs, and of the end. It may be nil.
	Comparing func() (progress func(done, total int64), end func())
	// Device is the GPU that compares queries; nil for the CPU. A Replayer sets it to its own.
	Device *cuda.Shared
	// receives where queries are compared on a Device, and errors of reading and writing side files, which affect no
	// result; may be nil
	Note func(text string)
}

func (o Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

// Pairs stores the similar pairs of a trace for all of its cells, from the lowest similarity that any of them
// needs. Its methods may be called from several goroutines.
type Pairs struct {
	options Options
	mu      sync.Mutex
	trace   *traces.Trace
	least   float64 // lowest expected similarity; cache.IdentityOnly if none is expected
	have    *similarity.Neighbours
	failed  error // why there are none; a lower threshold would not give fewer
}

// New returns the pairs of a trace; nothing is compared yet.
func New(t *traces.Trace, options Options) *Pairs {
	return &Pairs{options: options, trace: t, least: cache.IdentityOnly}
}

// Expect announces that pairs will be needed from a similarity on.
func (h *Pairs) Expect(from float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.least = min(h.least, from)
}

// From returns the pairs with at least the given similarity, and possibly others. It holds the lock while it finds
// them, so that the other cells wait for them instead of comparing the queries again.
func (h *Pairs) From(ctx context.Context, from float64) (*similarity.Neighbours, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.have != nil && h.have.From <= float32(from):
		return h.have, nil
	case h.failed != nil:
		return nil, h.failed
	}
	found, err := h.find(ctx, float32(min(from, h.least)))
	switch {
	case err == nil:
		h.have = found
	case ctx.Err() == nil: // each of the other cells would work as long and fail in the same way
		h.failed = err
	}
	return found, err
}

// find reads the pairs from a side file, or joins the queries and stores the result.
func (h *Pairs) find(ctx context.Context, from float32) (*similarity.Neighbours, error) {
	v := vectorsOf(h.trace)
	switch {
	case from > 1:
		return similarity.NewNeighbours(v.Len(), from, nil), nil
	case h.options.Dir == "":
		return h.join(ctx, v, from)
	}
	folder, id := similarity.Folder(h.options.Dir), v.Identify()
	kept, err := folder.Load(ctx, id, from)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		h.options.note("%v; comparing the queries again", err)
	case kept != nil:
		return kept, nil
	}
	found, err := h.join(ctx, v, from)
	if err != nil {
		return nil, err
	}
	if err := folder.Save(found, id); err != nil {
		h.options.note("the list of similar queries could not be stored: %v", err)
	}
	return found, nil
}

func (h *Pairs) join(ctx context.Context, v similarity.Vectors, from float32) (*similarity.Neighbours, error) {
	options, end := h.options.search()
	defer end()
	return similarity.Join(ctx, v, from, options)
}

// search returns options for a comparison of queries, and what to call when it ends.
func (o Options) search() (options similarity.Options, end func()) {
	options, end = similarity.Options{Jobs: o.Jobs}, func() {}
	if o.Comparing != nil {
		options.Progress, end = o.Comparing()
	}
	if d := o.Device; d != nil {
		if err := join.Supports(d); err != nil {
			o.note("the CPU compares the queries: %v", err)
		} else {
			o.note("%s compares the queries", d.Name())
			options.Backend = join.Backend(d)
		}
	}
	return options, end
}

// vectorsOf returns the embeddings of a trace of queries.
func vectorsOf(t *traces.Trace) similarity.Vectors {
	return similarity.Vectors{Dim: queries.Of(t.Kind).Dim, Data: queries.Of(t.Kind).Vectors}
}

// Nearest returns the k most similar others of each query of a trace. It computes them, and stores nothing.
func Nearest(ctx context.Context, t *traces.Trace, k int, options Options) (*similarity.Nearest, error) {
	if err := CheckEmbeddings(t, "a comparison of queries"); err != nil {
		return nil, err
	}
	search, end := options.search()
	defer end()
	return similarity.FindNearest(ctx, vectorsOf(t), k, search)
}

// Find returns the pairs of similar queries of a trace, with at least similarity from; it may return others,
// too. They come from a side file if there is one.
func Find(ctx context.Context, t *traces.Trace, from float64,
	options Options) (*similarity.Neighbours, error) {
	if err := CheckEmbeddings(t, "a comparison of queries"); err != nil {
		return nil, err
	}
	return (&Pairs{options: options, trace: t}).find(ctx, float32(from))
}

// CheckEmbeddings rejects a trace without queries, or without their embeddings, for parts that need them.
func CheckEmbeddings(t *traces.Trace, who string) error {
	switch {
	case queries.Of(t.Kind) == nil:
		return fmt.Errorf("%s needs queries, but %s has none; cachesim formats lists the formats with queries", who,
			t.Name)
	case queries.Of(t.Kind).Dim == 0:
		return fmt.Errorf("%s needs embeddings, but %s has none, and no texts to compute them from; give a file of "+
			"embeddings with --embeddings", who, t.Name)
	}
	return nil
}
