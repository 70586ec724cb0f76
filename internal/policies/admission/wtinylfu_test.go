package admission

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveWTinyLFU is the policy on slices with exact counts up to 15, for objects of size 1 and no reset. The most recent
// object of a segment is the last.
type naiveWTinyLFU struct {
	capacity, windowLimit, protectedLimit int
	window, probation, protected          []policies.Object
	counts                                map[policies.Object]int
}

func (c *naiveWTinyLFU) serve(o policies.Object) (hit bool, victims []policies.Object) {
	c.counts[o] = min(c.counts[o]+1, dense.MaxCount)
	take := func(segment *[]policies.Object) bool {
		i := slices.Index(*segment, o)
		if i >= 0 {
			*segment = slices.Delete(*segment, i, i+1)
		}
		return i >= 0
	}
	switch {
	case take(&c.window):
		c.window = append(c.window, o)
		return true, nil
	case take(&c.protected):
		c.protected = append(c.protected, o)
		return true, nil
	case take(&c.probation):
		c.protected = append(c.protected, o)
		if len(c.protected) > c.protectedLimit {
			c.probation = append(c.probation, c.protected[0])
			c.protected = c.protected[1:]
		}
		return true, nil
	}
	c.window = append(c.window, o)
	if len(c.window) <= c.windowLimit {
		return false, nil
	}
	candidate := c.window[0]
	c.window = c.window[1:]
	if len(c.window)+len(c.probation)+len(c.protected) < c.capacity {
		c.probation = append(c.probation, candidate)
		return false, nil
	}
	from := &c.probation
	if len(*from) == 0 {
		from = &c.protected
	}
	if len(*from) == 0 || c.counts[candidate] <= c.counts[(*from)[0]] {
		if candidate == o { // never was resident
			return false, nil
		}
		return false, []policies.Object{candidate}
	}
	victim := (*from)[0]
	*from = (*from)[1:]
	c.probation = append(c.probation, candidate)
	return false, []policies.Object{victim}
}

func TestWTinyLFUEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 30
		trace := policytest.DrawTrace(t, objects, 300)
		capacity := rapid.IntRange(1, 25).Draw(t, "capacity")
		spec := rapid.SampledFrom([]string{
			"w-tinylfu(window=0.5,protected=0.5,",
			"w-tinylfu(window=0.01,protected=0.8,",
			"w-tinylfu(window=0.2,protected=1,",
			"tinylfu(",
		}).Draw(t, "spec")
		got := policytest.Drive(t, spec+"jitter=0,counters=1024,sample=1000)",
			policies.Config{Capacity: int64(capacity), Unit: true, Objects: objects, Requests: len(trace)})
		p := got.Policy.(*wTinyLFU)
		want := &naiveWTinyLFU{
			capacity:       capacity,
			windowLimit:    int(p.Limit[inWindow]),
			protectedLimit: int(p.Limit[inProtected]),
			counts:         map[policies.Object]int{},
		}
		for i, o := range trace {
			hit, victims := got.Serve(o, 1, i)
			wantHit, wantVictims := want.serve(o)
			if hit != wantHit || !slices.Equal(victims, wantVictims) {
				t.Fatalf("request %d (object %d): hit %v, victims %v; naive: hit %v, victims %v", i, o, hit, victims,
					wantHit, wantVictims)
			}
		}
	})
}

func TestWTinyLFULimits(t *testing.T) {
	for _, test := range []struct {
		spec              string
		capacity          int64
		window, protected int64
	}{
		{"w-tinylfu", 1000, 10, 792},
		{"w-tinylfu", 1, 1, 0},
		{"w-tinylfu(window=0)", 10, 1, 7},
		{"w-tinylfu(window=1)", 10, 10, 0},
	} {
		c := policies.Config{Capacity: test.capacity, Unit: true, Objects: 5000, Requests: 1}
		p := policytest.Drive(t, test.spec, c).Policy.(*wTinyLFU)
		if p.Limit[inWindow] != test.window || p.Limit[inProtected] != test.protected {
			t.Errorf("%s at capacity %d: window %d, protected %d, want %d and %d",
				test.spec, test.capacity, p.Limit[inWindow], p.Limit[inProtected], test.window, test.protected)
		}
	}
}

func TestWTinyLFUDuel(t *testing.T) {
	c := policies.Config{Capacity: 3, Unit: true, Objects: 6, Requests: 10}
	// Window 1, main 2 (both on probation): 0 and 1 went to the main part, 2 is in the window.
	// 3 pushes 2 out: 1 request each for 2 and 0, and a tie is lost. Then 3 is requested again and 4 pushes it out:
	// 2 requests against 1 of object 0.
	got := policytest.Drive(t, "w-tinylfu", c).ServeAll(0, 1, 2, 3, 3, 4)
	if want := []policies.Object{2, 0}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
}

