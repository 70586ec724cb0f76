// Package sets is the set-associative cache: a key can only be in the slots of one set, and requests come in batches
// that are looked up as a whole before their misses are loaded. It is HugeCTR's cache of embeddings
// (NVIDIA-Merlin/HugeCTR, gpu_cache), on which LCR (arXiv 2509.20979, section 4.1) builds.
package sets

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/traces"
)

var entry = cache.Entry{
	Name: "sets",
	Summary: "set-associative like the slab hash of HugeCTR: a key can only be in the slots of one set, and requests " +
		"come in batches that are looked up as a whole before their misses are loaded",
	Source: "NVIDIA-Merlin/HugeCTR, gpu_cache; LCR (arXiv 2509.20979), section 4.1",
	Params: []params.Param{
		{Name: "ways", Default: 64, Min: 1, Max: slabs.MaxWays, Doc: "slots of a set; the capacity is rounded down to " +
			"whole sets, and to one set of fewer slots below that"},
		{Name: "slabs", Default: 2, Min: 1, Max: slabs.MaxWays, Doc: "slabs that the slots of a set are divided into, in " +
			"equal shares"},
		{Name: "batch", Default: 128, Min: 1, Max: 1 << 30, Doc: "requests per batch if the trace does not group them"},
	},
	Metrics:     []metric.Metric{numSets, numSlots, numBatches, cache.NotAdmitted},
	ObjectsOnly: true,
	Check:       check,
	Admits:      cache.AdmitsWithoutContest,
	Associative: &cache.Associative{Describe: describe, Places: places, Batches: countBatches},
	New:         func(c cache.Config) (cache.Cache, error) { return newSets(c) },
	Types:       []any{(*sets)(nil)},
}

var (
	numSets  = metric.Metric{Name: "sets", Unit: metric.Count, Doc: "sets of the cache"}
	numSlots = metric.Metric{Name: "slots", Unit: metric.Count,
		Doc: "objects that fit: the capacity in whole sets"}
	numBatches = metric.Metric{Name: "batches", Unit: metric.Count,
		Doc: "served batches of requests, including the warm-up"}
)

// Entries are the caches of this package.
var Entries = []cache.Entry{entry}

func check(v params.Values, policy policies.Entry) error {
	switch ways, slabs := v.Int("ways"), v.Int("slabs"); {
	case ways%slabs != 0:
		return fmt.Errorf("cache sets: %d ways cannot be divided into %d slabs of equal size; choose a number of slabs "+
			"that divides the ways", ways, slabs)
	case policy.Unbounded:
		return fmt.Errorf("cache sets: policy %s ignores capacities, but a set has a fixed number of ways; use --cache "+
			"exact", policy.Name)
	case policy.Relates:
		return fmt.Errorf("cache sets: policy %s uses relations between objects, but each set decides for itself; use "+
			"--cache exact", policy.Name)
	}
	return nil
}

type sets struct {
	geometry *slabs.Geometry
	batches  batches
	policy   policies.SetsPolicy
	guard    *cache.Guard
	served   int // batches
	// What the last batch missed; only if Watch was called.
	keepMissed bool
	missed     []policies.Object
}

