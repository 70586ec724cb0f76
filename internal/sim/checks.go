package sim

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/cache/kv/reuse"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Check rejects a cell that cannot be replayed on this trace.
func (r *Replayer) Check(c Cell) error {
	if err := CheckUnits(c.Policy.Entry, c.Capacity.Bytes); err != nil && !c.Cache.Entry.Pages {
		return err
	}
	if err := CheckParts(c); err != nil {
		return err
	}
	c.Parts = c.Replayed()
	if err := r.checkOnTrace(c); err != nil {
		return err
	}
	switch {
	case c.Capacity.Bytes && len(r.sizedOnly().trace.Objects) <= r.sizedOnly().warmup:
		return fmt.Errorf("%s has no request of a size above 0; use capacities in objects, which ignore sizes", r.trace.Name)
	case policies.NeedsClock(c.Policy) && r.trace.Times == nil && !hasClock(c.Model):
		return fmt.Errorf("policy %s needs a clock, but %s has no times", c.Policy.Name(), r.trace.Name)
	case c.Cache.Entry.Attention && r.options.Warmup > 0:
		return fmt.Errorf("a warm-up of %d requests: the steps of the cache %s all count, as each head loads what it needs "+
			"in its first one; remove --warmup", r.options.Warmup, c.Cache.Name())
	case len(r.trace.Starts) > 0 && r.options.Warmup > 0:
		return fmt.Errorf("a warm-up of %d requests: each file of %s starts with an empty cache, so there is nothing to "+
			"warm up; remove --warmup", r.options.Warmup, r.trace.Name)
	}
	return checkSeries(c, r.view(c.Capacity).trace)
}

// checkOnTrace rejects parts that do not work on this trace.
func (r *Replayer) checkOnTrace(c Cell) error {
	if c.Cache.Entry.CheckTrace != nil {
		if err := c.Cache.Entry.CheckTrace(c.Cache.Params, r.trace); err != nil {
			return err
		}
	}
	if err := r.checkBlocks(c); err != nil {
		return err
	}
	if err := checkQueries(c, r.trace); err != nil {
		return err
	}
	if err := cmp.Or(checkWrites(c, r.trace), checkLabels(c, r.trace)); err != nil {
		return err
	}
	if c.Prefetcher != nil && c.Prefetcher.Entry.Files && files.Of(r.trace.Kind) == nil {
		return fmt.Errorf("prefetcher %s works on reads of files, but %s has none; cachesim formats lists the formats "+
			"with reads of files", c.Prefetcher.Name(), r.trace.Name)
	}
	if c.Prefetcher != nil && c.Cache.Entry.ServesPrompts(r.trace) {
		return fmt.Errorf("prefetcher %s: the cache %s loads the prompts of %s as chains; use tiers with --model "+
			"'prefill(prefetch=true)' instead", c.Prefetcher.Name(),
			c.Cache.Name(), r.trace.Name)
	}
	if c.Prefetcher != nil || c.Cache.Entry.Streams {
		if _, err := r.view(c.Capacity).addressesFor(c); err != nil {
			return err
		}
	}
	cache := c.Cache.Entry
	switch {
	case cache.ServesPrompts(r.trace) && prompts.Of(r.trace.Kind) != nil && r.options.Warmup >= len(r.trace.Groups):
		return fmt.Errorf("a warm-up of %d prompts: want a number from 0 to below the %d of the trace",
			r.options.Warmup, len(r.trace.Groups))
	case cache.Prompts && prompts.Of(r.trace.Kind) == nil:
		return fmt.Errorf("cache %s serves prompts, but %s has none; cachesim formats lists the "+
			"formats with prompts", cache.Name, r.trace.Name)
	case policies.Can[policies.PromptHolder](c.Policy.Entry) && prompts.Of(r.trace.Kind) == nil:
		return fmt.Errorf("policy %s follows prompts, but %s has none; cachesim formats lists the formats with prompts",
			c.Policy.Name(), r.trace.Name)
	case policies.Can[policies.PriorityFollower](c.Policy.Entry) && prompts.Of(r.trace.Kind).Priorities == nil:
		return fmt.Errorf("policy %s evicts by the priorities of prompts, but the prompts of %s have none; the format "+
			"mooncake has them in the field priority", c.Policy.Name(), r.trace.Name)
	case cache.Attention && attention.Of(r.trace.Kind) == nil:
		return fmt.Errorf("cache %s serves the heads of a language model, but %s has none; cachesim gen attention makes "+
			"some", cache.Name, r.trace.Name)
	case c.Allocator != nil && r.trace.Tenants == nil && cache.Pools == nil:
		return fmt.Errorf("allocator %s divides a cache among tenants, but the requests of %s have none; add --tenant, or "+
			"tenants under the trace of an experiment", c.Allocator.Name(), r.trace.Name)
	case c.Allocator != nil && cache.Pools == nil && r.trace.Tenants.OfPrompt != nil && !cache.ServesPrompts(r.trace):
		return fmt.Errorf("allocator %s: prompts of %s have tenants, but the cache %s cannot tell them apart; add --cache "+
			"prefix or 'tiers(host=10x)'", c.Allocator.Name(), r.trace.Name,
			cache.Name)
	case c.Allocator != nil && len(r.trace.Starts) > 0:
		return fmt.Errorf("allocator %s: %s is replayed file by file, each with an empty cache; remove --per-file",
			c.Allocator.Name(), r.trace.Name)
	case c.Model != nil && len(r.trace.Starts) > 0:
		return fmt.Errorf("model %s: %s is replayed file by file, each from time 0 on; remove --per-file",
			c.Model.Name(), r.trace.Name)
	}
	if c.Router != nil {
		if err := replicas.CheckTrace(*c.Router, r.trace, c.Model != nil); err != nil {
			return err
		}
	}
	if c.Model != nil && c.Model.Entry.Check != nil {
		return c.Model.Entry.Check(c.Model.Params, r.trace)
	}
	return nil
}

