package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// tenantTrace returns requests by tenants, each with objects of its own, of sizes from 1 to 9.
func tenantTrace(requests [][2]int) *traces.Trace {
	t := &traces.Trace{Name: "tenants", SampleRate: 1, Tenants: &traces.Tenants{}}
	numbers := map[[2]int]uint32{}
	tenants := map[int]uint32{}
	for _, r := range requests {
		if _, ok := tenants[r[0]]; !ok {
			tenants[r[0]] = uint32(len(tenants))
			t.Tenants.Names = append(t.Tenants.Names, fmt.Sprintf("t%d", r[0]))
		}
		if _, ok := numbers[r]; !ok {
			numbers[r] = uint32(t.NumObjects)
			t.NumObjects++
			t.ObjectSizes = append(t.ObjectSizes, int64(1+(r[0]+5*r[1])%9))
			t.Tenants.Of = append(t.Tenants.Of, tenants[r[0]])
		}
		t.Objects = append(t.Objects, numbers[r])
	}
	return t
}

func drawTenants(t *rapid.T, mostTenants int) *traces.Trace {
	tenants := rapid.IntRange(1, mostTenants).Draw(t, "tenants")
	return tenantTrace(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int {
		return [2]int{rapid.IntRange(0, tenants-1).Draw(t, "tenant"), rapid.IntRange(0, 12).Draw(t, "object")}
	}), 1, 250).Draw(t, "requests"))
}

func configOf(t must.TB, tr *traces.Trace, policy, allocator string, capacity int64, unit bool) Config {
	t.Helper()
	spec := must.Get(policies.Registry.Parse(policy))(t)
	c := Config{Trace: tr, Capacity: capacity, Unit: unit, Policy: spec, Seed: 7,
		NextUse: func() []uint32 { return oracle.NextUse(tr.Objects, tr.NumObjects) }}
	if allocator != "" {
		a := must.Get(allocate.Registry.Parse(allocator))(t)
		c.Allocator = &a
	}
	return c
}

// serveAll serves a whole trace in windows of some requests.
func serveAll(t must.TB, c Config) (Cache, Counts) {
	t.Helper()
	served := must.Get(newExactCache(c))(t)
	var n Counts
	for first := 0; first < len(c.Trace.Objects); first += 17 {
		w := Window{Objects: c.Trace.Objects[first:min(first+17, len(c.Trace.Objects))], First: first}
		if c.Trace.Times != nil {
			w.Times = c.Trace.Times[first : first+len(w.Objects)]
		}
		if !c.Unit {
			for pos := range w.Objects {
				w.Sizes = append(w.Sizes, c.Trace.Size(first+pos))
			}
		}
		served.Serve(w, &n)
	}
	return served, n
}

// severalPolicies are of every family: with ghosts, segments, sketches, chance, and the optimum.
var severalPolicies = []string{"lru", "fifo", "arc", "lirs", "s3fifo", "sieve", "w-tinylfu", "2q", "gdsf", "random",
	"opt"}

func works(policy string, unit bool) bool {
	e, _ := policies.Registry.Find(policy)
	return !(unit && e.Units == policies.UnitsBytes || !unit && e.Units == policies.UnitsObjects)
}

// One pool for all tenants is the cache without tenants.
func TestSharedIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTenants(t, 5)
		capacity := rapid.Int64Range(1, 60).Draw(t, "capacity")
		policy := rapid.SampledFrom(severalPolicies).Draw(t, "policy")
		unit := rapid.Bool().Draw(t, "unit")
		if !works(policy, unit) {
			return
		}
		_, want := serveAll(t, configOf(t, tr, policy, "", capacity, unit))
		_, got := serveAll(t, configOf(t, tr, policy, "shared", capacity, unit))
		if got != want {
			t.Fatalf("%s of %d: %+v shared, %+v without tenants", policy, capacity, got, want)
		}
	})
}

