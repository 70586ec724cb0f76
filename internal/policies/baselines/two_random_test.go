package baselines

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
)

// newTwoRandomOf returns a policy and a cache for it; parameters as a user writes them.
func newTwoRandomOf(t rapid.TB, spec string, c policies.Config) (*twoRandom, *cached) {
	t.Helper()
	s := must.Get(policies.Registry.Parse(spec))(t)
	c.Params = s.Params
	p := newTwoRandom(c)
	return p, &cached{policy: p, capacity: c.Capacity, sizes: map[policies.Object]int64{}}
}

// cached is a cache that expires objects before each request.
type cached struct {
	policy   *twoRandom
	capacity int64
	used     int64
	sizes    map[policies.Object]int64 // of the residents
	left     []policies.Object         // by the last request
}

func (c *cached) leave(o policies.Object) {
	c.left = append(c.left, o)
	c.used -= c.sizes[o]
	delete(c.sizes, o)
}

func (c *cached) serve(r policies.Request) (hit bool) {
	c.left = nil
	for {
		o, ok := c.policy.Expired(r.Time)
		if !ok {
			break
		}
		c.leave(o)
	}
	if c.sizes[r.Object] != 0 {
		c.policy.Hit(r)
		return true
	}
	if r.Size > c.capacity {
		return false
	}
	c.policy.Miss(r)
	for c.used+r.Size > c.capacity {
		c.leave(c.policy.Victim(r))
	}
	c.policy.Insert(r)
	c.sizes[r.Object] = r.Size
	c.used += r.Size
	return false
}

func TestTwoRandomEvictsToItsLowWaterMarks(t *testing.T) {
	for _, test := range []struct {
		spec string
		left int // after the cache of 1000 was full and the next request came
	}{
		{"2-random", 950},                    // 95% of the capacity
		{"2-random(low=1)", 990},             // 99% of the 1001 objects, rounded down
		{"2-random(low=1,items=1)", 1000},    // just room for the last object
		{"2-random(low=0.6)", 600},           //
		{"2-random(low=0)", 501},             // a pass draws each of the 1000 once: one of each pair, never the last object
		{"2-random(low=1,items=0.5)", 501},   //
		{"2-random(low=1,items=0.25)", 501},  //
		{"2-random(low=0.9,items=0.2)", 501}, //
	} {
		p, c := newTwoRandomOf(t, test.spec, policies.Config{Capacity: 1000, Unit: true, Objects: 1002, Seed: 1})
		for o := range policies.Object(1001) {
			c.serve(policies.Request{Object: o, Size: 1})
		}
		c.serve(policies.Request{Object: 1000, Size: 1})
		if len(c.sizes) != test.left || len(p.All) != test.left {
			t.Errorf("%s: %d objects are left, the policy knows %d, want %d", test.spec, len(c.sizes), len(p.All),
				test.left)
		}
		if c.sizes[1000] == 0 {
			t.Errorf("%s: the object that was loaded last has left", test.spec)
		}
	}
}

// Of two objects drawn at random the older one leaves, so of n objects the one with age rank i, from 0 for the oldest,
// is the first victim with probability 2(n-1-i)/(n(n-1)).
func TestTwoRandomPrefersOldObjects(t *testing.T) {
	const n, rounds = 5, 40000
	var first [n]int
	for seed := range uint64(rounds) {
		config := policies.Config{Capacity: n, Unit: true, Objects: n + 1, Seed: seed}
		_, c := newTwoRandomOf(t, "2-random(low=1,items=1)", config)
		for _, o := range []policies.Object{4, 3, 2, 1, 0, 1, 2, 3, 4, 5} { // 0 is the oldest after these
			c.serve(policies.Request{Object: o, Size: 1})
		}
		first[c.left[0]]++
	}
	for i, have := range first {
		want := rounds * 2 * float64(n-1-i) / (n * (n - 1))
		if deviation := math.Abs(float64(have) - want); deviation > 5*math.Sqrt(want) {
			t.Errorf("the object of rank %d was the first victim %d times, want %.0f", i, have, want)
		}
	}
}

