// Package defaults has the policies and capacities that `cachesim run` compares if the user lists none.
package defaults

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
	Capacities = "1%,3%,10%,30%"

	modelled = "lru"
	online   = "lru,arc,lirs,s3fifo,sieve,w-tinylfu"
	plain    = online + ",opt"
	ofHeads  = "one-set"
	similar  = online + ",topic-lru,rac,farthest-similar"
)

// Usage says what the flag for policies takes.
const Usage = "list of policies, with parameters as in 's3fifo(small=0.1),lru-k(k=2)' (default " + plain +
	"; belady-size instead of opt if capacities count bytes; " + similar + " if similar queries answer each other; " +
	"without opt where no policy can know what comes: in the cache igtcache, and if objects arrive later than they are " +
	"requested; " + modelled + " on serving nodes; " + ofHeads + " in the cache attention)"

// Policies reads a list of policies or, if it is empty, returns the default ones for the caches and the capacities.
func Policies(list string, setups []experiment.Setup, capacities []capacity.Spec,
	mode capacity.Mode) ([]policies.Spec, error) {
	if list != "" {
		return policies.Registry.ParseList(list)
	}
	specs, err := policies.Registry.ParseList(listFor(setups, capacities, mode))
	return slices.DeleteFunc(specs, func(s policies.Spec) bool {
		return s.Entry.Kind != policies.Online && slices.ContainsFunc(setups, func(in experiment.Setup) bool {
			in.Parts.Policy = s
			return sim.CheckParts(sim.Cell{Parts: in.Parts}) != nil
		})
	}), err
}

func listFor(setups []experiment.Setup, capacities []capacity.Spec, mode capacity.Mode) string {
	answersSimilar := func(s experiment.Setup) bool { return cache.AnswersSimilar(s.Parts.Cache) }
	isModelled := func(s experiment.Setup) bool { return s.Parts.Cache.Entry.Modelled }
	switch {
	case setups[0].Parts.Cache.Entry.Attention:
		return ofHeads
	case slices.ContainsFunc(setups, isModelled):
		return modelled
	case slices.ContainsFunc(setups, answersSimilar):
		return similar
	case capacity.NeedBytes(capacities, mode):
		return inBytes(capacities, mode)
	}
	return plain
}

// inBytes returns the default policies if some capacities count bytes: with what takes the place of the optimum there,
// and with the optimum only if others count objects.
func inBytes(capacities []capacity.Spec, mode capacity.Mode) string {
	list := online
	inObjects := func(c capacity.Spec) bool { return !capacity.NeedBytes([]capacity.Spec{c}, mode) }
	if slices.ContainsFunc(capacities, inObjects) {
		list = plain
	}
	return list + "," + policies.Optimum(policies.Rules{Bytes: true})
}