// ofTenant returns the requests of one tenant as a trace of its own.
func ofTenant(t *traces.Trace, tenant uint32) *traces.Trace {
	var requests [][2]int
	var sizes []int64
	own := map[uint32]bool{}
	for _, o := range t.Objects {
		if t.Tenants.Of[o] == tenant {
			requests = append(requests, [2]int{0, int(o)})
			if !own[o] {
				own[o] = true
				sizes = append(sizes, t.ObjectSizes[o])
			}
		}
	}
	part := tenantTrace(requests)
	part.ObjectSizes = sizes
	return part
}

// Pools that nothing moves between are caches of their own.
func TestStaticPoolsAreCaches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTenants(t, 4)
		tenants := len(tr.Tenants.Names)
		capacity := rapid.Int64Range(int64(tenants), 60).Draw(t, "capacity")
		policy := rapid.SampledFrom([]string{"lru", "fifo", "arc", "lirs", "sieve", "2q", "gdsf", "opt"}).Draw(t, "policy")
		unit := rapid.Bool().Draw(t, "unit")
		if !works(policy, unit) {
			return
		}
		var want Counts
		for tenant := range tenants {
			own := capacity / int64(tenants)
			if int64(tenant) < capacity%int64(tenants) {
				own++
			}
			_, n := serveAll(t, configOf(t, ofTenant(tr, uint32(tenant)), policy, "", own, unit))
			want.Requests += n.Requests
			want.Hits += n.Hits
			want.Evictions += n.Evictions
			want.Oversized += n.Oversized
			want.Bytes += n.Bytes
			want.HitBytes += n.HitBytes
		}
		_, got := serveAll(t, configOf(t, tr, policy, "equal", capacity, unit))
		if got != want {
			t.Fatalf("%s of %d: %+v, want %+v", policy, capacity, got, want)
		}
	})
}

// No fixed division of a cache under lru has more hits than the one of optimal.
func TestOptimalBeatsEveryStaticDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTenants(t, 3)
		capacity := rapid.Int64Range(1, 14).Draw(t, "capacity")
		warmup := rapid.IntRange(0, len(tr.Objects)-1).Draw(t, "warmup")
		hits := func(allocator string) (hits int64) {
			c := configOf(t, tr, "lru", allocator, capacity, true)
			c.Warmup = warmup
			served, _ := serveAll(t, c)
			for _, tally := range served.(*Divided).tallies {
				hits += tally.Hits
			}
			return hits
		}
		best := hits("optimal")
		each := func(shares []string) {
			if other := hits("static(shares=" + strings.Join(shares, ";") + ")"); other > best {
				t.Fatalf("capacity %d: %d hits, %v has %d", capacity, best, shares, other)
			}
		}
		switch len(tr.Tenants.Names) {
		case 2:
			for a := range capacity + 1 {
				each([]string{fmt.Sprint(a), fmt.Sprint(capacity - a)})
			}
		case 3:
			a := rapid.Int64Range(0, capacity).Draw(t, "first")
			for b := range capacity - a + 1 {
				each([]string{fmt.Sprint(a), fmt.Sprint(b), fmt.Sprint(capacity - a - b)})
			}
		}
	})
}

// restless gives each pool a random capacity at every question.
type restless struct{ random *rand.Rand }

func (r restless) Needs() allocate.Needs { return allocate.Needs{Every: 7, Footprint: true} }

func (r restless) Allocate(s *allocate.State, capacities []int64) {
	left := s.Capacity
	for i := range capacities {
		capacities[i] = r.random.Int64N(left + 1)
		left -= capacities[i]
	}
}

var restlessSpec = allocate.Spec{Entry: allocate.Entry{Name: "restless",
	New: func(allocate.Config) (allocate.Allocator, error) {
		return restless{rand.New(rand.NewPCG(1, 2))}, nil
	}}}

