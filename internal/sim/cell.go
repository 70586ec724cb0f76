package sim

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/traces"
)

// Cell is one replay: a policy at a capacity. Runs and sweeps consist of cells.
type Cell struct {
	Parts
	Capacity capacity.Capacity
	Seed     uint64        // for all random choices
	Series   series.Window // of the series; the zero Window means none
	// OnePass lets the policy, if it is LRU, share one pass over reuse distances with other capacities: its counts are the
	// same, and its time is the pass's.
	OnePass bool
}

// Key identifies a cell among those of one trace: cells with the same key have the same outcome. If the policy makes no
// random choice, the seed does not matter.
func (c Cell) Key() string {
	key := fmt.Sprintf("%s|%s|%d|%d", c.Policy, c.Capacity.Unit(), c.Capacity.Amount, c.Capacity.Simulated)
	for _, kind := range Kinds {
		if part := kind.Of(&c.Parts); part != nil {
			key += "|" + kind.Name + " " + part.String()
		}
	}
	if c.Series.IsSet() {
		key += "|series " + c.Series.String()
	}
	if c.Random() {
		key += fmt.Sprintf("|%d", c.Seed)
	}
	return key
}

// References returns the cells that c is compared with: the offline optimum under the same rules at the same capacity.
// If sizes count, similar queries answer each other, or what running prompts hold depends on the policy, it returns a
// feasible schedule and a lower bound instead. A policy that ignores its capacity is compared with the compulsory
// misses, which need no replay. In a cache of queries the infinite cache is a reference, too. Nothing is known of the
// optimum if the requests or their order differ from the trace.
func References(c Cell) []Cell {
	rules := policies.Rules{Bytes: c.Capacity.Bytes, Bypass: bypasses(c), Held: heldByPolicy(c)}
	c.Cache = cache.ForReferences(c.Cache)
	against := func(names ...string) (cells []Cell) {
		for _, name := range names {
			parts := Parts{Cache: c.Cache, Policy: policies.Known(name), Router: c.Router} // the optimum of each node
			if rules.Held {
				parts.Model = c.Model // which decides about what is held
			}
			cells = append(cells, Cell{Parts: parts, Capacity: c.Capacity, Seed: c.Seed})
		}
		return cells
	}
	switch {
	case cache.KeepsTime(c.Replayed().Cache), cache.Sweeps(c.Allocator): // which exceeds the capacity
		return nil
	case reorders(c.Model) || cache.ServesHeads(c.Cache):
		return nil
	case c.Router != nil && (cache.Can[cache.Replica](c.Cache.Entry) || route.HasSecond(*c.Router)):
		return nil // nodes compute a bound of their own
	case cache.ServesQueries(c.Cache):
		return against(queryReferences(c)...)
	case c.Policy.Entry.Unbounded:
		return nil
	}
	return against(referencesUnder(rules)...)
}

// heldByPolicy reports whether groups of requests hold objects while others begin, and different ones depending on the
// policy. If every missing object is loaded that finds room, and groups end in a fixed order, all policies hold the
// same.
func heldByPolicy(c Cell) bool {
	holds := c.Cache.Entry.Holds
	overlap := c.Model != nil && c.Model.Entry.Overlaps != nil && c.Model.Entry.Overlaps(c.Model.Params)
	return holds != nil && holds(c.Cache.Params, overlap) && (overlap || bypasses(c))
}

// reorders reports whether the requests may come in another order than in the trace, or not all of them.
func reorders(m *models.Spec) bool {
	return drives(m) || m != nil && m.Entry.Reorders != nil && m.Entry.Reorders(m.Params)
}

// OwnCapacity returns the capacity of a cache that describes it by its parameters; ok is false for any other.
func OwnCapacity(c cache.Spec) (_ capacity.Capacity, ok bool) {
	if c.Entry.Capacity == nil {
		return capacity.Capacity{}, false
	}
	return c.Entry.Capacity(c.Params)
}

// OwnCapacityOn returns the capacity of its own that a cache has on a trace. For prompts it is read as it is written:
// bytes are those of their blocks, and numbers of blocks are bytes, too, where these are known.
func OwnCapacityOn(t *traces.Trace, own capacity.Capacity, c cache.Spec, sizes capacity.Mode) (capacity.Capacity,
	error) {
	switch {
	case cache.HasPools(c) || !c.Entry.ServesPrompts(t):
		return own, nil
	case sizes == capacity.BlockBytes:
		sizes = capacity.Blocks
	case sizes == capacity.Bytes:
		sizes = capacity.AsWritten
	}
	return own.On(t, sizes)
}

