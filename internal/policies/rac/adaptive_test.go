package rac

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// newCache is a semantic cache of a graph under a policy.
func newCache(tb rapid.TB, text string, capacity int, g *graph, hitFrom float32) *cacheOf {
	tb.Helper()
	spec := must.Get(policies.Registry.Parse(text))(tb)
	c := policies.Config{Capacity: int64(capacity), Unit: true, Objects: g.n, Params: spec.Params}
	if spec.Entry.Relates {
		c.Relations = &policies.Relations{Similar: g.neighbours(), HitFrom: hitFrom, Tau: hitFrom}
	}
	p := must.Get(spec.Entry.New(c))(tb)
	return &cacheOf{policy: p, graph: g, tauHit: hitFrom, capacity: capacity, resident: map[policies.Object]bool{}}
}

// sameDecisions replays random requests to a random graph under two policies, which must hit and evict the same.
func sameDecisions(t *testing.T, a, b string) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(rapid.Uint64().Draw(t, "graph"), rapid.IntRange(2, 40).Draw(t, "queries"))
		capacity := rapid.IntRange(1, 12).Draw(t, "capacity")
		hitFrom := rapid.SampledFrom([]float32{0.7, 0.85, 2}).Draw(t, "hit")
		x, y := newCache(t, a, capacity, g, hitFrom), newCache(t, b, capacity, g, hitFrom)
		for i, q := range policytest.DrawTrace(t, policies.Object(g.n), 300) {
			entry, hit, victims := x.serve(q)
			wantEntry, wantHit, want := y.serve(q)
			if entry != wantEntry || hit != wantHit || !slices.Equal(victims, want) {
				t.Fatalf("request %d to %d: hit %v by %d, victims %v; want hit %v by %d, victims %v", i, q, hit, entry, victims,
					wantHit, wantEntry, want)
			}
		}
	})
}

// All entries but one were used last: what is left to RAC is the least recently used one.
func TestLimitOfAllButOneIsLRU(t *testing.T) {
	sameDecisions(t, "rac-adaptive(among=rac,limit=1)", "lru")
}

func TestWithoutAdaptationIsRAC(t *testing.T) {
	sameDecisions(t, "rac-adaptive(among=rac,limit=0,beta=0,topic-weight=1,alpha=1/C,tau-route=0.6)", "rac")
}

// One policy to follow is that policy, where only the same object answers.
func TestFollowsItsOnlyPolicy(t *testing.T) {
	for _, name := range []string{amongLRU, amongS3FIFO, amongLIRS} {
		rapid.Check(t, func(t *rapid.T) {
			w := policytest.DrawWorkload(t)
			if !w.Config.Unit {
				t.Skip("capacities count objects")
			}
			w.SameVictims(t, policytest.Drive(t, "rac-adaptive(among="+name+")", w.Config),
				policytest.Drive(t, name, w.Config))
		})
	}
}

// naiveQueue evicts the object of least worth, which it computes from all requests.
type naiveQueue struct {
	capacity int
	stays    int // objects used last that stay
	worth    func(uses, loads []int, now int) float64
	uses     map[policies.Object][]int // times of all requests
	loads    map[policies.Object][]int // and of those that missed
	resident map[policies.Object]bool
}

func (n *naiveQueue) Serve(o policies.Object, _ int64, now int) (hit bool, victims []policies.Object) {
	n.uses[o] = append(n.uses[o], now)
	if n.resident[o] {
		return true, nil
	}
	n.loads[o] = append(n.loads[o], now)
	if len(n.resident) == n.capacity {
		var all []policies.Object
		for r := range n.resident {
			all = append(all, r)
		}
		last := func(r policies.Object) int { return n.uses[r][len(n.uses[r])-1] }
		slices.SortFunc(all, func(a, b policies.Object) int { return cmp.Compare(last(b), last(a)) })
		all = all[n.stays:]
		worth := func(r policies.Object) float64 { return n.worth(n.uses[r], n.loads[r], now) }
		v := slices.MinFunc(all, func(a, b policies.Object) int {
			if x, y := worth(a), worth(b); math.Abs(x-y) > 1e-9*math.Abs(x) {
				return cmp.Compare(x, y)
			}
			return cmp.Compare(last(a), last(b))
		})
		delete(n.resident, v)
		victims = append(victims, v)
	}
	n.resident[o] = true
	return false, victims
}

