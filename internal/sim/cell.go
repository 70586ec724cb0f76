package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/allocate"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/series"
)

// Cell is one replay: a policy at a capacity. It is the unit of work of a run and of a sweep.
type Cell struct {
	Parts
	Capacity capacity.Capacity
	Seed     uint64        // of all random choices
	Series   series.Window // of what is kept over the time of the replay; the zero Window: nothing
	// OnePass lets the policy, if it is LRU, share one pass over reuse distances with other capacities: its counts are the
	// same, and its time is that of the pass.
	OnePass bool
}

// Key names a cell among those of one trace: cells with the same key have the same outcome. Where the policy makes no
// random choice the seed does not matter.
func (c Cell) Key() string {
	key := fmt.Sprintf("%s|%s|%d|%d", c.Policy, c.Capacity.Unit(), c.Capacity.Amount, c.Capacity.Simulated)
	for _, kind := range Kinds {
		if part := kind.Of(&c.Parts); part != nil {
			key += "|" + kind.Name + " " + part.String()
		}
	}
	if c.Series.Asked() {
		key += "|series " + c.Series.String()
	}
	if c.Random() {
		key += fmt.Sprintf("|%d", c.Seed)
	}
	return key
}

// References returns the cells that c is held against: the offline optimum under the same rules at the same capacity
// and, where sizes count or similar queries answer each other, a schedule that is feasible and a lower bound instead. A
// policy that ignores its capacity is held against the compulsory misses, which need no replay. In a cache of queries
// the infinite cache is a reference, too.
func References(c Cell) []Cell {
	against := func(names ...string) (cells []Cell) {
		for _, name := range names {
			parts := Parts{Cache: c.Cache, Policy: mustSpec(name)}
			cells = append(cells, Cell{Parts: parts, Capacity: c.Capacity, Seed: c.Seed})
		}
		return cells
	}
	switch {
	case c.Cache.Entry.Queries:
		c.Cache = cache.ForReferences(c.Cache)
		return against(queryReferences(c)...)
	case c.Policy.Entry.Unbounded:
		return nil
	}
	return against(referencesUnder(policies.Rules{Bytes: c.Capacity.Bytes, Bypass: bypasses(c.Policy)})...)
}

// bypasses reports whether a policy may leave out what was missed.
func bypasses(p policies.Spec) bool { return p.Entry.Bypasses(p.Params) }

// referencesUnder returns the names of the optimum by some rules and, where nobody can compute that, of what stands in
// for it and of a bound.
func referencesUnder(rules policies.Rules) []string {
	names := []string{policies.Optimum(rules)}
	if bound, ok := policies.LowerBound(rules); ok {
		names = append(names, bound)
	}
	return names
}

// HoldAgainst fills in what the record of one of the References of rec's cell says about rec. Under a warm-up both
// count the requests after it.
func HoldAgainst(rec *records.Record, reference records.Record) {
	if reference.Kind == policies.Bound.String() {
		bound := reference.Float(metric.LowerBoundMisses)
		rec.Set(metric.LowerBoundMisses, bound)
		rec.SetQuotient(metric.CompetitiveRatioMax, rec.Float(metric.Misses), bound)
		return
	}
	if e, _ := policies.Find(reference.Policy); e.Unbounded {
		rec.SetQuotient(metric.NormalizedHitRatio, rec.Float(metric.Hits), reference.Float(metric.Hits))
		return
	}
	rec.Optimum = reference.Policy
	holdAgainstMisses(rec, reference.Int(metric.Misses))
}

// holdAgainstMisses fills in how the misses of a record compare with those of an optimum.
func holdAgainstMisses(rec *records.Record, optimum int64) {
	rec.SetInt(metric.OptMisses, optimum)
	rec.SetQuotient(metric.CompetitiveRatio, rec.Float(metric.Misses), float64(optimum))
}

// MarkBest marks the online policies with the highest hit ratio among the records of one trace and capacity. An
// unbounded cache is no competitor, nor is a policy whose predictor or allocator knows the
// future.
func MarkBest(recs []records.Record) {
	best := -1.0
	competes := func(rec records.Record) bool {
		e, _ := policies.Find(rec.Policy)
		return e.Kind == policies.Online && !e.Unbounded && !knowsFuture(rec)
	}
	for _, rec := range recs {
		if competes(rec) {
			best = max(best, rec.Float(metric.HitRatio))
		}
	}
	for i := range recs {
		recs[i].Best = competes(recs[i]) && recs[i].Float(metric.HitRatio) == best
	}
}

// DependsOnSeed reports whether the counts of a record depend on its seed.
func DependsOnSeed(rec *records.Record) bool {
	e, known := policies.Find(rec.Policy)
	return !known || e.Random || predictorOf(rec.Predictor).Random
}

// knowsFuture reports whether the predictor or the allocator of a record sees more than what has been requested.
func knowsFuture(rec records.Record) bool {
	allocator, _ := allocate.Find(nameIn(rec.Allocator))
	return predictorOf(rec.Predictor).Future || allocator.Future
}

// nameIn returns the name of a part with parameters.
func nameIn(text string) string {
	name, _, err := params.SplitCall(text)
	if err != nil {
		return ""
	}
	return name
}

// predictorOf returns the entry of the predictor that a record names, an empty one where it names none. Files that its
// parameters name may be gone.
func predictorOf(text string) predict.Entry {
	name, _, err := params.SplitCall(text)
	if err != nil {
		return predict.Entry{}
	}
	e, _ := predict.Find(name)
	return e
}

// mustSpec returns a policy of the registry with its defaults.
func mustSpec(name string) policies.Spec {
	spec, err := policies.ParseSpec(name)
	if err != nil {
		panic(err)
	}
	return spec
}
