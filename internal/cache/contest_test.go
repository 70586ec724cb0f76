package cache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// TestContestIsTinyLFU: before LRU the admission is the policy tinylfu, in every hit, without chance and with it.
func TestContestIsTinyLFU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 600, 60)
		c := configOf(t, tr, "lru", "", int64(rapid.IntRange(1, 40).Draw(t, "capacity")), true)
		c.Seed = rapid.Uint64Range(0, 5).Draw(t, "seed of chance")
		params := rapid.SampledFrom([]string{"(jitter=0)", "(jitter=0.5,warm=2)", "(rule=simulator,doorkeeper=true)"}).
			Draw(t, "parameters")
		_, got := serveAll(t, guarded(t, c, "tinylfu"+params))
		policy := configOf(t, tr, "tinylfu"+params, "", c.Capacity, true)
		policy.Seed = c.Seed
		if _, want := serveAll(t, policy); got.Hits != want.Hits || got.Evictions != want.Evictions {
			t.Fatalf("%d hits and %d evictions before lru; want %d and %d", got.Hits, got.Evictions, want.Hits,
				want.Evictions)
		}
	})
}

// decided is a contest that always ends in the same way. It counts what it is told.
type decided struct {
	wins     bool
	resident int
}

func (*decided) Request(requests.Request, int)                   {}
func (*decided) Admit(requests.Request) bool                     { return true }
func (d *decided) Wins(requests.Request, []requests.Object) bool { return d.wins }
func (d *decided) Resident(change int)                           { d.resident += change }

// TestContestWithEveryPolicy: if objects always win, every policy does what it does without a contest; if they never
// win, what is resident stays so.
func TestContestWithEveryPolicy(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		policytest.ForEach(t, bytes, func(t *testing.T, e policies.Entry) {
			if e.Kind == policies.Bound || e.Kind == policies.Offline {
				return
			}
			tr := policytest.Trace(5, 2000, 300)
			c := configOf(t, tr, "lru", "", policytest.CapacityFor(e, 40), !bytes)
			build := func(a admit.Admission) *Exact {
				built := NewExact(policytest.Build(t, e, tr, c.Capacity, c.Unit), c.Capacity, tr.NumObjects)
				if built.expirer != nil {
					must.Fail(t, (&Guard{admission: a}).Before(built.Pool), "by itself")
					t.SkipNow()
				}
				must.Do(t, (&Guard{admission: a}).Before(built.Pool))
				return built
			}
			plain := NewExact(policytest.Build(t, e, tr, c.Capacity, c.Unit), c.Capacity, tr.NumObjects)
			always, never := &decided{wins: true}, &decided{}
			winning, losing := build(always), build(never)
			var loaded []policies.Object
			// A policy may evict some objects and then pass a large one by. In a contest these stay until another wins.
			passed := false
			for pos := range tr.Objects {
				var n, m Counts
				plain.Serve(WindowOf(tr, pos, pos+1, bytes, make([]int64, 1)), &n)
				passed = passed || bytes && !plain.Holds(tr.Objects[pos])
				winning.Serve(WindowOf(tr, pos, pos+1, bytes, make([]int64, 1)), &m)
				if (n.Hits != m.Hits || n.Evictions != m.Evictions) && !passed {
					t.Fatalf("request %d: %d hits and %d evictions, without a contest %d and %d", pos, m.Hits, m.Evictions,
						n.Hits, n.Evictions)
				}
				losing.Serve(WindowOf(tr, pos, pos+1, bytes, make([]int64, 1)), &m)
				if o := tr.Objects[pos]; losing.Holds(o) && !slices.Contains(loaded, o) {
					loaded = append(loaded, o)
				}
			}
			for _, o := range loaded {
				if !losing.Holds(o) {
					t.Errorf("object %d has left, although no other wins", o)
				}
			}
			if len(loaded) == 0 != (e.Name == "no-cache") || never.resident > len(loaded) || always.resident > winning.Len()+1 {
				t.Errorf("%d objects loaded, %d counted; %d resident, %d counted", len(loaded), never.resident, winning.Len(),
					always.resident)
			}
		})
	}
}

// TestContestComparesAll: an object needs the place of two that were requested twice each. It is admitted at its fifth
// request, not before, since it must have more than all that would leave for it.
func TestContestComparesAll(t *testing.T) {
	tr := &traces.Trace{NumObjects: 3, Objects: []uint32{0, 0, 1, 1, 2, 2, 2, 2, 2, 2}, ObjectSizes: []int64{50, 50, 100}}
	c := guarded(t, configOf(t, tr, "lru", "", 100, false), "tinylfu(jitter=0)")
	built := must.Get(newExactCache(c))(t)
	for pos := range tr.Objects {
		var n Counts
		built.Serve(WindowOf(tr, pos, pos+1, true, make([]int64, 1)), &n)
		if got, want := built.(*Exact).Holds(2), pos >= 8; got != want {
			t.Errorf("after request %d: resident %v, want %v", pos, got, want)
		}
	}
}