func checkAgainstQueue(t *testing.T, name string, stays func(capacity int) int,
	worth func(capacity int, beta float64) func(uses, loads []int, now int) float64) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		capacity := int(w.Config.Capacity)
		if !w.Config.Unit {
			t.Skip("capacities count objects")
		}
		beta := rapid.SampledFrom([]float64{0.37 / float64(capacity), 8}).Draw(t, "beta") // with 8, sums are scaled down
		w.SameVictims(t, policytest.Drive(t, fmt.Sprintf("rac-adaptive(memory=2,beta=%v,among=%s)", beta, name), w.Config),
			&naiveQueue{capacity: capacity, stays: stays(capacity), worth: worth(capacity, beta),
				uses: map[policies.Object][]int{}, loads: map[policies.Object][]int{}, resident: map[policies.Object]bool{}})
	})
}

// Requests fade, and all before an absence longer than the memory are forgotten, if the object had left.
func TestFrequentEqualsNaive(t *testing.T) {
	stays := func(capacity int) int { return int(frequentLimit * float64(capacity)) }
	checkAgainstQueue(t, amongFrequent, stays, func(capacity int, beta float64) func(uses, loads []int, now int) float64 {
		return func(uses, loads []int, now int) (sum float64) {
			for i, at := range uses {
				if i > 0 && at-uses[i-1] > 2*capacity && slices.Contains(loads, at) {
					sum = 0
				}
				sum += math.Exp2(-beta * float64(now-at))
			}
			return sum
		}
	})
}

// The clock of spent counts the requests that it serves, as naiveQueue does.
func TestSpentEqualsNaive(t *testing.T) {
	stays := func(int) int { return 0 }
	checkAgainstQueue(t, amongSpent, stays, func(capacity int, _ float64) func(uses, loads []int, now int) float64 {
		return func(uses, loads []int, _ int) float64 {
			last := uses[len(uses)-1]
			if last > loads[len(loads)-1] {
				return float64(last - spentAge*capacity)
			}
			return float64(last)
		}
	})
}

// What a directory holds does not depend on the others that use the same history.
func TestDirectoriesShareAHistory(t *testing.T) {
	makers := []func(h *history, capacity int64, objects int) directory{
		func(h *history, _ int64, _ int) directory { return newLRU(h) },
		func(h *history, capacity int64, _ int) directory { return newSpent(h, capacity) },
		func(h *history, capacity int64, objects int) directory {
			return newFrequent(h, "0.1/C", 3, capacity, objects)
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		const objects = 30
		capacity := int64(rapid.IntRange(1, 12).Draw(t, "capacity"))
		shared := newHistory(objects)
		var together, alone []directory
		var own []*history
		for _, maker := range makers {
			h := newHistory(objects)
			own = append(own, h)
			together, alone = append(together, maker(shared, capacity, objects)), append(alone, maker(h, capacity, objects))
		}
		for at, o := range policytest.DrawTrace(t, objects, 400) {
			r := policies.Request{Object: o, Query: o, Size: 1}
			switch at % 50 {
			case 20:
				r.Reason = policies.Prefetch
			case 49:
				capacity = 1 + (capacity*7+3)%12
			}
			for i, d := range together {
				if at%50 == 49 {
					d.Resize(capacity)
					alone[i].Resize(capacity)
				} else if at%50 == 30 {
					d.Drop(o)
					alone[i].Drop(o)
				}
				hit, want := d.Serve(r, capacity), alone[i].Serve(r, capacity)
				if hit != want || !slices.Equal(d.Evicted(), alone[i].Evicted()) || !d.Has(o) {
					t.Fatalf("directory %d, request %d to %d: hit %v, evicted %v; alone hit %v, evicted %v", i, at, o, hit,
						d.Evicted(), want, alone[i].Evicted())
				}
				own[i].use(o)
			}
			shared.use(o)
		}
	})
}

