package allocate

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

// texts are allocators with parameters that every one of them must survive, those of the registry with their
// defaults.
func texts() (list []string) {
	for _, e := range Registry.All() {
		named := []string{"static", "guarantee", "isolated", "quiver", "batch-sizes"} // they name tenants
		if !slices.Contains(named, e.Name) {
			list = append(list, e.Name)
		}
	}
	return append(list, "static(shares=3,rest=1)", "guarantee(shares=3,rest=1)", "isolated(shares=3,rest=1)",
		"proportional(to=misses,weight=1)",
		"proportional(to=footprint,floor=0.3)", "ucp(ways=2,tags=1)", "optimal(steps=3)",
		"marginal(hysteresis=1,least_mb=0)", "marginal(shift_mb=0.000001,least_mb=0.000002,weight=1)")
}

func build(t must.TB, text string, tenants []string) Allocator {
	t.Helper()
	s := must.Get(Registry.Parse(text))(t)
	return must.Get(New(s, tenants))(t)
}

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("t%d", i)
	}
	return list
}

// ask asks an allocator and checks what it answers.
func ask(t rapid.TB, a Allocator, s *State) []int64 {
	t.Helper()
	capacities := make([]int64, len(s.Pools))
	for i, p := range s.Pools {
		capacities[i] = p.Capacity
	}
	a.Allocate(s, capacities)
	var sum int64
	for i, c := range capacities {
		if c < 0 {
			t.Fatalf("epoch %d: pool %d has the capacity %d", s.Epoch, i, c)
		}
		sum += c
	}
	if sum > s.Capacity {
		t.Fatalf("epoch %d: the pools have %d together, which is more than %d", s.Epoch, sum, s.Capacity)
	}
	return capacities
}

// drawPools draws what an epoch of the pools may look like, with what the allocator needs and nothing else.
func drawPools(t *rapid.T, needs Needs, capacity int64, pools []Pool) {
	for i := range pools {
		p := &pools[i]
		p.Requests = rapid.Int64Range(0, 1000).Draw(t, "requests")
		p.Hits = rapid.Int64Range(0, p.Requests).Draw(t, "hits")
		p.Used = rapid.Int64Range(0, p.Capacity).Draw(t, "used")
		if needs.Streams {
			p.ID = i
			p.Pattern = streams.Pattern(rapid.IntRange(0, 3).Draw(t, "pattern"))
			p.Objects = rapid.Int64Range(0, p.Used).Draw(t, "objects")
			p.Data = rapid.Int64Range(0, 1<<45).Draw(t, "data")
			p.GhostHits = rapid.Int64Range(0, p.Requests-p.Hits).Draw(t, "ghost hits")
		}
		if needs.Footprint {
			p.Footprint = rapid.Int64Range(0, 1<<40).Draw(t, "footprint")
		}
		if needs.Curves != nil {
			m := NewMonitor(*needs.Curves, capacity, 1)
			for range rapid.IntRange(0, 60).Draw(t, "length") {
				m.Request(rapid.Uint32Range(0, 9).Draw(t, "object"), 1+capacity/20, true)
			}
			p.Curve = m.Curve()
		}
	}
}

// Whatever the pools do, capacities are at most the whole together and none is negative, two of a kind divide alike,
// and there may be fewer objects of capacity than pools.
func TestSuite(t *testing.T) {
	for _, text := range texts() {
		t.Run(text, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(1, 8).Draw(t, "tenants")
				capacity := rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Range(0, 1<<45)).Draw(t, "capacity")
				a, twin := build(t, text, names(n)), build(t, text, names(n))
				s := &State{Capacity: capacity, Pools: make([]Pool, n)}
				for range rapid.IntRange(1, 5).Draw(t, "epochs") {
					if s.Epoch > 0 || a.Needs().Curves != nil && a.Needs().Curves.Whole {
						drawPools(t, a.Needs(), capacity, s.Pools)
					}
					got := ask(t, a, s)
					if again := ask(t, twin, s); !slices.Equal(got, again) {
						t.Fatalf("epoch %d: %v, and %v the second time", s.Epoch, got, again)
					}
					for i := range s.Pools {
						s.Pools[i].Capacity = got[i]
					}
					s.Epoch++
				}
			})
		})
	}
}

// A tenant alone has everything, at least once it has requested something; so do all of them together.
func TestNothingLiesIdle(t *testing.T) {
	for _, text := range texts() {
		for _, n := range []int{1, 2, brief.Of(10000, 1000)} {
			for _, capacity := range []int64{1, 5000, 1 << 40} {
				a := build(t, text, names(n))
				s := &State{Capacity: capacity, Pools: make([]Pool, n)}
				for epoch := range 2 {
					s.Epoch = epoch
					got := ask(t, a, s)
					if total(got) != capacity {
						t.Errorf("%s, %d tenants, epoch %d: %d of %d given", text, n, epoch, total(got), capacity)
					}
					for i := range s.Pools {
						s.Pools[i] = Pool{Capacity: got[i], Requests: 5, Hits: 2, Footprint: 4,
							Curve: Curve{{Capacity: 1, Hits: 2}}}
					}
				}
			}
		}
	}
}

// The needs of an allocator do not change, and only one that knows the future sees the whole trace.
func TestNeeds(t *testing.T) {
	for _, text := range texts() {
		s := must.Get(Registry.Parse(text))(t)
		needs := build(t, text, names(2)).Needs()
		if whole := needs.Curves != nil && needs.Curves.Whole; whole != s.Entry.Future {
			t.Errorf("%s: sees the whole trace %v, but the entry says %v", text, whole, s.Entry.Future)
		}
		if needs.Every < 0 || needs.Period < 0 {
			t.Errorf("%s: %+v", text, needs)
		}
	}
}

func TestProportional(t *testing.T) {
	a := build(t, "proportional(weight=1,floor=0.2)", names(2))
	s := &State{Capacity: 100, Pools: []Pool{{Requests: 300}, {Requests: 100}}}
	if got, want := ask(t, a, s), []int64{70, 30}; !slices.Equal(got, want) {
		t.Errorf("300 and 100 requests: %v, want %v", got, want)
	}
	a = build(t, "proportional(to=misses)", names(2))
	s.Pools = []Pool{{Requests: 8, Hits: 0}, {Requests: 8, Hits: 8}}
	ask(t, a, s)
	s.Pools = []Pool{{Requests: 8, Hits: 8}, {Requests: 8, Hits: 2}}
	// averages of 0.5 x 8 x 0.5 = 2 and 0.5 x 6 = 3 misses
	if got, want := ask(t, a, s), []int64{40, 60}; !slices.Equal(got, want) {
		t.Errorf("two windows: %v, want %v", got, want)
	}
}

// Every entry says what users see of it.
func TestEntries(t *testing.T) {
	for _, e := range Registry.All() {
		if e.Summary == "" || e.Source == "" || e.New == nil {
			t.Errorf("%s: an empty field", e.Name)
		}
	}
	must.NotGet(Registry.Parse("upc"))(t, `did you mean "ucp"?`)
}
