package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// The tables in this file say what fits what: of which capability of one part another part, or the trace, must have the
// counterpart. A refusal names the parts that would fit; they are found by trying them.

// PolicyKind is the name of the policy among the kinds of parts.
const PolicyKind = "policy"

// fit is what a part of one kind needs of a part of another.
type fit struct {
	of, with string // kinds
	does     string // what the part does that needs it, as in "serves prompts"
	// when reports whether the cell has such a part, fits whether the other one suits it. If there is no other one, it
	// does not.
	when, fits func(c *Cell) bool
}

const (
	servesHeads = "serves the heads of a language model"
	divides     = "divides the capacity"
	loadsAhead  = "loads what is not requested"
	admits      = "decides what is loaded, or written to tiers of storage"
	drivesTime  = "decides when requests are served, so that the future is unknown"
)

// partsFit is the table of what parts need of each other, in the order in which they are refused.
var partsFit = []fit{
	{PolicyKind, "cache", servesHeads, policyCan[policies.HeadServer], servesHeadsOf},
	{"retriever", "cache", "finds tokens for the heads of a language model", has("retriever"), servesHeadsOf},
	{PolicyKind, "reuse", "", policyCan[policies.Reuser], has("reuse")},
	{PolicyKind, "predictor", "", policyCan[policies.PredictorUser], has("predictor")},
	{PolicyKind, "cache", "knows the hits of some caches", func(c *Cell) bool { return c.Policy.Entry.Similar },
		func(c *Cell) bool { return cache.IsExact(c.Cache) || cache.ServesQueries(c.Cache) }},
	{PolicyKind, "cache", "bounds the misses of caches that serve prompts",
		func(c *Cell) bool { return c.Policy.Entry.Prompts },
		cacheCan[cache.Running]},
	{PolicyKind, "cache", "bounds the misses of the exact cache",
		func(c *Cell) bool { e := &c.Policy.Entry; return isBound(c) && !e.Similar && !e.Prompts },
		func(c *Cell) bool { return cache.IsExact(c.Cache) || c.Cache.Entry.Whole != nil }},
	{"prefetcher", "cache", loadsAhead, has("prefetcher"), cacheCan[cache.Prefetching]},
	{"prefetcher", PolicyKind, loadsAhead, has("prefetcher"), isNoBound},
	{"allocator", "cache", "keeps quotas of chunks, as --policy lmcache-lru has them, or --cache 'prefix(evict=chunk)'",
		func(c *Cell) bool { return cache.Sweeps(c.Allocator) }, divisible},
	{"allocator", "cache", divides, has("allocator"), divisible},
	{"allocator", PolicyKind, divides, has("allocator"),
		func(c *Cell) bool { return isNoBound(c) && !c.Policy.Entry.Unbounded }},
	{"allocator", PolicyKind, "gives tenants of prompts their shares", has("allocator"),
		func(c *Cell) bool { return cache.WorksWithQuotas(c.Cache, c.Allocator, c.Policy.Entry) }},
	{"admission", "cache", admits, has("admission"), func(c *Cell) bool { return c.Cache.Entry.Admits != nil }},
	{"admission", PolicyKind, admits, has("admission"), isNoBound},
	{"model", "cache", "", has("model"), modelServes},
	{"cache", "model", "", cacheCan[cache.Driven],
		func(c *Cell) bool { return c.Model != nil && modelServes(c) }},
	{"model", PolicyKind, drivesTime, hasTime, func(c *Cell) bool { return c.Policy.Entry.Kind == policies.Online }},
	{"model", "predictor", drivesTime, func(c *Cell) bool { return hasTime(c) && c.Predictor != nil },
		func(c *Cell) bool { return !c.Predictor.Entry.Future }},
	{"model", "allocator", drivesTime, func(c *Cell) bool { return hasTime(c) && c.Allocator != nil },
		func(c *Cell) bool { return !c.Allocator.Entry.Future || c.Allocator.Entry.Serving }},
	{"model", PolicyKind, "computes the hit ratios of LRU", func(c *Cell) bool { return approximates(c.Model) },
		func(c *Cell) bool {
			return !slices.ContainsFunc(c.policies(), func(s policies.Spec) bool { return !s.Entry.OnePass })
		}},
}

func policyCan[Capability any](c *Cell) bool { return policies.Can[Capability](c.Policy.Entry) }
func cacheCan[Capability any](c *Cell) bool  { return cache.Can[Capability](c.Cache.Entry) }
func servesHeadsOf(c *Cell) bool             { return cache.ServesHeads(c.Cache) }
func isBound(c *Cell) bool                   { return c.Policy.Entry.Kind == policies.Bound }
func isNoBound(c *Cell) bool                 { return !isBound(c) }
func hasTime(c *Cell) bool                   { return hasClock(c.Model) }
func divisible(c *Cell) bool                 { return cache.Divides(c.Cache, c.Allocator) }

func modelServes(c *Cell) bool {
	return c.Model.Entry.WorksOn(c.Cache.Entry.Name) || isAsynchronous(c.Model) && cacheCan[requests.Asynchronous](c)
}

// has returns whether cells have a part of a kind.
func has(kind string) func(*Cell) bool {
	return func(c *Cell) bool { return KindOf(kind).Of(&c.Parts) != nil }
}