// CheckParts rejects policies, predictors, caches and models that do not fit together, whatever the trace.
func CheckParts(c Cell) error {
	if err := checkShort(c.Parts); err != nil {
		return err
	}
	c.Parts = c.Replayed()
	e, kind := c.Policy.Entry, c.Cache.Entry
	switch {
	case policies.Can[policies.HeadServer](e) && !kind.Attention:
		return fmt.Errorf("policy %s serves the heads of a language model; it works in the cache %s, not in %s", e.Name,
			kv.Name, kind.Name)
	case c.Retriever != nil && !kind.Attention:
		return fmt.Errorf("retriever %s: it finds tokens for the heads of a language model, in the cache %s, not in %s; "+
			"remove the retriever", c.Retriever.Name(), kv.Name, kind.Name)
	case policies.Can[policies.Reuser](e) && c.Reuse == nil:
		return fmt.Errorf("policy %s needs a reuse rule; add --reuse with one of: %s", e.Name,
			suggest.List(reuse.Registry.Names()))
	case policies.Can[policies.PredictorUser](e) && c.Predictor == nil:
		return fmt.Errorf("policy %s needs a predictor; add --predictor with one of: %s", e.Name,
			suggest.List(predict.Registry.Names()))
	case kind.Streams && c.Allocator != nil:
		return fmt.Errorf("cache %s divides the capacity among streams of accesses itself; remove the tenants and the "+
			"allocator %s", kind.Name, c.Allocator.Name())
	case kind.ObjectsOnly && c.Capacity.Bytes:
		return fmt.Errorf("cache %s works with capacities in objects only, not in bytes", kind.Name)
	case e.Similar && !cache.IsExact(c.Cache) && !kind.Queries:
		return fmt.Errorf("%s knows the hits of the caches exact and semantic only, not of %s", e.Name, kind.Name)
	case e.Prompts && !kind.Prompts && !kind.PromptsToo:
		return fmt.Errorf("%s is a bound for caches that serve prompts, not for %s", e.Name, kind.Name)
	case e.Kind == policies.Bound && !e.Similar && !e.Prompts && !cache.IsExact(c.Cache) && kind.Whole == nil:
		return fmt.Errorf("%s is a bound for the exact cache, not for %s", e.Name, kind.Name)
	case c.Prefetcher != nil && !kind.Prefetches:
		return fmt.Errorf("prefetcher %s: the cache %s loads only requested objects; prefetchers work in the cache %s",
			c.Prefetcher.Name(), kind.Name,
			strings.Join(cache.Registry.NamesOf(func(e *cache.Entry) bool { return e.Prefetches }), ", "))
	case c.Prefetcher != nil && e.Kind == policies.Bound:
		return fmt.Errorf("prefetcher %s: %s bounds the misses of caches that load only requested objects; remove one of "+
			"them",
			c.Prefetcher.Name(), e.Name)
	case c.Prefetcher != nil && c.Model != nil && prefetch.DelayOf(*c.Prefetcher) > 0:
		return fmt.Errorf("prefetcher %s: model %s says itself when objects arrive; remove %s", c.Prefetcher,
			c.Model.Name(), prefetch.Delay)
	case c.Allocator != nil && c.Allocator.Entry.Serving && kind.Pools == nil:
		return fmt.Errorf("allocator %s divides the memory of a node that serves recommendations; it works in the cache %s, "+
			"not in %s", c.Allocator.Name(), strings.Join(cache.WithPools(), ", "), kind.Name)
	case c.Allocator != nil && kind.Shared && !kind.Divides && !c.Allocator.Entry.Shared:
		why, instead := "what capacity is worth to a tenant depends on all tiers", ", or use the exact cache"
		if kind.Prompts {
			why, instead = "prompts of several tenants hit the same blocks", ""
		}
		return fmt.Errorf("allocator %s: the tenants share the cache %s, which cannot be divided, since %s; write "+
			"--allocate shared%s", c.Allocator.Name(), kind.Name, why, instead)
	case c.Allocator != nil && !kind.Shared && kind.Pools == nil:
		return fmt.Errorf("allocator %s: the cache %s has no pools to divide the capacity among; use the exact cache",
			c.Allocator.Name(), kind.Name)
	case c.Allocator != nil && e.Kind == policies.Bound:
		return fmt.Errorf("allocator %s: %s bounds the misses of a cache that is not divided", c.Allocator.Name(), e.Name)
	case c.Allocator != nil && e.Unbounded:
		return fmt.Errorf("allocator %s: %s ignores the capacity, so there is nothing to divide",
			c.Allocator.Name(), e.Name)
	case c.Admission != nil && kind.Admits == nil:
		return fmt.Errorf("admission %s decides what is written to tiers of storage, which the cache %s does not have; add "+
			"--cache 'tiers(flash=10x)'", c.Admission.Name(), kind.Name)
	case c.Admission != nil && e.Kind == policies.Bound:
		return fmt.Errorf("admission %s: %s bounds the misses of caches that load what is requested; remove one of them",
			c.Admission.Name(), e.Name)
	case c.Admission != nil && c.Admission.Entry.Sizes && !c.Capacity.Bytes:
		return fmt.Errorf("admission %s decides by sizes, but capacities count objects; add --bytes",
			c.Admission.Name())
	case c.Model != nil && !c.Model.Entry.WorksOn(kind.Name) && !(isAsynchronous(c.Model) && kind.Asynchronous):
		return fmt.Errorf("model %s works on the cache %s, not on %s; add --cache %s", c.Model.Name(),
			c.Model.Entry.Cache, kind.Name, c.Model.Entry.Cache)
	}
	if c.Router != nil {
		if err := checkRouter(c); err != nil {
			return err
		}
	} else if kind.Shares != nil && kind.Shares(c.Cache.Params) {
		return fmt.Errorf("cache %s: there is one node, so that nothing is shared; add --nodes 8, or remove shared",
			c.Cache)
	}
	if c.Predictor != nil {
		if err := predict.CheckSimilar(*c.Predictor, cache.AnswersSimilar(c.Cache)); err != nil {
			return err
		}
	}
	if kind.Modelled && c.Model == nil {
		return fmt.Errorf("cache %s needs a model of time, which says when requests are served; add --model with one of: %s",
			kind.Name, strings.Join(modelsOf(kind.Name), ", "))
	}
	if hasClock(c.Model) {
		if err := checkPast(c); err != nil {
			return err
		}
	}
	if approximates(c.Model) {
		for _, p := range c.policies() {
			if !p.Entry.OnePass {
				return fmt.Errorf("model %s computes the hit ratios of LRU, not of %s; use LRU, or a model that serves "+
					"requests: %s", c.Model.Name(), p, strings.Join(servingModels(kind.Name), ", "))
			}
		}
	}
	if c.Allocator != nil && kind.CheckAllocator != nil {
		if err := kind.CheckAllocator(c.Cache.Params, *c.Allocator); err != nil {
			return err
		}
		if approximates(c.Model) {
			if err := checkMeasured(c); err != nil {
				return err
			}
		}
	}
	if c.Admission != nil {
		if err := kind.Admits(c.Cache.Params); err != nil {
			return fmt.Errorf("admission %s: %w", c.Admission.Name(), err)
		}
	}
	if c.Model != nil && kind.CheckModel != nil {
		if err := kind.CheckModel(c.Model.Name(), c.Cache.Params, c.Prefetcher != nil); err != nil {
			return err
		}
	}
	if kind.Attention {
		return kv.Check(headsCell(c))
	}
	if kind.Check != nil {
		return kind.Check(c.Cache.Params, e)
	}
	return nil
}

