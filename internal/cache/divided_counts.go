package cache

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
)

// mostReported is the number of tenants, or of streams, that a record lists one by one.
const mostReported = 20

// Counters implements Reporting: the counters of all policies, and the counts of tenants.
func (d *Divided) Counters() []policies.Counter {
	var all []policies.Counter
	for _, p := range d.pools {
		all = AddCounters(all, p.Counters())
	}
	return append(all, d.counted()...)
}

// AddCounters adds counters of a further policy to those of others, as if one policy served all.
func AddCounters(all, more []policies.Counter) []policies.Counter {
	for _, c := range more {
		if at := slices.IndexFunc(all, func(have policies.Counter) bool { return have.Name() == c.Name() }); at >= 0 {
			all[at].Value += c.Value
		} else {
			all = append(all, c)
		}
	}
	return all
}

func (d *Divided) counted() []policies.Counter {
	d.hold()
	counters := d.TenantCounts.means()
	if !d.shared {
		counters = append(counters, policies.Count(allocate.Divisions, float64(d.state.Epoch)),
			policies.Count(allocate.CapacityMoved, float64(d.moved)/float64(max(1, d.state.Capacity))))
	}
	for _, i := range d.largest() {
		counters = append(counters, d.ofTenant(i)...)
		if h := d.held[i]; !d.shared && h.since > 0 {
			counters = append(counters, policies.CountOf(allocate.TenantCapacity, d.tenants[i],
				h.sum/float64(h.since)/float64(max(1, d.state.Capacity))))
		}
	}
	return counters
}

// TenantCounts are the requests and hits of each tenant.
type TenantCounts struct {
	tenants []string
	owners  []uint32 // per object: the number of its tenant; nil for prompts
	prompts []uint32 // per prompt: likewise; nil for anything else
	firsts  []int    // per prompt: the position of its first request
	tallies []Counts // per tenant
	sized   bool     // capacities count bytes
	warmup  int      // requests that do not count
	served  int
	split   int // keys of several tenants
}

func NewTenantCounts(c Config) TenantCounts {
	tenants := c.Trace.Tenants
	return TenantCounts{tenants: tenants.Names, owners: tenants.Of, prompts: tenants.OfPrompt, firsts: c.Trace.Groups,
		tallies: make([]Counts, len(tenants.Names)), sized: !c.Unit, warmup: c.Warmup,
		split: tenants.Shared}
}

// NewSharing returns the counts of the tenants who share a cache; nil, which counts nothing, if there are none.
func NewSharing(c Config) *TenantCounts {
	if c.Allocator == nil {
		return nil
	}
	counts := NewTenantCounts(c)
	return &counts
}

// CountPrompt counts a prompt for its tenant, given what happened when it began.
func (t *TenantCounts) CountPrompt(prompt int, n Counts) {
	if t == nil || t.firsts[prompt] < t.warmup {
		return
	}
	of := &t.tallies[t.prompts[prompt]]
	*of = of.Plus(n)
}

func (t *TenantCounts) Count(r policies.Request, hit bool) {
	if t == nil {
		return
	}
	if t.served++; t.served <= t.warmup {
		return
	}
	of, size := &t.tallies[t.owners[r.Object]], r.Size
	if !t.sized {
		size = 0
	}
	of.Requests++
	of.Bytes += size
	if hit {
		of.Hits++
		of.HitBytes += size
	}
}

// Tenants returns the state of every tenant, in the order of their numbers, as far as counts have it.
func (t *TenantCounts) Tenants() []Tenant {
	if t == nil {
		return nil
	}
	all := make([]Tenant, len(t.tenants))
	for i, name := range t.tenants {
		all[i] = Tenant{Name: name, Requests: t.tallies[i].Requests, Hits: t.tallies[i].Hits}
	}
	return all
}

func (t *TenantCounts) Counters() []policies.Counter {
	if t == nil {
		return nil
	}
	counters := t.means()
	for _, i := range t.largest() {
		counters = append(counters, t.ofTenant(i)...)
	}
	return counters
}

func (t *TenantCounts) means() []policies.Counter {
	counters := []policies.Counter{policies.Count(allocate.TenantCount, float64(len(t.tallies)))}
	if t.split > 0 {
		counters = append(counters, policies.Count(allocate.SharedKeys, float64(t.split)))
	}
	least, sum, with := 1.0, 0.0, 0
	for _, of := range t.tallies {
		if of.Requests > 0 {
			least = min(least, of.hitRatio())
			sum += of.hitRatio()
			with++
		}
	}
	if with > 0 {
		counters = append(counters, policies.Count(allocate.LeastTenantHitRatio, least),
			policies.Count(allocate.MeanTenantHitRatio, sum/float64(with)))
	}
	return counters
}

func (t *TenantCounts) ofTenant(i int) (counters []policies.Counter) {
	of := t.tallies[i]
	add := func(m metric.Metric, value float64) {
		counters = append(counters, policies.CountOf(m, t.tenants[i], value))
	}
	add(allocate.TenantRequests, float64(of.Requests))
	add(allocate.TenantHits, float64(of.Hits))
	add(allocate.TenantHitRatio, of.hitRatio())
	if of.Bytes > 0 {
		add(allocate.TenantBytes, float64(of.Bytes))
		add(allocate.TenantHitBytes, float64(of.HitBytes))
		add(allocate.TenantByteHitRatio, float64(of.HitBytes)/float64(of.Bytes))
	}
	if of.Prompts > 0 {
		add(allocate.TenantPrompts, float64(of.Prompts))
		add(allocate.TenantTokens, float64(of.Tokens))
		add(allocate.TenantHitTokens, float64(of.HitTokens))
		add(allocate.TenantTokenHitRatio, float64(of.HitTokens)/float64(of.Tokens))
	}
	return counters
}

// hitRatio returns hits over requests, 0 without any.
func (c Counts) hitRatio() float64 { return float64(c.Hits) / float64(max(1, c.Requests)) }

// Reported returns the tenants that Counters reports one by one.
func (t *TenantCounts) Reported() []int { return t.largest() }

// largest returns the tenants with the most requests, in the order of their numbers.
func (t *TenantCounts) largest() []int {
	return Largest(len(t.tallies), func(i int) int64 { return t.tallies[i].Requests })
}

// Largest returns which of n parts have the most requests and are reported, in their order; ties go to earlier ones.
func Largest(n int, requests func(i int) int64) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(requests(b), requests(a)) })
	order = order[:min(n, mostReported)]
	slices.Sort(order)
	return order
}