func partName(c *Cell, kind string) string {
	if kind == PolicyKind {
		return c.Policy.Name()
	}
	if part := KindOf(kind).Of(&c.Parts); part != nil {
		return nameIn(part.String())
	}
	return ""
}

func checkFits(c *Cell) error {
	for _, f := range partsFit {
		if f.when(c) && !f.fits(c) {
			return f.refusal(c)
		}
	}
	return nil
}

// refusal says why the parts of a cell do not fit, and which would.
func (f *fit) refusal(c *Cell) error {
	who, other, names := f.of+" "+partName(c, f.of), partName(c, f.with), fitting(c, f.with)
	if other == "" {
		kind := KindOf(f.with)
		return fmt.Errorf("%s needs a %s; add --%s with one of: %s", who, cmp.Or(kind.Noun, kind.Name),
			cmp.Or(kind.Flag.Name, kind.Name), suggest.List(names))
	}
	if f.does != "" {
		who += " " + f.does + "; it"
	}
	in, plural := "with", "policies"
	switch {
	case f.with == CacheKind.Name && f.of == "model":
		in = "on"
	case f.with == CacheKind.Name:
		in = "in"
	case f.with == PolicyKind:
		var all []string // of the pools, if they have policies of their own
		for _, s := range c.policies() {
			all = append(all, s.Name())
		}
		other = suggest.List(slices.Compact(all))
	}
	if f.with != PolicyKind {
		plural = KindOf(f.with).Plural
	}
	text := fmt.Sprintf("%s does not work %s %s", who, in, other)
	if len(names) == 1 {
		plural = f.with
	}
	if len(names) > 0 {
		text = fmt.Sprintf("%s works %s the %s %s, not %s %s", who, in, plural, suggest.List(names), in, other)
	}
	if f.of != PolicyKind {
		if instead := fitting(c, f.of); len(instead) > 0 {
			text += "; or choose another " + f.of + ": " + suggest.List(instead)
		}
	}
	return errors.New(text)
}

// fitting returns the parts of a kind that fit the others of a cell.
func fitting(c *Cell, kind string) (names []string) {
	keepIfFit := func(name string, other Cell) {
		refuses := func(f fit) bool {
			return (f.of == kind || f.with == kind) && partName(&other, f.with) != "" && f.when(&other) && !f.fits(&other)
		}
		if !slices.ContainsFunc(partsFit, refuses) {
			names = append(names, name)
		}
	}
	if kind == PolicyKind {
		for _, e := range policies.Registry.All() {
			if other := *c; e.ShortFor == nil {
				other.Policy = policies.Spec{Entry: e, Params: params.Defaults(e.Params)}
				keepIfFit(e.Name, other)
			}
		}
		return names
	}
	if kind == CacheKind.Name { // also those that need parameters
		for _, e := range cache.Registry.All() {
			other := *c
			other.Cache = cache.Spec{Entry: e, Params: params.Defaults(e.Params)}
			keepIfFit(e.Name, other)
		}
		return names
	}
	for _, name := range KindOf(kind).Names() {
		other := *c
		if part, err := KindOf(kind).Parse(name); err == nil {
			if part.Into(&other.Parts); partName(&other, kind) == name {
				keepIfFit(name, other)
			}
		}
	}
	return names
}

// need is what a part of one kind needs of the trace.
type need struct {
	of   string
	does string // what the part does that needs it, as in "serves prompts"
	hint string // where traces have it
	when func(c *Cell) bool
	fits func(t *traces.Trace) bool
}

const withPrompts = "cachesim formats lists the formats with prompts"

// traceFits is the table of what parts need of the trace, in the order in which they are refused.
var traceFits = []need{
	{"prefetcher", "works on reads of files", "cachesim formats lists the formats with reads of files",
		func(c *Cell) bool { return c.Prefetcher != nil && c.Prefetcher.Entry.Files },
		func(t *traces.Trace) bool { return files.Of(t.Kind) != nil }},
	{"cache", "serves prompts", withPrompts, func(c *Cell) bool { return c.Cache.Entry.NeedsPrompts() }, hasPrompts},
	{PolicyKind, "follows prompts", withPrompts, policyCan[policies.PromptHolder], hasPrompts},
	{PolicyKind, "evicts by the priorities of prompts", "the format mooncake has them in the field priority",
		policyCan[policies.PriorityFollower],
		func(t *traces.Trace) bool { return prompts.Of(t.Kind).Priorities != nil }},
	{"cache", servesHeads, "cachesim gen attention makes some", servesHeadsOf,
		func(t *traces.Trace) bool { return attention.Of(t.Kind) != nil }},
	{"allocator", "divides a cache among tenants", "add --tenant, or tenants under the trace of an experiment",
		func(c *Cell) bool { return c.Allocator != nil && c.Cache.Entry.Pools == nil },
		func(t *traces.Trace) bool { return t.Tenants != nil }},
}

func hasPrompts(t *traces.Trace) bool { return prompts.Of(t.Kind) != nil }

func checkNeeds(c *Cell, t *traces.Trace) error {
	for _, n := range traceFits {
		if n.when(c) && !n.fits(t) {
			return fmt.Errorf("%s %s %s, but %s has none; %s", n.of, partName(c, n.of), n.does, t.Name, n.hint)
		}
	}
	return nil
}
