package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
)

// Divided is the exact cache of several tenants. Either each tenant has a pool, and an allocator divides the capacity
// among them, or they share one pool. An object belongs to one tenant.
//
// Memory in addition to the pools: 4 bytes per object of the trace, 4 more if the allocator needs footprints, and the
// monitors of its curves. It implements requests.Asynchronous, Occupied, Cache and Store.
type Divided struct {
	NoProposals
	allocator allocate.Allocator
	needs     allocate.Needs
	shared    bool            // one pool for all tenants
	strangers []uint32        // per number behind the trace's: the tenant for which it was prefetched
	asking    uint32          // the tenant of the last request, if the cache prefetches
	pools     []*Pool         // per tenant, or one for several
	of        []int           // per tenant: its pool
	sharing   []int           // per pool: how many tenants have it
	data      []allocate.Pool // per pool: Data and MeanBytes; nil unless the allocator needs them
	monitors  []*allocate.Monitor
	patterns  *patterns // nil unless the allocator needs them
	seen      []uint32  // per object: 1 + the last epoch in which it was requested; nil unless footprints count

	state   allocate.State
	targets []int64
	next    int64 // requests after which the allocator is called again; 0: never
	late    int64 // time at which it is called next; only with needs.Period
	since   int64 // time of the previous call, or of the first request
	started bool  // late and since are set
	clock   bool  // requests have times

	TenantCounts
	held  []held // per tenant
	moved int64  // capacity that pools were given after the first division
}

// held is the sum of a tenant's capacity over all counted requests; since is the number of these at the last update.
type held struct {
	sum   float64
	since int64
}

func newDivided(c Config) (*Divided, error) {
	tenants := c.Trace.Tenants
	names := tenants.Names
	shared := c.Allocator.Entry.Shared
	if shared {
		names = []string{"all"}
	}
	allocator, err := allocate.New(*c.Allocator, names)
	if err != nil {
		return nil, err
	}
	of := make([]int, len(tenants.Names))
	if pooling, ok := allocator.(allocate.Pooling); ok {
		of, names = pooling.Pools()
	} else if !shared {
		for tenant := range of {
			of[tenant] = tenant
		}
	}
	sharing := make([]int, len(names))
	for _, pool := range of {
		sharing[pool]++
	}
	d := &Divided{
		shared: shared, of: of, sharing: sharing, allocator: allocator, needs: allocator.Needs(),
		TenantCounts: NewTenantCounts(c), held: make([]held, len(tenants.Names)),
		pools: make([]*Pool, len(names)), targets: make([]int64, len(names)),
		state: allocate.State{Capacity: c.Capacity, Unit: c.Unit, Pools: make([]allocate.Pool, len(names))},
	}
	if d.clock = c.Trace.Times != nil || c.Asynchronous; !d.clock && d.needs.Period > 0 {
		d.needs.Period, d.needs.Every = 0, d.needs.Unclocked
	}
	if d.needs.Footprint {
		d.seen = make([]uint32, c.Trace.NumObjects)
	}
	if d.needs.Data {
		d.sizeData(c)
	}
	if d.needs.Streams {
		d.patterns = newPatterns(c, d.needs.Ghosts)
	}
	if s := d.needs.Curves; s != nil {
		d.monitors = make([]*allocate.Monitor, len(names))
		for i := range d.monitors {
			d.monitors[i] = allocate.NewMonitor(*s, c.Capacity, random.Scramble(uint64(i)))
		}
		if s.Whole {
			d.lookAhead(c)
		}
	}
	d.divide()
	return d, d.build(c)
}

// lookAhead lets the monitors see the whole trace, for an allocator that knows the future.
func (d *Divided) lookAhead(c Config) {
	for pos, o := range c.Trace.Objects {
		size := int64(1)
		if !c.Unit {
			size = c.Trace.Size(pos)
		}
		d.monitors[d.pool(o)].Request(o, size, pos >= d.warmup)
	}
}