// HasOwnCapacity reports whether a cache describes its capacity by its parameters.
func HasOwnCapacity(c cache.Spec) bool {
	_, own := OwnCapacity(c)
	return own
}

// bypasses reports whether a missed object may be left out.
func bypasses(c Cell) bool {
	guarded := c.Admission != nil && c.Cache.Entry.Tiers == nil // tiers always load into the first one
	return guarded || c.Cache.Entry.Bypasses || c.Policy.Entry.Bypasses(c.Policy.Params)
}

// referencesUnder returns the names of the optimum under some rules or, if nobody can compute it, of the schedule that
// replaces it and of a bound.
func referencesUnder(rules policies.Rules) []string {
	names := []string{policies.Optimum(rules)}
	if bound, ok := policies.LowerBound(rules); ok {
		names = append(names, bound)
	}
	return names
}

// HoldAgainst sets the fields of rec that compare it with the record of one of its cell's References. After a warm-up
// both count only the requests that follow.
func HoldAgainst(rec *records.Record, reference records.Record) {
	if rec.Contents == records.ContentsUnknown {
		return
	}
	if reference.Kind == policies.Bound.String() {
		bound := reference.Float(metric.LowerBoundMisses)
		rec.Set(metric.LowerBoundMisses, bound)
		rec.SetQuotient(metric.CompetitiveRatioMax, rec.Float(metric.Misses), bound)
		return
	}
	if e, _ := policies.Registry.Find(reference.Policy); e.Unbounded {
		rec.SetQuotient(metric.NormalizedHitRatio, rec.Float(metric.Hits), reference.Float(metric.Hits))
		return
	}
	if reference.Has(metric.LowerBoundMisses) { // it is not optimal on this trace
		bound := reference.Float(metric.LowerBoundMisses)
		rec.Set(metric.LowerBoundMisses, bound)
		rec.SetQuotient(metric.CompetitiveRatioMax, rec.Float(metric.Misses), bound)
	}
	rec.Optimum = reference.Policy
	holdAgainstMisses(rec, reference.Int(metric.Misses))
}

// holdAgainstMisses sets the fields that compare a record's misses with an optimum's.
func holdAgainstMisses(rec *records.Record, optimum int64) {
	rec.SetInt(metric.OptMisses, optimum)
	rec.SetQuotient(metric.CompetitiveRatio, rec.Float(metric.Misses), float64(optimum))
}

// MarkBest marks the records with the highest hit ratio among the competing ones of one trace and capacity. It marks
// none if none has a hit, if there is only one, or if a model drives the cache, where hits are not what counts.
func MarkBest(recs []records.Record) {
	best, competitors := 0.0, 0
	competes := func(rec *records.Record) bool {
		kind, _ := cache.Registry.Find(nameIn(rec.Cache))
		paysWithQuality := cache.Can[policies.HeadServer](kind)
		return rec.Competes() && !rec.Overruns() && !cache.Can[cache.Driven](kind) && !paysWithQuality
	}
	for i := range recs {
		if competes(&recs[i]) {
			best = max(best, recs[i].Float(metric.HitRatio))
			competitors++
		}
	}
	for i := range recs {
		recs[i].Best = competitors > 1 && best > 0 && competes(&recs[i]) && recs[i].Float(metric.HitRatio) == best
	}
}

// DependsOnSeed reports whether a record's counts depend on its seed.
func DependsOnSeed(rec *records.Record) bool {
	e, known := policies.Registry.Find(rec.Policy)
	random := func(k *Kind) bool { return k.IsRandom(*k.Field(rec)) }
	return !known || e.Random || slices.ContainsFunc(Kinds, random) ||
		poolsAre(rec.Cache, func(e *policies.Entry) bool { return e.Random })
}

// poolsAre reports whether the cache that a text names has a pool with a policy of its own that has a property.
func poolsAre(text string, property func(*policies.Entry) bool) bool {
	kind, err := cache.Registry.Parse(text)
	if err != nil || kind.Entry.Policies == nil {
		return false
	}
	own := kind.Entry.Policies(kind.Params, policies.Spec{})
	return slices.ContainsFunc(own, func(s policies.Spec) bool { return property(&s.Entry) })
}

func nameIn(text string) string {
	name, _, _ := params.SplitCall(text) // "" for what is no call
	return name
}
