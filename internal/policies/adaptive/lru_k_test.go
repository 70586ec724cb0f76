package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestLRUKWithOneIsLRU(t *testing.T) {
	for _, spec := range []string{"lru-k(k=1)", "lru-k(k=1,history=0)"} {
		policytest.CheckAgainstNaive(t, spec, func(capacity int64) *policytest.Naive {
			c := policytest.NewNaive(capacity)
			c.Rank = func(s *policytest.NaiveObject, _ int) float64 { return float64(s.Last) }
			return c
		})
	}
}

func TestLRUKExamples(t *testing.T) {
	for _, test := range []struct {
		spec  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		// 0 and 1 have two requests. 2, requested once, leaves before them although it was requested last.
		{"lru-k", []uint32{0, 1, 0, 1, 2, 3}, []uint32{2}},
		// Then, of those with two, the one whose second last request is older: 0 (at 1) before 1 (at 2).
		{"lru-k", []uint32{0, 1, 2, 2, 1, 0, 3}, []uint32{0}},
		// The evicted 2 is remembered: its return is a second request, and 3 leaves.
		{"lru-k", []uint32{0, 1, 0, 1, 2, 3, 2, 4}, []uint32{2, 3, 0}},
		{"lru-k(history=0)", []uint32{0, 1, 0, 1, 2, 3, 2, 4}, []uint32{2, 3, 2}},
		// There is room for one ghost, 2, which is requested: 3, evicted by that, must not displace it before it is read.
		{"lru-k(history=0.4)", []uint32{0, 1, 0, 1, 2, 3, 2, 4}, []uint32{2, 3, 0}},
		// The two requests to 2 are one burst, so 2 has been seen once.
		{"lru-k(crp=1)", []uint32{0, 1, 0, 1, 2, 2, 0, 3}, []uint32{2}},
		// 2 and 3 came within the last two requests and may not leave.
		{"lru-k(crp=2)", []uint32{0, 1, 0, 1, 0, 2, 3}, []uint32{1}},
		// The burst of 0 at 1 and 3 counts as one request at 3, so its second last request is after that of 1 at 2.
		{"lru-k(crp=2)", []uint32{0, 1, 0, 2, 2, 2, 1, 0, 2, 2, 2, 3}, []uint32{1}},
	} {
		d := policytest.Drive(t, test.spec, policies.Config{Capacity: 3, Unit: true, Objects: 5, Requests: len(test.trace)})
		if got := d.ServeAll(test.trace...); !slices.Equal(got, test.want) {
			t.Errorf("%s, trace %v: victims %v, want %v", test.spec, test.trace, got, test.want)
		}
	}
}

// slowLRUK is Figure 2.1 of the paper on maps. It forgets the requests of evicted objects beyond the bound on their
// number, the object evicted longest ago first.
type slowLRUK struct {
	capacity, k, crp, bound int
	hist                    map[policies.Object][]int
	last                    map[policies.Object]int
	resident, evicted       []uint32
}

func (s *slowLRUK) Serve(p policies.Object, _ int64, now int) (hit bool, victims []uint32) {
	t := now + 1
	if slices.Contains(s.resident, p) {
		if t-s.last[p] > s.crp {
			correlated := s.last[p] - s.hist[p][0]
			for i := s.k - 1; i > 0; i-- {
				if s.hist[p][i] = s.hist[p][i-1]; s.hist[p][i] > 0 {
					s.hist[p][i] += correlated
				}
			}
			s.hist[p][0] = t
		}
		s.last[p] = t
		return true, nil
	}
	before := make([]int, s.k)
	if slices.Contains(s.evicted, p) {
		before = s.hist[p]
		s.evicted = policytest.Without(s.evicted, p)
	}
	if len(s.resident) == s.capacity {
		v := s.victim(t)
		s.resident = policytest.Without(s.resident, v)
		s.evicted = append(s.evicted, v)
		s.evicted = s.evicted[max(0, len(s.evicted)-s.bound):]
		victims = append(victims, v)
	}
	s.hist[p] = append([]int{t}, before[:s.k-1]...)
	s.last[p] = t
	s.resident = append(s.resident, p)
	return false, victims
}

func (s *slowLRUK) victim(t int) policies.Object {
	candidates := slices.Clone(s.resident)
	eligible := func(o policies.Object) bool { return t-s.last[o] > s.crp }
	if slices.ContainsFunc(candidates, eligible) {
		candidates = slices.DeleteFunc(candidates, func(o policies.Object) bool { return !eligible(o) })
	} else { // the paper does not say; we use LRU
		return slices.MinFunc(candidates, func(a, b policies.Object) int { return s.last[a] - s.last[b] })
	}
	return slices.MinFunc(candidates, func(a, b policies.Object) int {
		if d := s.hist[a][s.k-1] - s.hist[b][s.k-1]; d != 0 {
			return d
		}
		return s.last[a] - s.last[b]
	})
}

func TestLRUKEqualsPaper(t *testing.T) {
	for _, test := range []struct {
		spec    string
		k, crp  int
		history float64
	}{
		{"lru-k", 2, 0, 1},
		{"lru-k(history=0.3)", 2, 0, 0.3},
		{"lru-k(k=3,history=2)", 3, 0, 2},
		{"lru-k(k=3,history=100)", 3, 0, 100},
		{"lru-k(crp=3,history=1)", 2, 3, 1},
		{"lru-k(k=4,crp=20,history=100)", 4, 20, 100},
	} {
		t.Run(test.spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawUnitWorkload(t)
				want := &slowLRUK{capacity: int(w.Config.Capacity), k: test.k, crp: test.crp,
					bound: int(float64(w.Config.Capacity) * test.history), hist: map[policies.Object][]int{},
					last: map[policies.Object]int{}}
				w.SameVictims(t, policytest.Drive(t, test.spec, w.Config), want)
			})
		})
	}
}

func TestLRUKHistoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		spec := rapid.SampledFrom([]string{"lru-k", "lru-k(crp=4,history=0.5)", "lru-k(history=0)"}).Draw(t, "spec")
		d := policytest.Drive(t, spec, w.Config)
		w.AfterEachRequest(t, d, func() {
			p := d.Policy.(*lruK)
			var ghosts int64
			for _, o := range policytest.Listed(&p.lists, lruKGhosts) {
				ghosts += w.Sizes[o]
			}
			if ghosts != p.ghosts || ghosts > p.limit {
				t.Fatalf("%d remembered, counted %d, limit %d", ghosts, p.ghosts, p.limit)
			}
			for o := range p.where {
				if known := p.of(policies.Object(o))[0] != 0; known != (p.where[o] != lruKAbsent) {
					t.Fatalf("object %d: place %d, history %v", o, p.where[o], p.of(policies.Object(o)))
				}
			}
		})
	})
}
