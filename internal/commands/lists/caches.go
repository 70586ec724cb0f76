package lists

import (
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// cachesOf returns the kinds of caches that a policy works in: those with which a cell passes the checks of a replay.
func cachesOf(e policies.Entry) []string {
	spec := policies.Spec{Entry: e, Params: params.Defaults(e.Params)}
	if e.ShortFor != nil {
		name, _, _ := e.ShortFor(spec.Params)
		return []string{name}
	}
	return cache.Registry.NamesOf(func(kind *cache.Entry) bool {
		bytes := e.Units == policies.UnitsBytes || e.Units == policies.UnitsBoth && !kind.ObjectsOnly
		c := sim.Cell{Capacity: capacity.Of(1000, bytes)}
		c.Policy, c.Cache = spec, listed()[kind.Name]
		with := func(part, name string) {
			if p, err := sim.KindOf(part).Parse(name); err == nil {
				p.Into(&c.Parts)
			}
		}
		if policies.Can[policies.PredictorUser](e) {
			with("predictor", "oracle")
		}
		if policies.Can[policies.Reuser](e) {
			with("reuse", "qsac")
		}
		if cache.HasPools(c.Cache) {
			with("model", "recommender")
		}
		return sim.CheckParts(c) == nil
	})
}

// listed returns each cache as lists take it, by name.
var listed = sync.OnceValue(func() map[string]cache.Spec {
	all := map[string]cache.Spec{}
	for _, kind := range cache.Registry.All() {
		all[kind.Name] = cache.Spec{Entry: kind, Params: params.Defaults(kind.Params)}
		if several, err := cache.Registry.Parse(kind.Name + "(host=10x)"); err == nil { // one with tiers has no default
			all[kind.Name] = several
		}
	}
	return all
})
