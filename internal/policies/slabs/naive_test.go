package slabs

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naiveSets is what the package documents, with a struct per slot that is sorted whenever something must leave.
type naiveSets struct {
	g          *Geometry
	candidates int
	predict    func(o Object, end int) float64
	batch      int
	slots      [][]naiveSlot // per set, in the order in which slots were filled
	missed     []Object
}

type naiveSlot struct {
	object     Object
	slab, lane int
	batch      int  // that requested it last
	old        bool // since the set was aged
}

// find returns where an object is; nil if it is absent.
func (n *naiveSets) find(o Object) *naiveSlot {
	set := n.slots[n.g.SetOf(o)]
	if i := slices.IndexFunc(set, func(s naiveSlot) bool { return s.object == o }); i >= 0 {
		return &set[i]
	}
	return nil
}

func (n *naiveSets) lookUp(objects []Object) {
	for _, o := range objects {
		if slot := n.find(o); slot != nil {
			slot.batch, slot.old = n.batch, false
		} else if !slices.Contains(n.missed, o) {
			n.missed = append(n.missed, o)
		}
	}
}

func (n *naiveSets) load(end int) (victims []Object) {
	for _, o := range n.missed {
		set, first := n.g.SetOf(o), int(n.g.Home[o])%n.g.Slabs
		if len(n.slots[set]) == n.g.Ways {
			victim := n.find(n.victim(set, first, end))
			victims = append(victims, victim.object)
			victim.object, victim.batch, victim.old = o, n.batch, false
			continue
		}
		slab, lane := n.vacant(set, first)
		n.slots[set] = append(n.slots[set], naiveSlot{object: o, slab: slab, lane: lane, batch: n.batch})
	}
	n.missed = nil
	n.batch++
	return victims
}

// vacant returns the first free slot from a slab on.
func (n *naiveSets) vacant(set, first int) (slab, lane int) {
	for slab = first; ; slab = (slab + 1) % n.g.Slabs {
		lane = 0
		for _, s := range n.slots[set] {
			if s.slab == slab {
				lane++
			}
		}
		if lane < n.g.Lanes && slab*n.g.Lanes+lane < n.g.Ways {
			return slab, lane
		}
	}
}

func (n *naiveSets) victim(set, first, end int) Object {
	order := slices.Clone(n.slots[set])
	distance := func(s naiveSlot) int { return (s.slab - first + n.g.Slabs) % n.g.Slabs }
	slices.SortFunc(order, func(a, b naiveSlot) int {
		return cmp.Or(a.batch-b.batch, distance(a)-distance(b), a.lane-b.lane)
	})
	victim, latest := order[0].object, math.Inf(-1)
	for _, s := range order[:min(n.candidates, len(order))] {
		if next := n.predict(s.object, end); next > latest {
			victim, latest = s.object, next
		}
	}
	return victim
}

// drawing predicts few different times, and sometimes none; unless it is steady, they depend on when it is asked.
type drawing struct {
	seed   uint64
	seen   []int // per object: its requests
	steady bool
	pos    int // of the next request
	gap    bool
}

func (d *drawing) Observe(o Object, pos int) {
	d.seen[o]++
	d.gap = d.gap || pos != d.pos
	d.pos++
}

func (d *drawing) Predict(objects []Object, pos int, next []float64) {
	for i, o := range objects {
		next[i] = d.at(o, pos)
	}
}

func (d *drawing) at(o Object, end int) float64 {
	if d.steady {
		end = 0
	}
	rng := rand.New(rand.NewPCG(d.seed+uint64(o)<<32+uint64(d.seen[o]), uint64(end)))
	if rng.IntN(8) == 0 {
		return math.NaN()
	}
	return float64(rng.IntN(12))
}

func (d *drawing) Steady() bool { return d.steady }

// watched is the rule Among, and keeps what it is told.
type watched struct {
	Among
	evicted []Object
}

func (w *watched) Evicted(_ int, o Object) { w.evicted = append(w.evicted, o) }