// However the capacity moves, no pool holds more than it has, and tenants add up to the whole.
func TestPoolsFollowTheAllocator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTenants(t, 6)
		policy := rapid.SampledFrom(severalPolicies).Draw(t, "policy")
		unit := rapid.Bool().Draw(t, "unit")
		if !works(policy, unit) {
			return
		}
		c := configOf(t, tr, policy, "", rapid.Int64Range(0, 60).Draw(t, "capacity"), unit)
		c.Allocator = &restlessSpec
		served, n := serveAll(t, c)
		d := served.(*Divided)
		for i, p := range d.pools {
			if p.Used() > p.Capacity() || p.Capacity() != d.targets[i] {
				t.Fatalf("%s: pool %d holds %d of %d, allocated %d", policy, i, p.Used(), p.Capacity(), d.targets[i])
			}
		}
		var sum Counts
		for _, t := range d.tallies {
			sum = sum.Plus(t)
		}
		if want := (Counts{Requests: n.Requests, Hits: n.Hits, Bytes: n.Bytes, HitBytes: n.HitBytes}); sum != want {
			t.Fatalf("tenants add up to %+v, want %+v", sum, want)
		}
		if _, again := serveAll(t, c); again != n {
			t.Fatalf("%s: %+v, and %+v the second time", policy, n, again)
		}
	})
}

// values returns what a cache reports, by name.
func values(c Cache) map[string]float64 {
	all := map[string]float64{}
	for _, counter := range c.(Reporting).Counters() {
		all[counter.Name()] = counter.Value
	}
	return all
}

// A loop of 30 objects beside a stream that never repeats: shared, lru has no hit, and half of the capacity is too
// little for the loop. Utility gives the loop what it needs.
func TestUCPKeepsTheLoop(t *testing.T) {
	var requests [][2]int
	for i := range 6000 {
		requests = append(requests, [2]int{0, i % 30}, [2]int{1, i})
	}
	tr := tenantTrace(requests)
	hits := map[string]float64{}
	for _, allocator := range []string{"shared", "equal", "ucp(every=500)", "optimal"} {
		served, n := serveAll(t, configOf(t, tr, "lru", allocator, 40, true))
		hits[allocator] = float64(n.Hits) / float64(n.Requests)
		v := values(served)
		if v["tenant_hits[t0]"] != float64(n.Hits) || v["tenant_hit_ratio[t1]"] != 0 || v["tenant_count"] != 2 ||
			v["tenant_requests[t0]"] != 6000 || v["tenant_hit_ratio_min"] != 0 ||
			v["tenant_hit_ratio_mean"] != v["tenant_hit_ratio[t0]"]/2 {
			t.Errorf("%s: %v", allocator, v)
		}
		if allocator == "ucp(every=500)" && (v["divisions"] != 24 || v["capacity_moved"] <= 0 ||
			v["tenant_capacity[t0]"] <= 0.7 || v["tenant_capacity[t0]"]+v["tenant_capacity[t1]"] > 1.000001) {
			t.Errorf("%s: %v", allocator, v)
		}
	}
	if hits["shared"] != 0 || hits["equal"] != 0 || hits["ucp(every=500)"] < 0.45 || hits["optimal"] < 0.49 {
		t.Errorf("hit ratios %v", hits)
	}
}

// An allocator that is asked by the clock is asked when its time has come, whatever the requests.
func TestPeriod(t *testing.T) {
	tr := tenantTrace([][2]int{{0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}})
	tr.Times = []int64{100, 105, 109, 110, 190, 191}
	var asked []int64
	c := configOf(t, tr, "lru", "", 10, true)
	c.Allocator = &allocate.Spec{Entry: allocate.Entry{New: func(allocate.Config) (allocate.Allocator, error) {
		return askedAt{&asked}, nil
	}}}
	serveAll(t, c)
	if want := []int64{0, 110, 190}; !slices.Equal(asked, want) {
		t.Errorf("asked at %v, want %v", asked, want)
	}
}

type askedAt struct{ times *[]int64 }

func (a askedAt) Needs() allocate.Needs { return allocate.Needs{Period: 10} }

