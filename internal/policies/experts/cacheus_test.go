package experts

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// A cache of 100 has 99 for R and 1 for SR at first; R is demoted into SR as soon as it is full.
func TestCacheusFillsAndDemotes(t *testing.T) {
	d := policytest.Drive(t, "cacheus", policies.Config{Capacity: 5, Unit: true, Objects: 9, Requests: 20})
	p := d.Policy.(*cacheus)
	lists := func() [2][]policies.Object {
		return [2][]policies.Object{policytest.Listed(&p.lists, int(cacheusR)), policytest.Listed(&p.lists, int(cacheusSR))}
	}
	check := func(when string, r, sr []policies.Object, limit int64) {
		t.Helper()
		if got := lists(); !slices.Equal(got[0], r) || !slices.Equal(got[1], sr) || p.limitR != limit {
			t.Errorf("%s: R %v, SR %v, limit %d; want %v, %v, %d", when, got[0], got[1], p.limitR, r, sr, limit)
		}
	}
	d.ServeAll(0, 1, 2, 3, 4)
	check("full", []policies.Object{3, 2, 1, 0}, []policies.Object{4}, 4)
	// SR-LRU evicts 4. CR-LFU agrees: 4 is the most recent of those with one request. So neither is blamed later.
	_, victims := d.Serve(5, 1, 5)
	if !slices.Equal(victims, []policies.Object{4}) || p.objects[4].list != cacheusAbsent {
		t.Errorf("victims %v, 4 is on list %d", victims, p.objects[4].list)
	}
	check("after 5", []policies.Object{3, 2, 1}, []policies.Object{0, 5}, 4)
	// 0 was demoted and is requested again: R was too small, but it is already as large as possible.
	d.Serve(0, 1, 6)
	check("after 0", []policies.Object{0, 3, 2, 1}, []policies.Object{5}, 4)
}

func TestCacheusGrowsSR(t *testing.T) {
	d := policytest.Drive(t, "cacheus", policies.Config{Capacity: 5, Unit: true, Objects: 9, Requests: 20})
	p := d.Policy.(*cacheus)
	p.weights = [2]float64{1 - 1e-9, 1e-9}
	// 4 and 5 leave by agreement: they are the last of SR and the most recent of those with one request. Then SR is 6,
	// 1 with 1 demoted: SR-LRU evicts 1, and then 6, which was never reused.
	d.ServeAll(0, 1, 2, 3, 4, 0, 5, 6, 7)
	_, victims := d.Serve(8, 1, 9)
	if !slices.Equal(victims, []policies.Object{6}) || p.objects[6].list != cacheusByLRU || p.fresh != 1 {
		t.Fatalf("victims %v, 6 is on list %d, %d fresh", victims, p.objects[6].list, p.fresh)
	}
	limit, weight := p.limitR, p.weights[recency]
	d.Serve(6, 1, 10)
	// 6 is no longer counted as fresh in the history; 7, evicted for it, is.
	if p.limitR != limit-1 || p.weights[recency] >= weight || p.fresh != 1 || p.objects[7].list != cacheusByLRU {
		t.Errorf("6 was evicted too soon: limit of R %d, was %d; weight of recency %v, was %v; %d fresh",
			p.limitR, limit, p.weights[recency], weight, p.fresh)
	}
	if got, want := policytest.Listed(&p.lists, int(cacheusR)), []policies.Object{6, 0}; !slices.Equal(got, want) {
		t.Errorf("R is %v, want %v", got, want)
	}
}

// Five fresh objects in the history against two demoted ones move the border by 2.5, rounded to 3.
func TestCacheusGrowsR(t *testing.T) {
	d := policytest.Drive(t, "cacheus", policies.Config{Capacity: 100, Unit: true, Objects: 9, Requests: 20})
	p := d.Policy.(*cacheus)
	d.ServeAll(0, 1)
	p.demote()
	p.fresh, p.demoted, p.limitR = 5, 2, 50
	d.Serve(0, 1, 2)
	if p.limitR != 53 || p.demoted != 1 || p.objects[0].list != cacheusR {
		t.Errorf("limit of R %d, demoted %d, 0 is on list %d; want 53, 1, R", p.limitR, p.demoted, p.objects[0].list)
	}
}

// By bytes the border moves by the size of the requested object, here 4, times the rounded ratio.
func TestCacheusMovesTheBorderByBytes(t *testing.T) {
	d := policytest.Drive(t, "cacheus", policies.Config{Capacity: 1000, Objects: 9, Requests: 20})
	p := d.Policy.(*cacheus)
	d.Serve(0, 4, 0)
	d.Serve(1, 4, 1)
	p.demote()
	p.fresh, p.demoted, p.limitR = 5, 2, 500
	d.Serve(0, 4, 2)
	if p.limitR != 512 {
		t.Errorf("R was too small: limit %d, want 512", p.limitR)
	}
	p.objects[1].fresh = true
	p.evict(1, cacheusByLRU)
	d.Drop(1)
	p.fresh, p.demoted, p.limitR = 5, 10, 500
	d.Serve(1, 4, 3)
	if p.limitR != 488 {
		t.Errorf("SR was too small: limit %d, want 488", p.limitR)
	}
}

func TestCacheusInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		spec := rapid.SampledFrom([]string{"cacheus", "cacheus(history=2)", "cacheus(history=0)"}).Draw(t, "spec")
		d := policytest.Drive(t, spec, w.Config)
		w.AfterEachRequest(t, d, func() { d.Policy.(*cacheus).check(t, d.Stored, w.Sizes) })
	})
}

func (p *cacheus) check(t rapid.TB, stored map[policies.Object]int64, sizes []int64) {
	var demoted, fresh, resident int64
	for k := range cacheusLists {
		var size int64
		for _, o := range policytest.Listed(&p.lists, int(k)) {
			size += sizes[o]
			x := p.objects[o]
			_, here := stored[o]
			if x.list != k || here != (k <= cacheusSR) || here != p.frequencies.Has(o) ||
				x.demoted && k != cacheusSR {
				t.Fatalf("object %d on list %d: %+v, resident %v", o, k, x, here)
			}
			if here {
				resident++
			}
			if x.demoted {
				demoted++
			}
			if x.fresh && k == cacheusByLRU {
				fresh++
			}
		}
		if size != p.size[k] || k > cacheusSR && size > p.historyMax {
			t.Fatalf("list %d holds %d, counted %d", k, size, p.size[k])
		}
	}
	if demoted != p.demoted || fresh != p.fresh || int(resident) != len(stored) || resident != p.resident {
		t.Fatalf("demoted %d, fresh %d, resident %d; counted %d, %d, %d", demoted, fresh, resident, p.demoted, p.fresh,
			p.resident)
	}
	if !near(p.weights[0]+p.weights[1], 1) || p.rate.started() && (p.rate.now <= 0 || p.rate.now > 1.2) {
		t.Fatalf("weights %v, learning rate %v", p.weights, p.rate.now)
	}
}

// Windows of 100 requests, small enough to follow by hand.
func TestLearningRate(t *testing.T) {
	var l learningRate
	l.start(100)
	first := math.Sqrt(2 * math.Ln2 / 100) // 0.1177...
	window := func(hits int64, want float64) {
		t.Helper()
		l.hits = hits
		l.adapt(newExperts(1).rng)
		if !near(l.now, want) {
			t.Errorf("%d hits: rate %v, want %v", hits, l.now, want)
		}
	}
	if !near(l.now, first) {
		t.Fatalf("starts at %v, want %v", l.now, first)
	}
	// The hit ratio rose by 0.2 while the rate went from 0 to 0.118: on in that direction.
	up := first * (1 + 0.118)
	window(20, up)
	// It fell while the rate rose by 0.014 (0.132 - 0.118): back.
	down := up * (1 - 0.014)
	window(10, down)
	// It did not change: nothing to learn.
	window(10, down)
	// Now the rate is unchanged as well. Ten windows without hits, the first of them a loss, end the search.
	window(10, down)
	for range 9 {
		l.hits = 0
		l.before = l.now
		l.adapt(newExperts(1).rng)
	}
	l.before = l.now
	window(0, first)
}

// After a window in which the rate stayed the same and the hit ratio fell or was 0.
func TestLearningRateStuck(t *testing.T) {
	for _, test := range []struct {
		now, gain   float64
		idle, worse int
		want        []float64 // one of them, at random
	}{
		{now: 0.4, gain: -0.1, want: []float64{0.4 * 1.25, 0.4 * 0.75}},
		{now: 0.9, gain: -0.1, want: []float64{1, 0.9 * 0.75}},
		{now: 0.0011, gain: -0.1, want: []float64{0.0011 * 1.25, 0.001}},
		{now: 1, gain: -0.1, want: []float64{0.9}},
		{now: 0.001, gain: -0.1, want: []float64{0.005}},
		{now: 0.4, gain: 0, want: []float64{0.4}},
		{now: 0.4, gain: 0, idle: 9, want: []float64{0.2}},
		{now: 0.4, gain: -0.1, worse: 9, want: []float64{0.2}},
	} {
		seen := map[float64]bool{}
		rng := newExperts(1).rng
		for range 50 {
			l := learningRate{now: test.now, first: 0.2, idle: test.idle, worse: test.worse}
			seen[l.stuck(test.gain, rng)] = true
		}
		for got := range seen {
			if len(seen) != len(test.want) || !slices.ContainsFunc(test.want,
				func(want float64) bool { return near(got, want) }) {
				t.Errorf("%+v: got %v", test, seen)
			}
		}
	}
}

// An object that returns leaves its history before the eviction that makes room for it, and keeps its requests.
func TestCacheusReturns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := rapid.SliceOfN(rapid.Uint32Range(0, 14), 1, 200).Draw(t, "trace")
		c := policies.Config{Capacity: rapid.Int64Range(2, 8).Draw(t, "capacity"), Unit: true, Objects: 15, Requests: 200}
		d := policytest.Drive(t, "cacheus", c)
		p := d.Policy.(*cacheus)
		for i, o := range trace {
			before := p.objects[o]
			d.Serve(o, 1, i)
			if before.list != cacheusByLRU && before.list != cacheusByLFU {
				continue
			}
			after := p.objects[o]
			if got := p.frequencies.Frequency(o); got != before.requests || after.fresh ||
				after.list != cacheusR && !after.demoted {
				t.Fatalf("request %d: object %d returned with %d requests as %+v, was %+v", i, o, got, after, before)
			}
		}
	})
}
