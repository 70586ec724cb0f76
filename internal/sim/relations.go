package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/neighbours"
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
	for _, c := range cells {
		if from, ok := similarFrom(c); ok {
			r.similar.Expect(from)
		}
	}
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
		if similar, err = r.similar.From(ctx, from); err != nil {
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
	return neighbours.CheckEmbeddings(t, "cache "+c.Cache.Name())
}

// queryReferences returns the names of what a policy is compared with in a cache of queries. The optimum is known if an
// entry answers only its own query.
func queryReferences(c Cell) (names []string) {
	if !c.Policy.Entry.Unbounded { // no bound for a capacity holds for a policy that ignores it
		names = referencesUnder(policies.Rules{Similar: cache.AnswersSimilar(c.Cache), Bypass: bypasses(c)})
	}
	return append(names, policies.Unlimited())
}
