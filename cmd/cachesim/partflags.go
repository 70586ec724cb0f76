package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// partFlags are the flags that choose the parts that policies are combined with, one flag for each kind of part.
type partFlags struct{ texts map[*sim.Kind]*string }

// partFlag describes the flag of a kind of part.
type partFlag struct {
	flag     string // the flag's name, if it differs from the kind's
	standard string // the default
	list     string // help of the flag that accepts a list
	one      string // help of the flag that accepts a single part
}

// partFlagsOf describes the flag of each kind.
var partFlagsOf = map[*sim.Kind]partFlag{
	sim.CacheKind: {standard: "exact", list: "list of kinds of caches: what counts as a hit, and what can be evicted",
		one: "the kind of cache: exact or semantic"},
	sim.PredictorKind: {standard: defaultPredictor, list: "list of predictors for policies that use one, as in " +
		"'oracle,gbm'; other policies ignore it (see cachesim predictors)", one: "the predictor, if the policy uses one"},
	sim.PrefetcherKind: {flag: "prefetch", list: "list of prefetchers: what to load besides the requested objects, " +
		"as in 'none,next(n=2)' (default: nothing; see cachesim prefetchers)"},
	sim.AllocatorKind: {flag: "allocate", list: "list of allocators, which divide the capacity among the tenants " +
		"given by --tenant (default: shared, one pool for all), or between the pools of serving nodes"},
	sim.ModelKind: {list: "list of models for the time that requests take (default: only count hits)"},
}

// registerLists adds a flag for each kind, which accepts a list.
func (f *partFlags) registerLists(cmd *cobra.Command) {
	for _, kind := range sim.Kinds {
		f.register(cmd, kind, partFlagsOf[kind].list)
	}
}

// registerSingle adds the flags of some kinds, which accept one part each.
func (f *partFlags) registerSingle(cmd *cobra.Command, kinds ...*sim.Kind) {
	for _, kind := range kinds {
		f.register(cmd, kind, partFlagsOf[kind].one)
	}
}

func (f *partFlags) register(cmd *cobra.Command, kind *sim.Kind, usage string) {
	if f.texts == nil {
		f.texts = map[*sim.Kind]*string{}
	}
	name := cmp.Or(partFlagsOf[kind].flag, kind.Name)
	f.texts[kind] = cmd.Flags().String(name, partFlagsOf[kind].standard, usage)
	completeNames(cmd, name, kind.Names)
}

// lists reads the lists.
func (f *partFlags) lists() (map[*sim.Kind][]sim.Part, error) {
	all := map[*sim.Kind][]sim.Part{}
	for _, kind := range sim.Kinds {
		if text := f.texts[kind]; text != nil && (*text != "" || kind == sim.CacheKind) {
			parts, err := kind.ParseList(*text)
			if err != nil {
				return nil, err
			}
			all[kind] = parts
		}
	}
	return all, nil
}

// single adds one part of each kind with a flag to parts, which already have a policy, if the policy works with such a
// part.
func (f *partFlags) single(parts *sim.Parts) error {
	for _, kind := range sim.Kinds {
		text := f.texts[kind]
		if text == nil || !asks(parts.Policy.Entry, kind) {
			continue
		}
		part, err := kind.Parse(*text)
		if err != nil {
			return err
		}
		part.Into(parts)
	}
	return nil
}

// asks reports whether a policy uses parts of the kind.
func asks(e policies.Entry, kind *sim.Kind) bool { return kind.AskedBy == nil || kind.AskedBy(e) }
