package experts

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestRegret(t *testing.T) {
	x := newExperts(1)
	x.regret(recency, 0.45)
	// 0.5*e^-0.45 against 0.5.
	if want := math.Exp(-0.45) / (1 + math.Exp(-0.45)); !near(x.weights[recency], want) {
		t.Errorf("weight of recency %v, want %v", x.weights[recency], want)
	}
	x.regret(frequency, 0.45)
	if !near(x.weights[recency], 0.5) {
		t.Errorf("equal regrets leave %v, want 0.5", x.weights[recency])
	}
	x.regret(frequency, 100)
	if x.weights != [2]float64{0.99, 0.01} {
		t.Errorf("after a large regret: weights %v, want 0.99 and 0.01", x.weights)
	}
}

// With rate 0 nothing is learned, so a weight of 1 makes LeCaR one of its experts.
func TestLeCaRContainsItsExperts(t *testing.T) {
	for weight, spec := range map[expert]string{recency: "lru", frequency: "lfu"} {
		rapid.Check(t, func(t *rapid.T) {
			w := policytest.DrawWorkload(t)
			got := policytest.Drive(t, "lecar(rate=0,history=0,ties=lru)", w.Config)
			p := got.Policy.(*lecar)
			p.weights = [2]float64{}
			p.weights[weight] = 1
			w.SameVictims(t, got, policytest.Drive(t, spec, w.Config))
		})
	}
}

// A cache of 2 followed by hand: the evicted object returns after one more request.
func TestLeCaRBlamesTheExpertThatErred(t *testing.T) {
	d := policytest.Drive(t, "lecar", policies.Config{Capacity: 2, Unit: true, Objects: 4, Requests: 8})
	p := d.Policy.(*lecar)
	p.weights = [2]float64{1, 0}
	d.ServeAll(0, 0, 1) // LFU would evict 1, LRU evicts 0
	p.weights = [2]float64{0.5, 0.5}
	p.evict(0, recency)
	d.Drop(0)
	d.Serve(1, 1, 3)
	d.Serve(0, 1, 4)
	// 0 was away for 2 requests while one object was resident: 0.005^2 of the learning rate is left.
	loss := math.Exp(-0.45 * 0.005 * 0.005)
	if want := loss / (1 + loss); !near(p.weights[recency], want) {
		t.Errorf("weight of recency %v, want %v", p.weights[recency], want)
	}
	if got := p.requests(0); got != 3 {
		t.Errorf("the returned object has %d requests, want 3", got)
	}
}

// slowLeCaR is Algorithms 1 and 2 of the paper on slices and maps, with the rules of the authors' program.
type slowLeCaR struct {
	capacity, now int
	byKey         bool
	key           []uint64
	resident      []policies.Object       // the one requested last at the end
	count, left   map[policies.Object]int // requests, and when it was evicted
	histories     [2][]policies.Object    // of LRU and of LFU, the one evicted last at the end
	weights       [2]float64
	rng           *rand.Rand
}

func (s *slowLeCaR) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	without := func(list []policies.Object, o policies.Object) []policies.Object {
		return slices.DeleteFunc(slices.Clone(list), func(x policies.Object) bool { return x == o })
	}
	s.now++
	if hit = slices.Contains(s.resident, o); hit {
		s.count[o]++
		s.resident = append(without(s.resident, o), o)
		return true, nil
	}
	known := 0
	for by, history := range s.histories {
		if !slices.Contains(history, o) {
			continue
		}
		known = s.count[o]
		s.histories[by] = without(history, o)
		s.weights[by] *= math.Exp(-0.45 * math.Pow(0.005, float64(s.now-s.left[o])/float64(s.capacity)))
		sum := s.weights[0] + s.weights[1]
		s.weights[by] = max(s.weights[by]/sum, 0.01)
		s.weights[1-by] = 1 - s.weights[by]
	}
	if len(s.resident) == s.capacity {
		by, oldest := 0, s.resident[0]
		rarest := slices.MinFunc(s.resident, func(a, b policies.Object) int {
			if s.byKey {
				return cmp.Or(s.count[a]-s.count[b], cmp.Compare(s.key[a], s.key[b]))
			}
			return s.count[a] - s.count[b]
		})
		v := oldest
		if oldest != rarest && s.rng.Float64() >= s.weights[0] {
			by, v = 1, rarest
		}
		if oldest != rarest {
			s.left[v] = s.now
			s.histories[by] = append(s.histories[by], v)
			s.histories[by] = s.histories[by][max(0, len(s.histories[by])-s.capacity):]
		}
		s.resident = without(s.resident, v)
		victims = append(victims, v)
	}
	s.count[o] = known + 1
	s.resident = append(s.resident, o)
	return false, victims
}

// Keys are in another order than that of first appearance.
func TestLeCaREqualsNaive(t *testing.T) {
	for _, byKey := range []bool{true, false} {
		rapid.Check(t, func(t *rapid.T) {
			w := policytest.DrawWorkload(t)
			w.Config.Unit, w.Config.Seed = true, 9
			for o := range w.Sizes {
				w.Sizes[o] = 1
			}
			want := &slowLeCaR{capacity: int(w.Config.Capacity), byKey: byKey, count: map[policies.Object]int{},
				left: map[policies.Object]int{}, weights: [2]float64{0.5, 0.5}, rng: rand.New(rand.NewPCG(9, 0x1eca6))}
			for o := range w.Config.Objects {
				want.key = append(want.key, uint64(o)*7919%1000)
			}
			w.Config.Key = func(o policies.Object) uint64 { return want.key[o] }
			spec := "lecar"
			if byKey {
				spec = "lecar(ties=key)"
			}
			w.SameVictims(t, policytest.Drive(t, spec, w.Config), want)
		})
	}
}

func TestLeCaRInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		spec := rapid.SampledFrom([]string{"lecar", "lecar(ties=key)",
			"lecar(rate=5,history=0.4,counts=false)"}).Draw(t, "spec")
		d := policytest.Drive(t, spec, w.Config)
		w.AfterEachRequest(t, d, func() {
			p := d.Policy.(*lecar)
			if sum := p.weights[0] + p.weights[1]; !near(sum, 1) || min(p.weights[0], p.weights[1]) < 0.0099 {
				t.Fatalf("weights %v", p.weights)
			}
			var sizes [2]int64
			var live [2]int
			for i := range w.Config.Objects {
				o := policies.Object(i)
				at := *p.frequencies.Note(o)
				_, resident := d.Stored[o]
				if at.isResident() != resident || (p.requests(o) > 0) != resident {
					t.Fatalf("object %d: resident %v, place %d", o, resident, at)
				}
				if resident && (at < lecarPlace(p.oldest) || at >= lecarPlace(p.end) || p.log[at] != o) {
					t.Fatalf("object %d: place %d in the log from %d to %d", o, at, p.oldest, p.end)
				}
				if at.isGhost() {
					h := p.history[at.by()]
					if entry := at.entry(); entry < h.Tail || entry >= h.Head || h.At(entry).object != o {
						t.Fatalf("object %d: place %d of %v", o, at, h.RingOf)
					}
					sizes[at.by()] += w.Sizes[o]
					live[at.by()]++
				}
			}
			for by, h := range p.history {
				if sizes[by] != h.size || live[by] != h.live || h.size > p.limit {
					t.Fatalf("%d ghosts of %d in all, counted %d and %d, limit %d", live[by], sizes[by], h.live, h.size, p.limit)
				}
			}
		})
	})
}