// build creates the pools with the capacities of the first division.
func (d *Divided) build(c Config) error {
	guard, err := NewGuard(c)
	if err != nil {
		return err
	}
	var partition *Partition
	if !d.shared && c.Room() == c.Trace.NumObjects { // otherwise a stranger may belong to one tenant after another
		partition = NewPartition(c.Trace.NumObjects)
	}
	for i := range d.pools {
		config := c.PolicyConfig()
		config.Capacity = max(1, d.targets[i]) // policies have room for an object; the pool may get none, below
		if d.shared {
			p, err := c.Policy.Entry.New(config)
			if err != nil {
				return err
			}
			d.pools[i] = NewPool(p, config.Capacity, c.Room())
			if err := guard.Before(d.pools[i]); err != nil {
				return err
			}
			d.pools[i].Observe(c.Observer)
			continue
		}
		config.Seed = c.Seed ^ random.Scramble(uint64(i)) // so that pools choose independently of each other
		pool, err := NewMemberPool(c.Policy, config, NewMembers(partition))
		if err != nil {
			return err
		}
		if err := guard.Before(pool); err != nil {
			return err
		}
		pool.Resize(d.targets[i])
		pool.Observe(c.Observer)
		if d.patterns != nil {
			pool.Remember(d.patterns.ghosts, i)
		}
		d.pools[i] = pool
	}
	return nil
}

// Tenant is the state of a tenant, or of a stream of accesses, at some time.
type Tenant struct {
	Name           string
	Requests, Hits int64 // so far, without the warm-up
	Used, Quota    int64 // of the capacity; the quota is 0 where tenants share one pool
	// Benefit is what one more object, or 4 MiB, is worth in hits per second; Valued says that the allocator estimates it.
	Benefit float64
	Valued  bool
}

// Tenanted is implemented by caches of several tenants, or of streams of accesses, which come and go.
type Tenanted interface{ Tenants() []Tenant }

func (d *Divided) Tenants() []Tenant {
	all := d.TenantCounts.Tenants()
	valuing, valued := d.allocator.(allocate.Valuing)
	for i := range all {
		if p := d.alone(i); p != nil {
			all[i].Used, all[i].Quota, all[i].Valued = p.Used(), p.Capacity(), valued
			if valued {
				all[i].Benefit = allocate.PerBlock(valuing.Worth(d.of[i]), !d.sized)
			}
		}
	}
	return all
}

func (d *Divided) Used() int64      { return d.sum((*Pool).Used) }
func (d *Divided) Evictions() int64 { return d.sum((*Pool).Evictions) }
func (d *Divided) Oversized() int64 { return d.sum((*Pool).Oversized) }

func (d *Divided) sum(of func(*Pool) int64) (sum int64) {
	for _, p := range d.pools {
		sum += of(p)
	}
	return sum
}

func (d *Divided) poolWith(o policies.Object) *Pool { return d.pools[d.pool(o)] }

func (d *Divided) pool(o policies.Object) int {
	if int(o) >= len(d.owners) {
		return d.of[d.strangers[int(o)-len(d.owners)]]
	}
	return d.of[d.owners[o]]
}

// alone returns the pool that a tenant has for itself, nil if it shares one.
func (d *Divided) alone(tenant int) *Pool {
	if d.shared || d.sharing[d.of[tenant]] > 1 {
		return nil
	}
	return d.pools[d.of[tenant]]
}

// sizeData sums up the data set of each pool: what the trace requests of it, each object once.
func (d *Divided) sizeData(c Config) {
	d.data = make([]allocate.Pool, len(d.pools))
	bytes := make([]float64, len(d.pools))
	objects := make([]float64, len(d.pools))
	for o := range d.owners {
		at := d.pool(policies.Object(o))
		size := int64(1)
		if c.Trace.ObjectSizes != nil {
			bytes[at] += float64(c.Trace.ObjectSizes[o])
			if !c.Unit {
				size = c.Trace.ObjectSizes[o]
			}
		}
		objects[at]++
		d.data[at].Data += size
	}
	for at := range d.data {
		d.data[at].MeanBytes = bytes[at] / max(1, objects[at])
	}
}

func (d *Divided) Holds(o policies.Object) bool { return d.poolWith(o).Resident(o) }
func (d *Divided) Drop(o policies.Object) bool  { return d.poolWith(o).Drop(o) }
func (d *Divided) Serve(w Window, n *Counts)    { ServeEach(d, w, n) }
func (d *Divided) LookAll(w Window, n *Counts)  { LookEach(d, w, n) }

// Look serves a request that loads nothing where it misses. The allocator then does not see it: its tenant needs no
// room for it.
func (d *Divided) Look(r policies.Request) (hit bool) {
	if hit = d.poolFor(r).Look(r); hit {
		d.count(r, hit)
	} else {
		d.TenantCounts.Count(r, hit)
	}
	return hit
}