// randomGeometry has few objects for its slots, or many. A single set may have a last slab that is not full.
func randomGeometry(rng *rand.Rand) *Geometry {
	g := &Geometry{Sets: 1 + rng.IntN(4), Slabs: 1 + rng.IntN(8), Lanes: 1 << rng.IntN(4)}
	g.Ways = g.Slabs * g.Lanes
	if g.Sets == 1 {
		g.Ways = 1 + rng.IntN(g.Ways)
	}
	for range g.Sets * g.Ways * (1 + rng.IntN(4)) {
		g.Home = append(g.Home, uint32(rng.IntN(g.Sets*g.Slabs)))
	}
	return g
}

func TestEqualsNaiveSets(t *testing.T) {
	for run := range 120 {
		rng := rand.New(rand.NewPCG(uint64(run), 4))
		g := randomGeometry(rng)
		predictor := &drawing{seed: uint64(run), seen: make([]int, len(g.Home)), steady: run%2 == 0}
		rule := &watched{Among: Among(rng.IntN(g.Ways + 2))}
		if run%3 == 0 {
			rule.Among = 0
		}
		naive := &naiveSets{g: g, candidates: int(rule.Among), predict: predictor.at, slots: make([][]naiveSlot, g.Sets)}
		ranked, lru := NewRanked(g, predictor, rule), NewLRU(g)
		pos := 0
		for range 60 {
			batch := make([]Object, 1+rng.IntN(2*g.Ways))
			for i := range batch {
				batch[i] = Object(rng.IntN(1 + rng.IntN(len(g.Home))))
			}
			naive.lookUp(batch)
			missed := slices.Clone(naive.missed)
			fetches := ranked.LookUp(batch, pos, nil)
			if !slices.Equal(ranked.Missed(), missed) || fetches != len(missed) {
				t.Fatalf("run %d: %d fetches, missed %v, want %v", run, fetches, ranked.Missed(), missed)
			}
			pos += len(batch)
			if predictor.gap || predictor.pos != pos {
				t.Fatalf("run %d: the predictor does not see every request at its position", run)
			}
			rule.evicted = nil
			victims, evictions := naive.load(pos), ranked.Load(pos)
			if rule.Among > 0 && !slices.Equal(rule.evicted, victims) {
				t.Fatalf("run %d, %d candidates: %v leave, want %v", run, rule.Among, rule.evicted, victims)
			}
			name := fmt.Sprintf("run %d, %d candidates", run, rule.Among)
			checkSets(t, name, naive, ranked, evictions, victims)
			ageSome(t, name, rng, naive, ranked)
			if rule.Among == 0 {
				fetches = lru.LookUp(batch, pos, nil)
				if evictions = lru.Load(pos); fetches != len(missed) {
					t.Fatalf("run %d, LRU: %d fetches, want %d", run, fetches, len(missed))
				}
				checkSets(t, fmt.Sprintf("run %d, LRU", run), naive, lru, evictions, victims)
			}
		}
	}
}

// checkSets compares what is resident.
func checkSets(t *testing.T, name string, naive *naiveSets, got interface {
	Resident(Object) bool
	Used() int64
}, evictions int, victims []Object) {
	t.Helper()
	used := int64(0)
	for o := range Object(len(naive.g.Home)) {
		if want := naive.find(o) != nil; got.Resident(o) != want {
			t.Fatalf("%s: object %d is resident: %v, want %v", name, o, !want, want)
		} else if want {
			used++
		}
	}
	if got.Used() != used || evictions != len(victims) {
		t.Fatalf("%s: %d slots used after %d evictions, want %d and %d", name, got.Used(), evictions, used, len(victims))
	}
}

// ageSome makes the objects of some full sets old, and compares which sets have old ones.
func ageSome(t *testing.T, name string, rng *rand.Rand, naive *naiveSets, ranked *Ranked) {
	t.Helper()
	for set, slots := range naive.slots {
		if len(slots) == naive.g.Ways && rng.IntN(3) == 0 {
			ranked.Age(set)
			for i := range slots {
				slots[i].old = true
			}
		}
		if old := slices.ContainsFunc(slots, func(s naiveSlot) bool { return s.old }); ranked.Old(set) != old {
			t.Fatalf("%s: set %d has old objects: %v, want %v", name, set, !old, old)
		}
	}
}