func TestTwoRandomCountsOverheads(t *testing.T) {
	_, c := newTwoRandomOf(t, "2-random(overhead=10,low=1,items=1)", policies.Config{Capacity: 100, Objects: 10, Seed: 1})
	for o := range policies.Object(6) {
		c.serve(policies.Request{Object: o, Size: 10})
	}
	c.serve(policies.Request{Object: 5, Size: 10})
	if len(c.sizes) != 5 { // 5 objects of 10 and an overhead of 10 each
		t.Errorf("%d objects of 20 with their overhead in a cache of 100", len(c.sizes))
	}
	_, c = newTwoRandomOf(t, "2-random(overhead=10)", policies.Config{Capacity: 100, Unit: true, Objects: 100, Seed: 1})
	for o := range policies.Object(100) {
		c.serve(policies.Request{Object: o, Size: 1})
	}
	if len(c.sizes) != 100 {
		t.Errorf("%d objects in a cache of 100: overheads are in bytes", len(c.sizes))
	}
}

func TestTwoRandomExpires(t *testing.T) {
	_, c := newTwoRandomOf(t, "2-random(expire=10)", policies.Config{Capacity: 100, Unit: true, Objects: 10, Seed: 1})
	const second = 1_000_000_000
	for _, step := range []struct {
		at   int64
		o    policies.Object
		left []policies.Object
	}{
		{0, 0, nil}, {5, 1, nil}, {9, 0, nil}, {14, 2, nil},
		{15, 2, []policies.Object{1}}, // 10 s after its request
		{19, 3, []policies.Object{0}}, // 10 s after its second request
	} {
		c.serve(policies.Request{Object: step.o, Size: 1, Time: step.at * second})
		if !slices.Equal(c.left, step.left) {
			t.Errorf("at %d s %v have left, want %v", step.at, c.left, step.left)
		}
	}
}

// What the policy knows of residents and of their sizes stays right, whatever leaves for whatever reason.
func TestTwoRandomKeepsItsAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := policies.Config{
			Capacity: rapid.Int64Range(1, 40).Draw(t, "capacity"),
			Unit:     rapid.Bool().Draw(t, "unit"),
			Objects:  30,
			Seed:     rapid.Uint64().Draw(t, "seed"),
		}
		sizes := slices.Repeat([]int64{1}, c.Objects)
		if !c.Unit {
			sizes = rapid.SliceOfN(rapid.Int64Range(1, 12), c.Objects, c.Objects).Draw(t, "sizes")
		}
		p, cache := newTwoRandomOf(t, rapid.SampledFrom([]string{"2-random", "2-random(low=0.5,items=0.5)",
			"2-random(overhead=3)", "2-random(expire=2)"}).Draw(t, "spec"), c)
		requests := rapid.IntRange(1, 300).Draw(t, "requests")
		trace := rapid.SliceOfN(rapid.Uint32Range(0, 29), requests, requests).Draw(t, "trace")
		for i, o := range trace {
			cache.serve(policies.Request{Object: o, Size: sizes[o], Pos: i, Time: int64(i) * 1e8})
			if drop := policies.Object(rapid.IntRange(0, 29).Draw(t, "drop")); cache.sizes[drop] != 0 && drop%3 == 0 {
				p.Remove(drop)
				cache.leave(drop)
			}
			used := cache.used + p.overhead*int64(len(cache.sizes))
			if len(p.All) != len(cache.sizes) || p.used != used || p.Front > len(p.All) {
				t.Fatalf("%d residents of %d with overheads, want %d of %d; %d undrawn", len(p.All), p.used, len(cache.sizes),
					used, p.Front)
			}
			for i, o := range p.All {
				if cache.sizes[o] == 0 || p.At[o] != uint32(i)+1 {
					t.Fatalf("object %d is at place %d by its number, %d by the list", o, p.At[o], i+1)
				}
			}
		}
	})
}
