package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/join"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// similarFrom returns the lowest similarity that a cell needs; ok is false if it needs none, or more than any two
// queries have.
func similarFrom(c Cell) (from float64, ok bool) {
	if !cache.ServesQueries(c.Cache) {
		return 0, false
	}
	similar := cache.SimilarityOf(c.Cache)
	from = similar.HitFrom
	if c.Policy.Entry.Relates {
		from = min(from, c.Policy.Entry.SimilarFrom(c.Policy.Params, from, similar.Tau))
	}
	if p := c.Predictor; p != nil && p.Entry.SimilarFrom != nil && cache.AnswersSimilar(c.Cache) {
		from = min(from, p.Entry.SimilarFrom(p.Params, similar.HitFrom))
	}
	return from, from <= 1
}

// NeighbourOptions say how a Replayer finds similar queries, and where it stores them.
type NeighbourOptions struct {
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

func (o NeighbourOptions) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

// neighbourhoods stores the similar pairs of a trace for all of its cells, from the lowest similarity that any of them
// needs. Its methods may be called from several goroutines.
type neighbourhoods struct {
	options NeighbourOptions
	mu      sync.Mutex
	trace   *traces.Trace
	least   float64 // lowest expected similarity; identityOnly if none is expected
	have    *similarity.Neighbours
	failed  error // why there are none; a lower threshold would not give fewer
}

// expect announces cells.
func (h *neighbourhoods) expect(cells []Cell) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range cells {
		if from, ok := similarFrom(c); ok {
			h.least = min(h.least, from)
		}
	}
}

