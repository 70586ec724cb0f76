package main

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// The defaults of `cachesim run TRACE`: one policy of each family and the optimum, over a wide range of sizes. In bytes
// the schedule that the ratio refers to takes the place of the optimum, because opt ignores sizes. If similar queries
// answer each other, no optimum is known, and policies that use similarity are added. In a cache that a model drives,
// allocators are compared, and one policy serves all.
const (
	defaultCapacities = "1%,3%,10%,30%"

	defaultModelled = "lru"
	defaultOnline   = "lru,arc,lirs,s3fifo,sieve,w-tinylfu"
	defaultPlain    = defaultOnline + ",opt"
	defaultOfHeads  = "one-set"
	defaultSimilar  = defaultOnline + ",topic-lru,rac,farthest-similar"
)

// defaultsUsage says what the flag for policies takes.
const defaultsUsage = "list of policies, with parameters as in 's3fifo(small=0.1),lru-k(k=2)' (default " +
	defaultPlain + "; belady-size instead of opt if capacities count bytes; " + defaultSimilar +
	" if similar queries answer each other; without opt where no policy can know what comes: in the cache igtcache, " +
	"and if objects arrive later than they are " +
	"requested; " + defaultModelled + " on serving nodes; " + defaultOfHeads + " in the cache attention)"

// defaultPolicies reads a list of policies or, if it is empty, returns the default ones for the caches and the
// capacities.
func defaultPolicies(list string, setups []experiment.Setup, capacities []capacity.Spec,
	mode capacity.Mode) ([]policies.Spec, error) {
	if list != "" {
		return policies.Registry.ParseList(list)
	}
	specs, err := policies.Registry.ParseList(defaultList(setups, capacities, mode))
	return slices.DeleteFunc(specs, func(s policies.Spec) bool {
		return s.Entry.Kind != policies.Online && slices.ContainsFunc(setups, func(in experiment.Setup) bool {
			in.Parts.Policy = s
			return sim.CheckParts(sim.Cell{Parts: in.Parts}) != nil
		})
	}), err
}

func defaultList(setups []experiment.Setup, capacities []capacity.Spec, mode capacity.Mode) string {
	answersSimilar := func(s experiment.Setup) bool { return cache.AnswersSimilar(s.Parts.Cache) }
	isModelled := func(s experiment.Setup) bool { return cache.Can[cache.Driven](s.Parts.Cache.Entry) }
	switch {
	case cache.ServesHeads(setups[0].Parts.Cache):
		return defaultOfHeads
	case slices.ContainsFunc(setups, isModelled):
		return defaultModelled
	case slices.ContainsFunc(setups, answersSimilar):
		return defaultSimilar
	case capacity.NeedBytes(capacities, mode):
		return defaultsInBytes(capacities, mode)
	}
	return defaultPlain
}

// defaultsInBytes returns the default policies if some capacities count bytes: with what takes the place of the optimum
// there, and with the optimum only if others count objects.
func defaultsInBytes(capacities []capacity.Spec, mode capacity.Mode) string {
	list := defaultOnline
	inObjects := func(c capacity.Spec) bool { return !capacity.NeedBytes([]capacity.Spec{c}, mode) }
	if slices.ContainsFunc(capacities, inObjects) {
		list = defaultPlain
	}
	return list + "," + policies.Optimum(policies.Rules{Bytes: true})
}