func newSets(c cache.Config) (*sets, error) {
	geometry, err := newGeometry(c.Trace, c.Capacity, c.Params)
	if err != nil {
		return nil, err
	}
	guard, err := cache.NewGuard(c)
	if err != nil {
		return nil, err
	}
	s := &sets{geometry: geometry, guard: guard, batches: batches{groups: c.Trace.Groups, size: c.Params.Int("batch"),
		length: len(c.Trace.Objects)}}
	if c.Policy.Entry.InSets == nil {
		s.policy, err = newPerSet(c, geometry, s.batches)
	} else {
		s.policy, err = c.Policy.Entry.InSets(policies.SetsConfig{Geometry: geometry, Params: c.Policy.Params,
			Predictor: c.Predictor})
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *sets) Serve(w cache.Window, n *cache.Counts) {
	for from := 0; from < len(w.Objects); {
		end := s.batches.end(w.First + from)
		to := min(end-w.First, len(w.Objects)) // a batch may go on in the next window
		var times []int64
		if w.Times != nil {
			times = w.Times[from:to]
		}
		s.see(w, from, to)
		n.Hits += int64(to - from - s.policy.LookUp(w.Objects[from:to], w.First+from, times))
		if w.First+to == end {
			if s.keepMissed {
				s.missed = append(s.missed[:0], s.policy.Missed()...)
			}
			if s.guard != nil {
				s.policy.Keep(func(o policies.Object) bool {
					return s.guard.Admits(policies.Request{Object: o, Size: 1, Pos: end - 1})
				})
			}
			n.Evictions += int64(s.policy.Load(end))
			s.served++
		}
		from = to
	}
	n.Requests += int64(len(w.Objects))
}

// see notifies the admission of requests. All those of a batch come before anything of it is loaded.
func (s *sets) see(w cache.Window, from, to int) {
	if s.guard == nil {
		return
	}
	for i := from; i < to; i++ {
		s.guard.See(policies.Request{Object: w.Objects[i], Size: 1, Pos: w.First + i})
	}
}

func (s *sets) Used() int64        { return s.policy.Used() }
func (s *sets) BatchStarts() []int { return s.batches.starts() }

// Watch returns a function that returns the distinct misses of the last batch. It is called before the first request.
func (s *sets) Watch() func() []policies.Object {
	s.keepMissed = true
	return func() []policies.Object { return s.missed }
}

func (s *sets) UseClock(clock predict.Worker) (background bool, err error) {
	if b, ok := s.policy.(policies.Background); ok {
		return b.UseClock(clock)
	}
	return false, nil
}

func (s *sets) Counters() []policies.Counter {
	counters := append(countersOf(s.geometry, s.served), s.guard.Counters()...)
	if reporter, ok := s.policy.(policies.Reporter); ok {
		counters = append(counters, reporter.Counters()...)
	}
	return counters
}

func countersOf(g *slabs.Geometry, batches int) []policies.Counter {
	return []policies.Counter{policies.Count(numSets, float64(g.Sets)), policies.Count(numSlots, float64(g.Sets*g.Ways)),
		policies.Count(numBatches, float64(batches))}
}

func describe(capacity int64, v params.Values, policy policies.Spec) (d cache.AssociativeCache, why string) {
	g, err := divide(capacity, v)
	if err != nil {
		return d, err.Error()
	}
	description, why := policy.Entry.DescribeInSets(policy.Params, g.Ways)
	d = cache.AssociativeCache{Geometry: g, Batch: v.Int("batch"), Replacement: description.Replacement}
	d.Counters = func(batches int, tally slabs.Tally) []policies.Counter {
		counters := countersOf(&g, batches)
		if description.Counters != nil {
			counters = append(counters, description.Counters(tally)...)
		}
		return counters
	}
	return d, why
}

// batches says where the batches of a trace end: with its groups or, if it has none, after every size requests.
type batches struct {
	groups []int // positions at which the batches still to come begin
	size   int
	length int // of the trace
}

// end returns the end of the batch that contains the request at pos. Positions must not decrease from call to call.
func (b *batches) end(pos int) int {
	if b.groups == nil {
		return min((pos/b.size+1)*b.size, b.length)
	}
	for len(b.groups) > 0 && b.groups[0] <= pos {
		b.groups = b.groups[1:]
	}
	if len(b.groups) == 0 {
		return b.length
	}
	return b.groups[0]
}

// starts returns the positions at which the batches begin. It is called before end.
func (b *batches) starts() []int {
	if b.groups != nil {
		return b.groups
	}
	var starts []int
	for at := 0; at < b.length; at += b.size {
		starts = append(starts, at)
	}
	return starts
}

func countBatches(t *traces.Trace, v params.Values) (count int) {
	b := batches{groups: t.Groups, size: v.Int("batch"), length: len(t.Objects)}
	if b.groups == nil {
		return (b.length + b.size - 1) / b.size
	}
	for pos := 0; pos < b.length; pos = b.end(pos) {
		count++
	}
	return count
}

// firstLookups returns where batches look up objects for the first time, and per batch where these positions end.
func (b batches) firstLookups(objects []policies.Object, count int) (firsts []uint32, ends []int) {
	lastBatch := make([]uint32, count) // per object: 1 + the last batch that looked it up
	for pos, end := 0, 0; pos < len(objects); {
		end = b.end(pos)
		for ; pos < end; pos++ {
			if o := objects[pos]; lastBatch[o] != uint32(len(ends)+1) {
				lastBatch[o] = uint32(len(ends) + 1)
				firsts = append(firsts, uint32(pos))
			}
		}
		ends = append(ends, len(firsts))
	}
	return firsts, ends
}