// checkMeasured rejects an allocator that needs measurements of requests under a model that serves none.
func checkMeasured(c Cell) error {
	a, err := allocate.New(*c.Allocator, c.Cache.Entry.Pools)
	if err != nil {
		return err
	}
	if needs := a.Needs(); needs.Footprint || needs.Curves != nil && !needs.Forecast {
		return fmt.Errorf("model %s serves no requests, but allocator %s measures them; choose another allocator, or a "+
			"model that serves requests: %s", c.Model.Name(), c.Allocator.Name(),
			strings.Join(servingModels(c.Cache.Entry.Name), ", "))
	}
	return nil
}

// isAsynchronous reports whether objects arrive in the cache after they were requested.
func isAsynchronous(m *models.Spec) bool { return m != nil && m.Entry.Asynchronous }

// drives reports whether the model serves the requests from the cache itself.
func drives(m *models.Spec) bool { return m != nil && m.Entry.Drives }

// approximates reports whether the model computes what is served from loads, so that nothing becomes resident.
func approximates(m *models.Spec) bool { return m != nil && m.Entry.Approximates }

// hasClock reports whether the model decides about the times and the order in which the cache serves requests.
func hasClock(m *models.Spec) bool { return isAsynchronous(m) || drives(m) }

// policies returns the policies of a replay: one, or those of the pools of its cache.
func (p *Parts) policies() []policies.Spec {
	if of := p.Cache.Entry.Policies; of != nil {
		return of(p.Cache.Params, p.Policy)
	}
	return []policies.Spec{p.Policy}
}