// consistent fails unless residents and labels point at each other, and exactly those are held whose labels the leader
// holds.
func consistent(t rapid.TB, c *cacheOf) {
	p := c.policy.(*adaptive)
	labels := p.history.labels
	heldCount := 0
	for o := range policies.Object(c.graph.n) {
		if c.resident[o] != p.residents.Has(o) {
			t.Fatalf("object %d is resident: %v, for the policy: %v", o, c.resident[o], p.residents.Has(o))
		}
		if s := labels[o].standIn; s != none && (!c.resident[s] || labels[s].of != o) {
			t.Fatalf("label %d has the stand-in %d, which is resident: %v, with the label %d", o, s, c.resident[s], labels[s].of)
		}
		if !c.resident[o] {
			continue
		}
		if p.residents.IsHeld(o) != p.holds(o) {
			t.Fatalf("object %d is held: %v, want %v", o, p.residents.IsHeld(o), p.holds(o))
		}
		if p.residents.IsHeld(o) {
			heldCount++
		}
		if l := labels[o].of; l != o && c.graph.sim(l, o) < c.tauHit {
			t.Fatalf("object %d has the label %d, which would not answer it", o, l)
		}
	}
	if heldCount > c.capacity || len(c.resident) > c.capacity {
		t.Fatalf("%d held of %d residents at a capacity of %d", heldCount, len(c.resident), c.capacity)
	}
}

func TestLabelsStayConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(rapid.Uint64().Draw(t, "graph"), rapid.IntRange(2, 40).Draw(t, "queries"))
		capacity := rapid.IntRange(1, 12).Draw(t, "capacity")
		hitFrom := rapid.SampledFrom([]float32{0.7, 0.85, 2}).Draw(t, "hit")
		memory := rapid.SampledFrom([]int{1, 3, 20}).Draw(t, "memory")
		order := rapid.Permutation(allAmong).Draw(t, "order")
		among := strings.Join(order[:rapid.IntRange(2, len(order)).Draw(t, "policies")], "/")
		c := newCache(t, fmt.Sprintf("rac-adaptive(memory=%d,among=%s)", memory, among), capacity, g, hitFrom)
		for i, q := range policytest.DrawTrace(t, policies.Object(g.n), 300) {
			c.serve(q)
			if i%20 == 7 && c.resident[q] {
				c.policy.Remove(q)
				delete(c.resident, q)
			}
			consistent(t, c)
		}
	})
}

// Query 0 answers 1, 2 and 3, which do not answer each other: one of them stands for it when it has left, and the
// others have labels of their own, so that all three stay.
func TestOneStandsForALabel(t *testing.T) {
	g := &graph{n: 7, from: 0.2, sims: map[[2]uint32]float32{{0, 1}: 0.9, {0, 2}: 0.9, {0, 3}: 0.9}}
	c := newCache(t, "rac-adaptive(among=lru/spent)", 3, g, 0.85)
	for _, q := range []policies.Object{0, 4, 5, 6, 1, 2, 3} {
		if _, hit, _ := c.serve(q); hit {
			t.Fatalf("%d hits, want misses", q)
		}
		consistent(t, c)
	}
	for q := range policies.Object(3) {
		if _, hit, _ := c.serve(q + 1); !hit {
			t.Errorf("%d has left, want room for all that are asked for", q+1)
		}
	}
}