// from returns the pairs with at least the given similarity, and possibly others. It holds the lock while it finds
// them, so that the other cells wait for them instead of comparing the queries again.
func (h *neighbourhoods) from(ctx context.Context, from float64) (*similarity.Neighbours, error) {
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
func (h *neighbourhoods) find(ctx context.Context, from float32) (*similarity.Neighbours, error) {
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

func (h *neighbourhoods) join(ctx context.Context, v similarity.Vectors, from float32) (*similarity.Neighbours, error) {
	options, end := h.options.search()
	defer end()
	return similarity.Join(ctx, v, from, options)
}

// search returns options for a comparison of queries, and what to call when it ends.
func (o NeighbourOptions) search() (options similarity.Options, end func()) {
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

// FindNearest returns the k most similar others of each query of a trace. It computes them, and stores nothing.
func FindNearest(ctx context.Context, t *traces.Trace, k int, options NeighbourOptions) (*similarity.Nearest, error) {
	if err := checkEmbeddings(t, "a comparison of queries"); err != nil {
		return nil, err
	}
	search, end := options.search()
	defer end()
	return similarity.FindNearest(ctx, vectorsOf(t), k, search)
}

// FindNeighbours returns the pairs of similar queries of a trace, with at least similarity from; it may return others,
// too. They come from a side file if there is one.
func FindNeighbours(ctx context.Context, t *traces.Trace, from float64,
	options NeighbourOptions) (*similarity.Neighbours, error) {
	if err := checkEmbeddings(t, "a comparison of queries"); err != nil {
		return nil, err
	}
	return (&neighbourhoods{options: options, trace: t}).find(ctx, float32(from))
}

// besideShort returns a policy that sets parameters of its cache, and another one for the same cache with its
// parameters unchanged.
func besideShort(cells []Cell) (short, other Cell, ok bool) {
	for _, short := range cells {
		if !short.Policy.Entry.ShortInside || short.Replayed().Cache.String() == short.Cache.String() {
			continue
		}
		i := slices.IndexFunc(cells, func(c Cell) bool {
			return c.Policy.Entry.ShortFor == nil && c.Policy.Entry.Kind == policies.Online &&
				c.Cache.Entry.Name == short.Replayed().Cache.Entry.Name && c.Cache.String() == short.Cache.String()
		})
		if i >= 0 {
			return short, cells[i], true
		}
	}
	return Cell{}, Cell{}, false
}

// expect prepares for the cells that will be replayed, and notes what a user should know about them.
func (r *Replayer) expect(cells []Cell) {
	r.similar.expect(cells)
	if r.options.Note == nil {
		return
	}
	note := func(format string, args ...any) { r.options.Note(r.trace.Name + ": " + fmt.Sprintf(format, args...)) }
	servesPrompts := func(c Cell) bool { return c.Replayed().Cache.Entry.ServesPrompts(r.trace) }
	if prompts.Of(r.trace.Kind) != nil && !slices.ContainsFunc(cells, servesPrompts) {
		note("the blocks of its prompts are replayed one by one; to replay whole prompts use cachesim run --cache prefix")
	}
	if short, other, ok := besideShort(cells); ok {
		own, together := short.Replayed().Cache, ""
		both := other
		if both.Cache = own; CheckParts(both) == nil {
			together = fmt.Sprintf("; --cache '%s' has both in one", own)
		}
		note("%s is replayed in the cache %s, %s in %s%s", short.Policy, own, other.Policy, other.Cache, together)
	}
	reordered := func(c Cell) bool { return reorders(c.Model) && !drives(c.Model) } // whose order no trace has
	if i := slices.IndexFunc(cells, reordered); i >= 0 {
		note("with the model %s the requests or their order differ from the trace, so there is no optimum to compare with",
			cells[i].Model)
	}
	if names := addressPrefetchers(cells); len(names) > 0 && isSample(r.trace) {
		note("a sample of %v of the objects has few neighbouring addresses left, so what %s gain here says little about the "+
			"whole trace; replay a part of it with --limit instead", r.trace.SampleRate, suggest.List(names))
	}
	for _, c := range cells {
		if remark := c.Cache.Entry.Remark; remark != nil && c.Router == nil { // whose bound is another one
			if text := remark(c.Cache.Params, r.trace); text != "" {
				note("%s", text)
			}
		}
	}
	if r.trace.Tenants == nil {
		return
	}
	noted := map[string]bool{}
	for _, c := range cells {
		if c.Allocator == nil || c.Allocator.Entry.Remark == nil || noted[c.Allocator.String()] {
			continue
		}
		noted[c.Allocator.String()] = true
		if text := c.Allocator.Entry.Remark(c.Allocator.Params, r.trace.Tenants.Names); text != "" {
			note("%s", text)
		}
	}
}

// isSample reports whether objects were left out of a trace by their keys.
func isSample(t *traces.Trace) bool { return t.SampleRate > 0 && t.SampleRate < 1 }

// addressPrefetchers returns the names of the prefetchers of cells that compute with addresses.
func addressPrefetchers(cells []Cell) (names []string) {
	for _, c := range cells {
		if p := c.Prefetcher; p != nil && p.Entry.Addresses && !slices.Contains(names, p.Name()) {
			names = append(names, p.Name())
		}
	}
	return names
}

// relate returns the relations between objects in a part of the trace, for the cache and the policy of a cell, or a
// bound; nil if they may not know them.
func (r *Replayer) relate(ctx context.Context, c Cell, t *traces.Trace) (similar *similarity.Neighbours,
	known *policies.Relations, err error) {
	if from, ok := similarFrom(c); ok {
		if similar, err = r.similar.from(ctx, from); err != nil {
			return nil, nil, err
		}
	}
	if !c.Policy.Entry.Relates {
		return similar, nil, nil
	}
	asked := cache.SimilarityOf(c.Cache)
	known = &policies.Relations{Similar: similar, HitFrom: float32(asked.HitFrom), Tau: float32(asked.Tau)}
	if cache.ServesQueries(c.Cache) { // only the trace gives topics: the keys of queries, often texts, are not paths
		known.Topics = queries.Of(t.Kind).Topics
	} else {
		known.Topics = r.topics()
	}
	return similar, known, nil
}

// checkQueries rejects a cache of queries for a trace without queries.
func checkQueries(c Cell, t *traces.Trace) error {
	if !cache.ServesQueries(c.Cache) {
		return nil
	}
	return checkEmbeddings(t, "cache "+c.Cache.Name())
}

// checkEmbeddings rejects a trace without queries, or without their embeddings, for parts that need them.
func checkEmbeddings(t *traces.Trace, who string) error {
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

// queryReferences returns the names of what a policy is compared with in a cache of queries. The optimum is known if an
// entry answers only its own query.
func queryReferences(c Cell) (names []string) {
	if !c.Policy.Entry.Unbounded { // no bound for a capacity holds for a policy that ignores it
		names = referencesUnder(policies.Rules{Similar: cache.AnswersSimilar(c.Cache), Bypass: bypasses(c)})
	}
	return append(names, policies.Unlimited())
}
