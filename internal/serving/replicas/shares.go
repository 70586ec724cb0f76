package replicas

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Shares is a cache of the prompts of several tenants that share no blocks, each of which has a fixed share of it: what
// a tenant finds is what it would find alone in a cache of its share. Without a model of time, as many prompts run at a
// time as the concurrency says, of all tenants together.
//
// It implements cache.Cache, cache.Running, cache.Reporting, cache.Occupied and cache.Tenanted.
type Shares struct {
	cache.InFlight
	trace    *traces.Trace
	of       []cache.Replica // per tenant
	capacity []int64         // likewise
	whole    int64
	counts   *cache.TenantCounts
}

// NewShares returns the empty caches of all tenants, each with the share that the allocator of config gives it.
func NewShares(entry cache.Entry, config cache.Config) (*Shares, error) {
	names := config.Trace.Tenants.Names
	capacity, err := allocate.Shares(*config.Allocator, names, config.Capacity)
	if err != nil {
		return nil, err
	}
	var sweep *allocate.Sweep
	if sweeps := config.Allocator.Entry.Sweeps; sweeps != nil {
		sweep = new(sweeps(config.Allocator.Params))
	}
	s := &Shares{trace: config.Trace, of: make([]cache.Replica, len(names)), capacity: capacity, whole: config.Capacity,
		counts: cache.NewSharing(config)}
	for tenant := range names {
		own := config
		own.Allocator, own.Capacity, own.Sweep = nil, s.capacity[tenant], sweep
		if own.Capacity == 0 && sweep == nil {
			return nil, fmt.Errorf("tenant %s: its share is less than a block; want more capacity, or another share",
				names[tenant])
		}
		if s.of[tenant], err = CachesOf(entry, own)(tenant); err != nil {
			return nil, fmt.Errorf("tenant %s: %w", names[tenant], err)
		}
		s.AtOnce = s.of[tenant].AtOnce()
	}
	return s, nil
}

// Serve implements cache.Cache.
func (s *Shares) Serve(w cache.Window, n *cache.Counts) { s.InFlight.Serve(s, w, n) }

func (s *Shares) tenant(prompt int) cache.Replica { return s.of[s.trace.Tenants.OfPrompt[prompt]] }

// Begin implements cache.Running.
func (s *Shares) Begin(prompt int, n *cache.Counts) (hitTokens int64) {
	before := *n
	hitTokens = s.tenant(prompt).Begin(prompt, n)
	s.counts.CountPrompt(prompt, n.Minus(before))
	return hitTokens
}

func (s *Shares) Finish(prompt int) { s.tenant(prompt).Finish(prompt) }

func (s *Shares) Used() (used int64) {
	for _, of := range s.of {
		used += of.Used()
	}
	return used
}

// Counters implements cache.Reporting: those of all caches, and the counts and the shares of tenants.
func (s *Shares) Counters() (all []policies.Counter) {
	for _, of := range s.of {
		all = cache.AddCounters(all, of.Counters())
	}
	all = append(append(all, s.counts.Counters()...), policies.Count(allocate.Divisions, 1),
		policies.Count(allocate.CapacityMoved, 0))
	for _, tenant := range s.counts.Reported() {
		all = append(all, policies.CountOf(allocate.TenantCapacity, s.trace.Tenants.Names[tenant],
			float64(s.capacity[tenant])/float64(max(1, s.whole))))
	}
	return all
}

// Tenants implements cache.Tenanted.
func (s *Shares) Tenants() []cache.Tenant {
	all := s.counts.Tenants()
	for i := range all {
		all[i].Quota, all[i].Used = s.capacity[i], s.of[i].Used()
	}
	return all
}
