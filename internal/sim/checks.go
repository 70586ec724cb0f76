package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/windows"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Check rejects a cell that cannot be replayed on this trace.
func (r *Replayer) Check(c Cell) error {
	err := r.check(c)
	if err != nil && c.Policy.Entry.ShortFor != nil && !strings.Contains(err.Error(), c.Policy.Name()) {
		return fmt.Errorf("policy %s: %w", c.Policy.Name(), err)
	}
	return err
}

func (r *Replayer) check(c Cell) error {
	if err := CheckUnits(c.Policy.Entry, c.Capacity.Bytes); err != nil && !cache.HasPools(c.Cache) {
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
		return fmt.Errorf("policy %s needs times, but %s has none; name their column, as in --input-format csv:time=1, "+
			"or choose another policy", c.Policy.Name(), r.trace.Name)
	case cache.ServesHeads(c.Cache) && r.options.Warmup > 0:
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
	err := cmp.Or(r.checkBlocks(c), checkQueries(c, r.trace), checkWrites(c, r.trace), checkLabels(c, r.trace),
		checkNeeds(&c, r.trace))
	if err != nil {
		return err
	}
	if c.Prefetcher != nil && c.Cache.Entry.ServesPrompts(r.trace) {
		return fmt.Errorf("prefetcher %s: the cache %s loads the prompts of %s as chains; use tiers with --model "+
			"'prefill(prefetch=true)' instead", c.Prefetcher.Name(),
			c.Cache.Name(), r.trace.Name)
	}
	if c.Prefetcher != nil || cache.HasStreams(c.Cache) {
		if _, err := r.view(c.Capacity).addressesFor(c); err != nil {
			return err
		}
	}
	cache, quotas := c.Cache.Entry, cache.CheckQuotas(c.Cache, c.Allocator, r.trace)
	switch {
	case cache.ServesPrompts(r.trace) && prompts.Of(r.trace.Kind) != nil && r.options.Warmup >= len(r.trace.Groups):
		return fmt.Errorf("a warm-up of %d prompts: want a number from 0 to below the %d of the trace",
			r.options.Warmup, len(r.trace.Groups))
	case c.Allocator != nil && cache.Pools == nil && r.trace.Tenants.OfPrompt != nil && !cache.ServesPrompts(r.trace):
		return fmt.Errorf("allocator %s: prompts of %s have tenants, but the cache %s cannot tell them apart; add --cache "+
			"prefix or 'tiers(host=10x)'", c.Allocator.Name(), r.trace.Name,
			cache.Name)
	case quotas != nil:
		return fmt.Errorf("allocator %s: %w", c.Allocator, quotas)
	case c.Allocator != nil && len(r.trace.Starts) > 0:
		return fmt.Errorf("allocator %s: %s is replayed file by file, each with an empty cache; remove --per-file",
			c.Allocator.Name(), r.trace.Name)
	case c.Model != nil && len(r.trace.Starts) > 0:
		return fmt.Errorf("model %s: %s is replayed file by file, each from time 0 on; remove --per-file",
			c.Model.Name(), r.trace.Name)
	}
	if err = r.checkNodes(c); err == nil && c.Model != nil && c.Model.Entry.Check != nil {
		err = c.Model.Entry.Check(c.Model.Params, r.trace)
	}
	return err
}

// CheckParts rejects policies, predictors, caches and models that do not fit together, whatever the trace.
func CheckParts(c Cell) error {
	if err := checkShort(c.Parts); err != nil {
		return err
	}
	c.Parts = c.Replayed()
	e, kind := c.Policy.Entry, c.Cache.Entry
	if err := checkFits(&c); err != nil {
		return err
	}
	switch {
	case kind.ObjectsOnly && c.Capacity.Bytes:
		return fmt.Errorf("cache %s works with capacities in objects only, not in bytes; remove --bytes, and write "+
			"numbers of objects or shares", kind.Name)
	case c.Admission != nil && c.Admission.Entry.Sizes && kind.ObjectsOnly:
		return fmt.Errorf("admission %s decides by sizes, but capacities of cache %s count objects only; use another "+
			"admission, such as second", c.Admission.Name(), kind.Name)
	case c.Admission != nil && c.Admission.Entry.Sizes && !c.Capacity.Bytes:
		return fmt.Errorf("admission %s decides by sizes, but capacities count objects; add --bytes", c.Admission.Name())
	case c.Prefetcher != nil && c.Model != nil && prefetch.DelayOf(*c.Prefetcher) > 0:
		return fmt.Errorf("prefetcher %s: model %s says itself when objects arrive; remove %s", c.Prefetcher,
			c.Model.Name(), prefetch.Delay)
	}
	var err error
	if c.Router != nil {
		err = checkRouter(c)
	} else if kind.Shares != nil && kind.Shares(c.Cache.Params) {
		err = fmt.Errorf("cache %s: there is one node, so that nothing is shared; add --nodes 8, or remove shared", c.Cache)
	}
	if err == nil && c.Predictor != nil {
		err = predict.CheckSimilar(*c.Predictor, cache.AnswersSimilar(c.Cache))
	}
	if err == nil && c.Allocator != nil && kind.CheckAllocator != nil {
		err = kind.CheckAllocator(c.Cache.Params, *c.Allocator)
		if err == nil && approximates(c.Model) {
			err = checkMeasured(c)
		}
	}
	if err == nil && c.Admission != nil {
		if err = kind.Admits(c.Cache.Params, c.Admission.Entry); err != nil {
			err = fmt.Errorf("admission %s: %w", c.Admission.Name(), err)
		}
	}
	if err == nil && c.Model != nil && kind.CheckModel != nil {
		err = kind.CheckModel(c.Model.Name(), c.Cache.Params, c.Prefetcher != nil)
	}
	switch {
	case err != nil:
		return err
	case cache.ServesHeads(c.Cache):
		return kv.Check(headsCell(c))
	case kind.Check != nil:
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
			strings.Join(models.Registry.NamesOf(func(e *models.Entry) bool {
				return e.WorksOn(c.Cache.Entry.Name) && !e.Approximates
			}), ", "))
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
		return fmt.Errorf("policy %s works with capacities in objects only, not in bytes; remove --bytes, and write "+
			"numbers of objects or shares", e.Name)
	case !bytes && e.Units == policies.UnitsBytes:
		return fmt.Errorf("policy %s works with capacities in bytes only (write 64MiB, or 1%% with --bytes)", e.Name)
	}
	return nil
}