// servingModels returns the names of the models that serve requests from a kind of cache.
func servingModels(cache string) []string {
	return models.Registry.NamesOf(func(e *models.Entry) bool { return e.WorksOn(cache) && !e.Approximates })
}

// modelsOf returns the names of the models that work on a kind of cache.
func modelsOf(cache string) []string {
	return models.Registry.NamesOf(func(e *models.Entry) bool { return e.WorksOn(cache) })
}

// checkPast rejects parts that know the future of the trace: under a model that delays objects it is another future.
func checkPast(c Cell) error {
	name := c.Model.Name()
	const why = "in this model the order of requests and loads depends on the cache"
	switch e := c.Policy.Entry; {
	case e.Kind == policies.Bound:
		return fmt.Errorf("model %s: %s is a bound on the misses of a trace, but %s; leave it out", name, e.Name, why)
	case e.Kind != policies.Online:
		return fmt.Errorf("model %s: %s knows when the trace requests an object again, but %s; use a policy that knows only "+
			"the past (see: cachesim policies)", name, e.Name, why)
	case c.Predictor != nil && c.Predictor.Entry.Future:
		return fmt.Errorf("model %s: predictor %s knows when the trace requests an object again, but %s; use one that knows "+
			"only the past (see: cachesim predictors)", name, c.Predictor.Name(), why)
	case c.Allocator != nil && c.Allocator.Entry.Future && !c.Allocator.Entry.Serving:
		return fmt.Errorf("model %s: allocator %s knows the requests of the trace, but %s; use one that knows only the past "+
			"(see: cachesim allocators)", name, c.Allocator.Name(), why)
	}
	return nil
}

// CheckWarmup rejects a warm-up that leaves nothing to count: n is a number of requests or, in caches that serve
// prompts, of prompts.
func CheckWarmup(t *traces.Trace, n int) error {
	if n < 0 || n >= len(t.Objects) {
		return fmt.Errorf("a warm-up of %d requests: want a number from 0 to below the %d of the trace", n, len(t.Objects))
	}
	return nil
}

// CheckUnits rejects a policy that does not support the unit of a capacity.
func CheckUnits(e policies.Entry, bytes bool) error {
	switch {
	case bytes && e.Units == policies.UnitsObjects:
		return fmt.Errorf("policy %s works with capacities in objects only, not in bytes", e.Name)
	case !bytes && e.Units == policies.UnitsBytes:
		return fmt.Errorf("policy %s works with capacities in bytes only (write 64MiB, or 1%% with --bytes)", e.Name)
	}
	return nil
}
