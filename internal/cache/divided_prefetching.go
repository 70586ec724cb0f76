package cache

import "github.com/cachesim/cachesim/internal/policies"

// prefetchingTenants is a divided cache that prefetches. A prefetched object is charged to its tenant; a stranger,
// which the trace never requests, to the tenant whose request it was proposed after.
type prefetchingTenants struct {
	Prefetching
	Tenanted
}

func newPrefetchingTenants(c Config) (*prefetchingTenants, error) {
	d, err := newDivided(c)
	if err != nil {
		return nil, err
	}
	d.strangers = make([]uint32, c.Room()-c.Trace.NumObjects)
	return &prefetchingTenants{NewPrefetching(c, d, c.NewPrefetcher(c.Capacity)), d}, nil
}

func (d *Divided) Capacity() int64                 { return d.state.Capacity }
func (d *Divided) Resident(o policies.Object) bool { return d.poolWith(o).Resident(o) }

func (d *Divided) Observe(o Observer) {
	for _, p := range d.pools {
		p.Observe(o)
	}
}

func (d *Divided) Load(r policies.Request) (loaded bool) {
	pool := d.poolWith(r.Object)
	return !pool.Resident(r.Object) && pool.Load(r)
}

// Expect implements Charging: a stranger belongs to the tenant of the last request, until it is proposed again.
func (d *Divided) Expect(o policies.Object) {
	if stranger := int(o) - len(d.owners); stranger >= 0 {
		d.strangers[stranger] = d.asking
	}
}