// checkSeries rejects a series that a replay of t cannot have, or that would be too long.
func checkSeries(c Cell, t *traces.Trace) error {
	if !c.Series.IsSet() {
		return nil
	}
	if cache.ServesHeads(c.Cache) {
		return checkSeriesOfHeads(c.Series, attention.Of(t.Kind).Shape)
	}
	if c.Allocator != nil && t.Tenants != nil {
		if n := len(t.Tenants.Names); n > windows.MostTenants {
			return fmt.Errorf("series %s: %s has %d tenants, more than %d; remove the series, or use a column or prefix with "+
				"fewer values", c.Series, t.Name, n, windows.MostTenants)
		}
	}
	if err := checkOrigin(c, t); err != nil {
		return err
	}
	switch {
	case c.Series.Span == 0:
		return c.Series.CheckRequests(int64(len(t.Objects)))
	case hasClock(c.Model): // how long the run takes is known at its end
		return nil
	case c.Model != nil:
		return fmt.Errorf("series %s: the model %s has its own clock; give a number of requests instead", c.Series,
			c.Model.Name())
	case t.Times == nil:
		return fmt.Errorf("series %s: %s has no times; give a number of requests instead", c.Series, t.Name)
	}
	for _, part := range t.Parts() {
		if err := c.Series.CheckSpan(time.Duration(slices.Max(part.Times) - part.Times[0])); err != nil {
			return err
		}
	}
	return nil
}

// checkOrigin rejects misses per second where time is unknown.
func checkOrigin(c Cell, t *traces.Trace) error {
	window := c.Series
	switch {
	case !windows.SeesOrigin(window):
		return nil
	case c.Model != nil:
		return fmt.Errorf("series %s: the model %s has its own clock, so the misses per second of the trace's are unknown; "+
			"remove the model", window, c.Model.Name())
	case window.Span == 0:
		return fmt.Errorf("series %s: misses per second need windows of time, such as 1m", window)
	case t.Times == nil:
		return fmt.Errorf("--origin, or misses per second in --series: %s has no times; name their column, as in "+
			"--input-format csv:time=1", t.Name)
	case len(t.Starts) > 0:
		return fmt.Errorf("series %s: each file has a clock of its own, so misses per second of all are unknown; replay "+
			"one file at a time", window)
	}
	return windows.CheckMinutes(window, t)
}

// Tally is what a replay counted.
type Tally = feed.Tally

// checkLabels rejects parts whose hits cannot be counted by labels.
func checkLabels(c Cell, t *traces.Trace) error {
	switch {
	case t.Labels == nil:
		return nil
	case c.Model != nil:
		return fmt.Errorf("--by %s: the model %s serves requests on a clock of its own, and does not count their hits by "+
			"labels; remove the model", t.Labels.Column, c.Model.Name())
	case c.Router != nil && c.Cache.Entry.ServesPrompts(t):
		return fmt.Errorf("--by %s: prompts on several nodes are not counted by labels; remove --nodes", t.Labels.Column)
	case cache.ServesHeads(c.Cache):
		return fmt.Errorf("--by %s: the heads of a language model have no labels", t.Labels.Column)
	}
	return nil
}

// checkWrites rejects parts that cannot replay what writes, deletions and times to live do in a trace.
func checkWrites(c Cell, t *traces.Trace) error {
	if len(t.Removals) == 0 && (t.Ops == nil || !t.Fills()) && t.Written.Passing == 0 {
		return nil
	}
	what := fmt.Sprintf("cannot follow what takes objects out of a cache, or fills it (%s: %s)", t.Name, t.Written.Text())
	instead := "read the trace with --writes count, without deletions (the option ops=accesses of its format) and " +
		"without times to live"
	if t.Written.Lookups > 0 {
		what = fmt.Sprintf("cannot follow requests that load nothing (%s: %s)", t.Name, t.Written.Text())
		instead = "read these as others (uncached=load in access logs, op=none or served=none in tables)"
	}
	switch {
	case c.Model != nil:
		return fmt.Errorf("model %s serves requests on a clock of its own, and %s; remove the model, or %s",
			c.Model.Name(), what, instead)
	case !cache.Can[cache.Dropping](c.Cache.Entry):
		return fmt.Errorf("cache %s serves groups of requests as a whole, and %s; use the exact cache, or %s",
			c.Cache.Name(), what, instead)
	}
	return nil
}
