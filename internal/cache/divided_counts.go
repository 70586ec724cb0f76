package cache

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
)

// mostTenantsReported is the number of tenants that a record lists one by one.
const mostTenantsReported = 20

// Counters implements Reporting: the counters of all policies, and the counts of tenants.
func (d *Divided) Counters() []policies.Counter {
	var all []policies.Counter
	for _, p := range d.pools {
		for _, c := range p.Counters() {
			at := slices.IndexFunc(all, func(have policies.Counter) bool { return have.Name() == c.Name() })
			if at < 0 {
				all = append(all, c)
			} else {
				all[at].Value += c.Value
			}
		}
	}
	return append(all, d.counted()...)
}

func (d *Divided) counted() []policies.Counter {
	d.hold()
	counters := []policies.Counter{policies.Count(allocate.TenantCount, float64(len(d.tallies)))}
	least, sum, with := 1.0, 0.0, 0
	for _, t := range d.tallies {
		if t.requests > 0 {
			least = min(least, t.hitRatio())
			sum += t.hitRatio()
			with++
		}
	}
	if with > 0 {
		counters = append(counters, policies.Count(allocate.LeastTenantHitRatio, least),
			policies.Count(allocate.MeanTenantHitRatio, sum/float64(with)))
	}
	if !d.shared {
		counters = append(counters, policies.Count(allocate.Divisions, float64(d.state.Epoch)),
			policies.Count(allocate.CapacityMoved, float64(d.moved)/float64(max(1, d.state.Capacity))))
	}
	for _, i := range d.largest() {
		counters = append(counters, d.ofTenant(i)...)
	}
	return counters
}

func (d *Divided) ofTenant(i int) (counters []policies.Counter) {
	t := d.tallies[i]
	add := func(m metric.Metric, value float64) {
		counters = append(counters, policies.CountOf(m, d.tenants[i], value))
	}
	add(allocate.TenantRequests, float64(t.requests))
	add(allocate.TenantHits, float64(t.hits))
	add(allocate.TenantHitRatio, t.hitRatio())
	if t.bytes > 0 {
		add(allocate.TenantBytes, float64(t.bytes))
		add(allocate.TenantHitBytes, float64(t.hitBytes))
		add(allocate.TenantByteHitRatio, float64(t.hitBytes)/float64(t.bytes))
	}
	if !d.shared && t.since > 0 {
		add(allocate.TenantCapacity, t.held/float64(t.since)/float64(max(1, d.state.Capacity)))
	}
	return counters
}

// hitRatio returns hits over requests, 0 without any.
func (t tally) hitRatio() float64 { return float64(t.hits) / float64(max(1, t.requests)) }

// largest returns the tenants with the most requests, in the order of their numbers; ties go to the lower number.
func (d *Divided) largest() []int {
	order := make([]int, len(d.tallies))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.tallies[b].requests, d.tallies[a].requests) })
	order = order[:min(len(order), mostTenantsReported)]
	slices.Sort(order)
	return order
}