func (a askedAt) Allocate(s *allocate.State, capacities []int64) { *a.times = append(*a.times, s.Time) }

// What an allocator sees are the counts of the epoch before, and footprints with each object once.
func TestStateOfAnEpoch(t *testing.T) {
	tr := tenantTrace([][2]int{{0, 1}, {0, 1}, {1, 5}, {0, 2}, {0, 1}, {1, 6}, {1, 6}, {0, 1}})
	var seen []allocate.Pool
	c := configOf(t, tr, "lru", "", 8, true)
	c.Allocator = &allocate.Spec{Entry: allocate.Entry{New: func(allocate.Config) (allocate.Allocator, error) {
		return spy{&seen}, nil
	}}}
	serveAll(t, c)
	want := []allocate.Pool{{}, {}, // before the first request
		{Capacity: 4, Used: 2, Requests: 3, Hits: 1, Footprint: 2}, {Capacity: 4, Used: 1, Requests: 1, Footprint: 1}}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", seen, want)
	}
}

type spy struct{ pools *[]allocate.Pool }

func (s spy) Needs() allocate.Needs { return allocate.Needs{Every: 4, Footprint: true} }

func (s spy) Allocate(state *allocate.State, capacities []int64) {
	*s.pools = append(*s.pools, state.Pools...)
	for i := range capacities {
		capacities[i] = state.Capacity / int64(len(capacities))
	}
}

// Ten thousand tenants, with less capacity than tenants and with more.
func TestManyTenants(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	requests := make([][2]int, 60000)
	for i := range requests {
		requests[i] = [2]int{random.IntN(10000), random.IntN(3)}
	}
	tr := tenantTrace(requests)
	for _, allocator := range []string{"shared", "equal", "proportional(to=footprint)", "ucp", "optimal"} {
		for _, capacity := range brief.Sample[int64](2, 50, 25000) {
			served, n := serveAll(t, configOf(t, tr, "lru", allocator, capacity, true))
			v := values(served)
			if n.Requests != 60000 || v["tenant_count"] != float64(len(tr.Tenants.Names)) || len(v) > 5+4*mostReported {
				t.Errorf("%s: %d values, %+v", allocator, len(v), n)
			}
		}
	}
}

// Under batch-sizes, a training tenant has what it has alone with its share, and the others what they have in one
// cache.
func TestTenantsThatShareAPool(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	requests := make([][2]int, 4000)
	for i := range requests {
		requests[i] = [2]int{rng.IntN(3), int(40 * rng.Float64() * rng.Float64())}
	}
	tr := tenantTrace(requests)
	first := tr.Tenants.Names[0]
	served, n := serveAll(t, configOf(t, tr, "lru", "batch-sizes(train="+first+":1,share=0.4)", 25, true))
	rest := &traces.Trace{}
	numbers := map[uint32]uint32{}
	for _, o := range tr.Objects {
		if tr.Tenants.Of[o] == 0 {
			continue
		}
		if _, ok := numbers[o]; !ok {
			numbers[o] = uint32(len(numbers))
		}
		rest.Objects = append(rest.Objects, numbers[o])
	}
	rest.NumObjects = len(numbers)
	_, alone := serveAll(t, configOf(t, ofTenant(tr, 0), "lru", "", 10, true))
	_, others := serveAll(t, configOf(t, rest, "lru", "", 15, true))
	if n.Hits != alone.Hits+others.Hits || n.Hits == 0 {
		t.Errorf("%d hits, want %d of the training tenant and %d of the others", n.Hits, alone.Hits, others.Hits)
	}
	all := served.(*Divided).Tenants()
	if all[0].Quota != 10 || all[1].Quota != 0 || all[2].Quota != 0 {
		t.Errorf("quotas of %+v, want 10 for the first, and none for those that share a pool", all)
	}
	if got := values(served); got["tenant_capacity["+first+"]"] != 0.4 {
		t.Errorf("the share of %s is %v, want 0.4", first, got["tenant_capacity["+first+"]"])
	}
}