// An object larger than the window competes itself; where it loses it is not admitted.
func TestWTinyLFULargeObjects(t *testing.T) {
	d := policytest.Drive(t, "w-tinylfu", policies.Config{Capacity: 100, Objects: 4, Requests: 8})
	d.Serve(0, 60, 0)
	d.Serve(0, 60, 1)
	if _, victims := d.Serve(1, 60, 2); victims != nil || d.Stored[1] != 0 {
		t.Errorf("1 request won against 2: victims %v", victims)
	}
	d.Serve(1, 60, 3)
	if _, victims := d.Serve(1, 60, 4); !slices.Equal(victims, []policies.Object{0}) || d.Stored[1] == 0 {
		t.Errorf("3 requests lost against 2: victims %v", victims)
	}
}

// A large object competes with one object only: having won against 2 it also replaces 3, which was requested more
// often.
func TestWTinyLFULargeObjectCompetesOnce(t *testing.T) {
	d := policytest.Drive(t, "w-tinylfu", policies.Config{Capacity: 100, Objects: 4, Requests: 8})
	for i, o := range []policies.Object{2, 3, 3, 3} {
		d.Serve(o, 30, i)
	}
	if _, victims := d.Serve(0, 80, 4); victims != nil {
		t.Errorf("1 request won against 1: victims %v", victims)
	}
	if _, victims := d.Serve(0, 80, 5); !slices.Equal(victims, []policies.Object{2, 3}) || d.Stored[0] == 0 {
		t.Errorf("2 requests against 1: victims %v, want 2 and 3", victims)
	}
}

func TestWTinyLFUAccountsInBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 100
		trace := policytest.DrawTrace(t, objects, 400)
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 50), objects, objects).Draw(t, "sizes")
		c := policies.Config{Capacity: 300, Objects: objects, Requests: len(trace)}
		d := policytest.Drive(t, "w-tinylfu(window=0.2)", c)
		p := d.Policy.(*wTinyLFU)
		for i, o := range trace {
			if d.Stored[o] != 0 && i%3 == 0 {
				sizes[o] = policytest.NewSize(t)
				d.Write(o, sizes[o], i)
			} else {
				d.Serve(o, sizes[o], i)
			}
			if sum := p.Used[inWindow] + p.Used[inProbation] + p.Used[inProtected]; sum != d.Used() {
				t.Fatalf("segments hold %d bytes, the cache %d", sum, d.Used())
			}
			if p.Used[inWindow] > p.Limit[inWindow] || p.Used[inProtected] > p.Limit[inProtected] {
				t.Fatalf("window %d of %d, protected %d of %d", p.Used[inWindow], p.Limit[inWindow],
					p.Used[inProtected], p.Limit[inProtected])
			}
			if p.resident != len(d.Stored) || p.resident*p.counters > p.sketch.Counters() {
				t.Fatalf("%d resident objects counted, %d stored, %d counters", p.resident, len(d.Stored),
					p.sketch.Counters())
			}
		}
	})
}

// A hundred objects fill the cache, and their counters, before counts are halved. Then ten others are requested, as
// often as counters go. Without jitter they lose every tie against objects that are requested no longer, and nothing is
// counted any more that would lead to the next halving.
func TestJitterKeepsTheCacheFromFreezing(t *testing.T) {
	hitRatio := func(spec string) float64 {
		d := policytest.Drive(t, spec, policies.Config{Capacity: 100, Unit: true, Objects: 110, Requests: 1 << 20, Seed: 1})
		for i := range 100 * 40 {
			d.Serve(policies.Object(i%100), 1, i)
		}
		hits := 0
		const requests = 20_000
		for i := range requests {
			if hit, _ := d.Serve(policies.Object(100+i%10), 1, i); hit {
				hits++
			}
		}
		return float64(hits) / requests
	}
	for _, name := range []string{"tinylfu", "w-tinylfu"} {
		if got := hitRatio(name + "(sample=20,jitter=0)"); got > 0.01 {
			t.Errorf("%s without jitter: hit ratio %v; this trace tests nothing", name, got)
		}
		if got := hitRatio(name + "(sample=20)"); got < 0.9 {
			t.Errorf("%s: hit ratio %v", name, got)
		}
	}
}

func TestPeriodOfHalving(t *testing.T) {
	for spec, want := range map[string]int{
		"tinylfu":                            1000,
		"tinylfu(rule=simulator)":            1280,
		"w-tinylfu(sample=7)":                700,
		"w-tinylfu(sample=7,rule=simulator)": 896,
	} {
		c := policies.Config{Capacity: 100, Unit: true, Objects: 500, Requests: 1}
		if got := policytest.Drive(t, spec, c).Policy.(*wTinyLFU).period(100); got != want {
			t.Errorf("%s: %d requests, want %d", spec, got, want)
		}
	}
}
