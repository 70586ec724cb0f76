package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// partFlags are the flags that name what policies are combined with, one for each kind of parts.
type partFlags struct{ texts map[*sim.Kind]*string }

// partFlag is how a kind of parts is asked for.
type partFlag struct {
	flag     string // its name where that is not the one of the kind
	standard string // the default
	list     string // what a list of them is for
	one      string // what a single one is
}

// partFlagsOf says it for each kind.
var partFlagsOf = map[*sim.Kind]partFlag{
	sim.CacheKind: {standard: "exact", list: "list of kinds of caches: what a hit is and what may leave",
		one: "the kind of cache: exact or semantic"},
	sim.PredictorKind: {standard: defaultPredictor, list: "list of predictors for the policies that ask one, as in " +
		"'oracle,gbm'; others ignore it (see cachesim predictors)", one: "the predictor, if the policy asks one"},
	sim.PrefetcherKind: {flag: "prefetch", list: "list of prefetchers: what to load besides what is asked for, as in " +
		"'none,next(n=2)' (default: nothing; see cachesim prefetchers)"},
	sim.AllocatorKind: {flag: "allocate", list: "list of allocators, which divide the capacity among the tenants that " +
		"--tenant tells (default: shared, one pool for all)"},
	sim.ModelKind: {list: "list of models of the time that requests take (default: hits are counted only)"},
}

// registerLists adds a flag for each kind, which takes a list.
func (f *partFlags) registerLists(cmd *cobra.Command) {
	for _, kind := range sim.Kinds {
		f.register(cmd, kind, partFlagsOf[kind].list)
	}
}

// registerSingle adds the flags of some kinds, which take one part each.
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

// single adds to parts, which have a policy, one part of each kind that there is a flag for, if the policy works with
// such.
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

// asks reports whether a policy works with parts of the kind.
func asks(e policies.Entry, kind *sim.Kind) bool { return kind.AskedBy == nil || kind.AskedBy(e) }