func (d *Divided) Request(r policies.Request) (hit bool) {
	hit = d.poolFor(r).Request(r)
	d.count(r, hit)
	return hit
}

// poolFor divides the capacity again if that is due before a request, and returns the pool of the request.
func (d *Divided) poolFor(r policies.Request) *Pool {
	if d.due(r.Time) {
		d.redivide(r)
	}
	d.asking = d.owners[r.Object]
	return d.poolWith(r.Object)
}

// count counts a request for its tenant, and shows it to the allocator.
func (d *Divided) count(r policies.Request, hit bool) {
	at := d.pool(r.Object)
	seen := &d.state.Pools[at]
	d.state.Requests++
	seen.Requests++
	if hit {
		seen.Hits++
	}
	if d.seen != nil && d.seen[r.Object] != uint32(d.state.Epoch) {
		d.seen[r.Object] = uint32(d.state.Epoch) // the allocator was already called, so this is not 0
		seen.Footprint += r.Size
	}
	if d.monitors != nil && !d.needs.Curves.Whole {
		d.monitors[at].Request(r.Object, r.Size, true)
	}
	if d.patterns != nil {
		d.patterns.request(at, r)
	}
	d.TenantCounts.Count(r, hit)
}

// due reports whether the allocator must be called before the next request, which arrives at the given time.
func (d *Divided) due(now int64) bool {
	if !d.started {
		d.started, d.since, d.late = true, now, now+d.needs.Period
	}
	return d.needs.Every > 0 && d.state.Requests == d.next && d.next > 0 || d.needs.Period > 0 && now >= d.late
}

// redivide calls the allocator and resizes the pools.
func (d *Divided) redivide(r policies.Request) {
	d.state.Time = r.Time
	if d.started {
		d.state.Elapsed = r.Time - d.since
	}
	d.hold()
	d.divide()
	d.since, d.late = r.Time, r.Time+d.needs.Period
	d.moved += ResizeAll(d.pools, d.targets)
}

// ResizeAll resizes pools, shrinking ones first, to stay within their sum, and returns how much capacity has moved.
func ResizeAll(pools []*Pool, capacities []int64) (moved int64) {
	for i, p := range pools {
		p.Resize(min(p.Capacity(), capacities[i]))
	}
	for i, p := range pools {
		moved += capacities[i] - p.Capacity()
		p.Resize(capacities[i])
	}
	return moved
}

// divide asks the allocator for the capacities of the pools and starts the next epoch.
func (d *Divided) divide() {
	s := &d.state
	for i := range s.Pools {
		p := &s.Pools[i]
		if d.pools[i] != nil {
			p.Capacity, p.Used = d.pools[i].Capacity(), d.pools[i].Used()
			if d.patterns != nil {
				d.patterns.describe(p, i, d.pools[i])
			}
		}
		if d.monitors != nil {
			p.Curve = d.monitors[i].Curve()
		}
		if d.data != nil {
			p.Data, p.MeanBytes = d.data[i].Data, d.data[i].MeanBytes
		}
		d.targets[i] = p.Capacity
	}
	d.allocator.Allocate(s, d.targets)
	left := s.Capacity
	for _, target := range d.targets {
		if target < 0 || target > left {
			panic(fmt.Sprintf("allocator %T divides %d into %v", d.allocator, s.Capacity, d.targets))
		}
		left -= target
	}
	for i := range s.Pools {
		s.Pools[i] = allocate.Pool{}
		if d.monitors != nil && s.Epoch > 0 {
			d.monitors[i].Age()
		}
	}
	s.Epoch++
	d.next = s.Requests + d.needs.Every
}

// hold adds the current capacities to the sums, for the requests since the last update.
func (d *Divided) hold() {
	if d.shared {
		return
	}
	counted := max(0, d.state.Requests-int64(d.warmup))
	for i := range d.held {
		h := &d.held[i]
		if p := d.alone(i); p != nil {
			h.sum += float64(float64(p.Capacity()) * float64(counted-h.since))
			h.since = counted
		}
	}
}

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

func (d *Divided) Load(r policies.Request) (loaded bool) { return d.poolWith(r.Object).Load(r) }

// Expect implements Charging: a stranger belongs to the tenant of the last request, until it is proposed again.
func (d *Divided) Expect(o policies.Object) {
	if stranger := int(o) - len(d.owners); stranger >= 0 {
		d.strangers[stranger] = d.asking
	}
}