// Popular objects between others that never return, where lru keeps too many of those, and then a popularity that
// moves, where frequent objects are old ones.
func TestAdaptiveFollowsTheBest(t *testing.T) {
	const objects, capacity, length = 3000, 100, 60_000
	random := rand.New(rand.NewPCG(1, 2))
	requests := make([]policies.Object, length)
	for i := range requests {
		if i/15_000%2 == 0 {
			if requests[i] = policies.Object(random.ExpFloat64() * 40); i%3 > 0 {
				requests[i] = policies.Object(1000 + i%2000)
			}
			continue
		}
		requests[i] = policies.Object(200 + (i/20+int(random.ExpFloat64()*30))%(objects-200))
	}
	misses := func(policy string) (n int) {
		d := policytest.Drive(t, policy, policies.Config{Capacity: capacity, Unit: true, Objects: objects,
			Requests: length})
		for i, o := range requests {
			if hit, _ := d.Serve(o, 1, i); !hit {
				n++
			}
		}
		return n
	}
	both := misses("rac-adaptive(among=frequent/lru)")
	lru, frequent := misses("lru"), misses("rac-adaptive(among=frequent)")
	if both >= lru || both >= frequent {
		t.Errorf("%d misses; lru alone has %d, frequent alone %d", both, lru, frequent)
	}
}

// In a loop that does not fit, lru never hits, and rac-adaptive is soon as good as lirs.
func TestAdaptiveWithstandsLoops(t *testing.T) {
	const objects, capacity, length = 250, 100, 20_000
	hits := func(policy string) (n int) {
		d := policytest.Drive(t, policy, policies.Config{Capacity: capacity, Unit: true, Objects: objects, Requests: length})
		for i := range length {
			if hit, _ := d.Serve(policies.Object(i%objects), 1, i); hit {
				n++
			}
		}
		return n
	}
	lru, lirs, got := hits("lru"), hits("lirs"), hits("rac-adaptive")
	if lru != 0 || float64(got) < 0.9*float64(lirs) {
		t.Errorf("%d hits; lru has %d, lirs %d", got, lru, lirs)
	}
}

func TestAdaptiveCounters(t *testing.T) {
	g := randomGraph(1, 40)
	c := newCache(t, "rac-adaptive(limit=0.5)", 10, g, 0.85)
	for _, q := range requestsTo(4, g.n, 3000) {
		c.serve(q)
	}
	value := map[string]float64{}
	for _, counter := range c.policy.(policies.Reporter).Counters() {
		value[counter.Name()] = counter.Value
	}
	led, limit := 0.0, 0.0
	for name, of := range map[string]float64{amongRAC: 0.5, amongFrequent: frequentLimit, amongLRU: 1, amongSpent: 0,
		amongLIRS: 0} {
		led += value[ledShare.Of(name)]
		limit += value[ledShare.Of(name)] * of
	}
	if math.Abs(led-1) > 1e-9 || math.Abs(limit-value[meanLimit.Name]) > 1e-9 || value[topicsAlive.Name] == 0 ||
		value[leaderChanges.Name] == 0 {
		t.Errorf("the shares add up to %v, the limits to %v: %v", led, limit, value)
	}
}

func TestAdaptiveRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"rac-adaptive(among=rac/arc)": `"arc" is unknown or there twice; want some of rac/frequent/lru/spent/lirs/s3fifo`,
		"rac-adaptive(among=lru/lru)": `"lru" is unknown or there twice`,
		"rac-adaptive(beta=-1)":       "beta=-1: want a number from 0 to 16, or one divided by the capacity",
		"rac-adaptive(alpha=x)":       "alpha=x: want a number",
		"rac-adaptive(alpha=17/C)":    "alpha=17/C: want a number from 0 to 16",
		"rac-adaptive(limit=1.5)":     "from 0 to 1",
	} {
		must.NotGet(policies.Registry.Parse(text))(t, want, text)
	}
}
