package cache

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

// A tenant that reads a data set twice as large as its share in a random order gains nothing beside one whose few
// popular objects nearly fit: capacity moves to the latter, and both patterns are recognised.
func TestMarginalMovesToSkewed(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var requests [][2]int
	order := random.Perm(2000)
	for i := range 40000 {
		if i%2000 == 0 {
			order = random.Perm(2000)
		}
		requests = append(requests, [2]int{0, order[i%2000]})
		requests = append(requests, [2]int{1, min(random.IntN(600), random.IntN(600), random.IntN(600))})
	}
	// Each data set is read once in its order, so that the listing has that order.
	listing := [][2]int{}
	for i := range 2000 {
		listing = append(listing, [2]int{0, i}, [2]int{1, i % 600})
	}
	tr := tenantTrace(append(listing, requests...))
	served, n := serveAll(t, configOf(t, tr, "lru", "marginal(every=2000,shift_mb=167.77216,least_mb=41.94304)", 400,
		true))
	d := served.(*Divided)
	if a, b := d.patterns.streams[0].Pattern, d.patterns.streams[1].Pattern; a != streams.Random || b != streams.Skewed {
		t.Errorf("patterns %v and %v, want random and skewed", a, b)
	}
	if a, b := d.pools[0].Capacity(), d.pools[1].Capacity(); a > 100 || a+b != 400 {
		t.Errorf("shares %d and %d of 400, want most for the skewed tenant", a, b)
	}
	_, equal := serveAll(t, configOf(t, tr, "lru", "equal", 400, true))
	if n.Hits <= equal.Hits {
		t.Errorf("%d hits, with equal shares %d", n.Hits, equal.Hits)
	}
	// The same trace with a clock, a request per second: rounds of 2000 s are those of 2000 requests.
	for i := range tr.Objects {
		tr.Times = append(tr.Times, int64(i)*1e9)
	}
	_, timed := serveAll(t, configOf(t, tr, "lru", "marginal(period_s=2000,shift_mb=167.77216,least_mb=41.94304)", 400,
		true))
	if timed != n {
		t.Errorf("with a clock %+v, without %+v", timed, n)
	}
}

// In capacities of objects, megabytes of parameters count as blocks of 4 MiB: at most as many objects move at a time,
// and a pool keeps as many.
func TestMarginalCountsBlocks(t *testing.T) {
	requests := [][2]int{}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 20000 {
		requests = append(requests, [2]int{0, i % 2000}, [2]int{1, min(random.IntN(600), random.IntN(600))})
	}
	tr := tenantTrace(requests)
	const block = 4.194304 // MiB in MB
	for objects := 1; objects < 4; objects++ {
		text := fmt.Sprintf("marginal(every=2000,shift_mb=%g,least_mb=%g,least_share=1)", float64(objects)*block, 7*block)
		served, _ := serveAll(t, configOf(t, tr, "lru", text, 100, true))
		d := served.(*Divided)
		// There are 20 divisions, of which the first knows nothing. The last one may move less, to leave 7.
		left := d.pools[0].Capacity()
		if d.moved == 0 || d.moved > int64(19*objects) || left != 50-d.moved || left < 7 ||
			left > 7 && d.moved%int64(objects) != 0 {
			t.Errorf("%s: %d objects moved, the first tenant has %d", text, d.moved, left)
		}
	}
}

// The state of tenants can be asked for at any time: before the first request, and before a second division.
func TestTenantsAtAnyTime(t *testing.T) {
	var requests [][2]int
	for i := range 300 {
		requests = append(requests, [2]int{i % 2, i % 40})
	}
	tr := tenantTrace(requests)
	for _, text := range []string{"shared", "equal", "proportional(every=100)", "ucp(every=100)", "marginal(every=100)",
		"optimal", "quiver(train=t0,profile=100)", "batch-sizes(train=t0:1)"} {
		served := must.Get(newExactCache(configOf(t, tr, "lru", text, 30, true)))(t)
		tenants := served.(interface{ Tenants() []Tenant })
		var n Counts
		for i := range tr.Objects {
			quota, benefit := int64(0), 0.0
			for _, tenant := range tenants.Tenants() {
				quota += tenant.Quota
				benefit += tenant.Benefit
			}
			if quota > 30 || i <= 100 && benefit != 0 {
				t.Fatalf("%s: after %d requests quotas of %d, benefits of %v", text, i, quota, benefit)
			}
			served.Serve(WindowOf(tr, i, i+1, false, nil), &n)
		}
		if len(tenants.Tenants()) != 2 || n.Requests != 300 {
			t.Errorf("%s: %d tenants, %d requests", text, len(tenants.Tenants()), n.Requests)
		}
	}
}
