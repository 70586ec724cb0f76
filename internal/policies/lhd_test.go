package policies

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/random"
)

func TestLHDDensities(t *testing.T) {
	p := drive(t, "lhd(ages=16,classes=2,decay=1)", Config{Capacity: 10, Unit: true, Objects: 10,
		Requests: 1}).policy.(*lhd)
	// Class 1: of two lives one ends in a hit at age 0 after one unit of time, the other in an eviction at age 2 after
	// three.
	p.hits[16], p.evictions[16+2] = 1, 1
	p.compute()
	for age, want := range []float32{0.5 / 2, 0, 0, 0} {
		if got := p.densities[16+age]; got != want {
			t.Errorf("age %d: hit density %v, want %v", age, got, want)
		}
	}
	// One more hit, at age 1: at age 0 two hits in lives of 1+2+3 units; at age 1 one hit in what is left, 1+2 units.
	p.hits[16+1] = 1
	p.compute()
	for age, want := range []float64{2.0 / 6, 1.0 / 3, 0, 0} {
		if got := float64(p.densities[16+age]); math.Abs(got-want) > 1e-6 {
			t.Errorf("age %d: hit density %v, want %v", age, got, want)
		}
	}
	if p.densities[15] != overAge || p.densities[31] != overAge {
		t.Error("the last age does not rank lowest")
	}
}

func TestLHDDecay(t *testing.T) {
	p := drive(t, "lhd(ages=16,classes=1,decay=0.5)", Config{Capacity: 10, Unit: true, Objects: 10,
		Requests: 1}).policy.(*lhd)
	p.hits[3], p.evictions[4] = 8, 4
	p.forget()
	p.forget()
	if p.hits[3] != 2 || p.evictions[4] != 1 {
		t.Errorf("after two computations: %v hits and %v evictions, want 2 and 1", p.hits[3], p.evictions[4])
	}
}

func TestLHDClasses(t *testing.T) {
	p := drive(t, "lhd", Config{Capacity: 10, Unit: true, Objects: 10, Requests: 1}).policy.(*lhd)
	for sum, want := range map[int]uint8{40000: 0, 20000: 0, 19999: 1, 10000: 1, 9999: 2, 5000: 2, 1: 15, 0: 15} {
		if got := p.classOf(sum); got != want {
			t.Errorf("ages at hits of %d together: class %d, want %d", sum, got, want)
		}
	}
}

func TestLHDScale(t *testing.T) {
	p := drive(t, "lhd(ages=1000)", Config{Capacity: 1 << 20, Objects: 100_000, Requests: 1}).policy.(*lhd)
	for resident, want := range map[int]uint{1: 0, 10: 0, 11: 1, 20: 1, 21: 2, 100_000: 14} {
		if got := p.scaleFor(resident); got != want {
			t.Errorf("%d resident objects: shift %d, want %d", resident, got, want)
		}
	}
	if p.ageShift != 14 {
		t.Errorf("starts with shift %d for at most 100000 objects, want 14", p.ageShift)
	}
	if p.adapt(); p.ageShift != 0 {
		t.Errorf("shift %d after a look at an empty cache, want 0", p.ageShift)
	}
	p.ageShift = 1
	if p.adapt(); p.ageShift != 1 {
		t.Error("one step off was corrected")
	}
}

// A finer unit spreads each age over several, a coarser one joins them; ages beyond the last one fall together in it.
func TestLHDRescalesHistograms(t *testing.T) {
	build := func() *lhd {
		return drive(t, "lhd(ages=16,classes=2)", Config{Capacity: 10, Unit: true, Objects: 10, Requests: 1}).policy.(*lhd)
	}
	p := build()
	p.ageShift = 3
	first := slices.Clone(p.densities)
	p.hits[16], p.hits[16+3], p.evictions[16+7], p.evictions[16+15] = 8, 4, 2, 1
	p.rescale(2)
	for age, want := range []float32{4, 4, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0} {
		if p.hits[16+age] != want || p.hits[age] != 0 {
			t.Errorf("half the unit, age %d: %v hits, want %v", age, p.hits[16+age], want)
		}
	}
	// Age 7 becomes 14 and 15, the last one.
	if p.evictions[16+14] != 1 || p.evictions[16+15] != 2 {
		t.Errorf("half the unit: evictions %v, want 1 at age 14 and 2 at age 15", p.evictions[16:])
	}
	p.rescale(4)
	for age, want := range []float32{8, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} {
		if p.hits[16+age] != want {
			t.Errorf("four times the unit, age %d: %v hits, want %v", age, p.hits[16+age], want)
		}
	}
	if p.evictions[16+3] != 1 || p.evictions[16+15] != 2 {
		t.Errorf("four times the unit: evictions %v, want 1 at age 3 and 2 at age 15", p.evictions[16:])
	}
	if !slices.Equal(p.densities, first) {
		t.Error("the densities changed without a computation")
	}

	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p = build()
		p.ageShift = uint(rng.IntN(8))
		var sum float64
		for i := range p.hits {
			p.hits[i] = float32(rng.IntN(1 << 12))
			sum += float64(p.hits[i])
		}
		p.rescale(uint(rng.IntN(8)))
		for _, n := range p.hits {
			sum -= float64(n)
		}
		if math.Abs(sum) > 1 {
			t.Fatalf("%v hits were lost", sum)
		}
	}
}

// The authors' program starts with ages of 1024 requests and 8 samples, and adapts to what it found after a while.
func TestLHDRuleOfTheAuthors(t *testing.T) {
	const objects, period = 3000, 500
	d := drive(t, "lhd(rule=authors,period=500,ages=2000)", Config{Capacity: 400, Unit: true, Objects: objects,
		Requests: 60 * period})
	p := d.policy.(*lhd)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 60 * period {
		d.serve(Object(rng.ExpFloat64()*800)%objects, 1, i)
		shift, samples := uint(10), 8
		if i+1 >= 6*period {
			shift = 5 // 2000 ages of 2^5 requests span 100 times 400 objects
		}
		if i+1 >= 51*period {
			samples = 32
		}
		if p.ageShift != shift || len(p.drawn) != samples {
			t.Fatalf("after %d requests: shift %d and %d samples, want %d and %d", i+1, p.ageShift, len(p.drawn), shift,
				samples)
		}
	}
}

// Of two objects that are alike but for their size, the larger has the lower rank, in proportion.
func TestLHDRanksByByte(t *testing.T) {
	d := drive(t, "lhd", Config{Capacity: 100, Objects: 2, Requests: 2})
	d.serve(0, 4, 0)
	d.serve(1, 32, 1)
	p := d.policy.(*lhd)
	info := lhdInfo{class: 3, last: 5}
	if small, large := p.rank(0, info, 9), p.rank(1, info, 9); small <= 0 || small != 8*large {
		t.Errorf("4 bytes have rank %v, 32 bytes %v; want an eighth", small, large)
	}
}

// What the explorers take and what is left of their budget must always be the same sum.
func TestLHDExplorationBudget(t *testing.T) {
	const objects = 500
	d := drive(t, "lhd(period=200)", Config{Capacity: 5000, Objects: objects, Requests: 20000})
	p := d.policy.(*lhd)
	budget := p.exploreBudget
	rng := rand.New(rand.NewPCG(1, 1))
	explored := false
	for i := range 20000 {
		o := Object(rng.ExpFloat64()*100) % objects
		d.serve(o, 1+int64(o%40), i)
		if i%10 == 0 && d.stored[o] != 0 {
			p.Remove(o)
			d.drop(o)
		}
		sum := p.exploreBudget
		for slot, info := range p.slots.Dense() {
			if info.explorer {
				sum += p.charges.Of(p.slots.Objects[slot])
				explored = true
			}
		}
		if sum != budget {
			t.Fatalf("request %d: explorers and budget sum up to %d, want %d", i, sum, budget)
		}
	}
	if !explored {
		t.Error("nothing was explored")
	}
}

func TestSlots(t *testing.T) {
	const objects = 40
	s := dense.NewSlots[int](objects)
	want := map[Object]int{}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 5000 {
		o := rng.Uint32N(objects)
		if s.Has(o) != (want[o] != 0) {
			t.Fatalf("step %d: has(%d) is %v", i, o, s.Has(o))
		}
		if s.Has(o) {
			if *s.Info(o) != want[o] {
				t.Fatalf("step %d: object %d has %d, want %d", i, o, *s.Info(o), want[o])
			}
			s.Remove(o)
			delete(want, o)
		} else {
			s.Add(o, i+1)
			want[o] = i + 1
		}
		if i%3 == 0 {
			infos := s.Dense()
			if len(infos) != len(want) {
				t.Fatalf("step %d: %d slots for %d objects", i, len(infos), len(want))
			}
			for slot, info := range infos {
				if want[s.Objects[slot]] != info {
					t.Fatalf("step %d: slot %d holds %d", i, slot, info)
				}
			}
		}
	}
}

func TestDrawsAreUniform(t *testing.T) {
	const n, perSlot = 97, 1000
	d := random.NewDraws(1)
	counts := make([]float64, n)
	for range n * perSlot {
		counts[d.Below(n)]++
	}
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (c - perSlot) * (c - perSlot) / perSlot
	}
	// 96 degrees of freedom: mean 96, standard deviation 13.9.
	if chi2 < 96-4*13.9 || chi2 > 96+4*13.9 {
		t.Errorf("chi square %v for 96 degrees of freedom", chi2)
	}
}

// Policies that learn or sample must beat random replacement on a skewed trace by a clear margin.
func TestSampledPoliciesBeatRandomReplacement(t *testing.T) {
	trace := newZipfTrace(200_000, 10_000)
	const capacity = 500
	random := randomReplacementMisses(trace.objects, capacity)
	for _, spec := range []string{"hyperbolic", "hyperbolic(samples=8)", "lhd", "lhd(period=20000)", "w-tinylfu",
		"w-tinylfu(doorkeeper=true)"} {
		d := drive(t, spec, Config{Capacity: capacity, Unit: true, Objects: trace.numObjects, Requests: len(trace.objects),
			Seed: 1})
		hits, _ := d.policy.(UnitReplayer).ReplayUnit(trace.objects, 0)
		if misses := len(trace.objects) - hits; float64(misses) > 0.9*float64(random) {
			t.Errorf("%s: %d misses, random replacement has %d", spec, misses, random)
		}
	}
}

func randomReplacementMisses(trace []Object, capacity int) (misses int) {
	rng := rand.New(rand.NewPCG(1, 1))
	var cache []Object
	resident := map[Object]bool{}
	for _, o := range trace {
		if resident[o] {
			continue
		}
		misses++
		resident[o] = true
		if len(cache) < capacity {
			cache = append(cache, o)
			continue
		}
		slot := rng.IntN(capacity)
		delete(resident, cache[slot])
		cache[slot] = o
	}
	return misses
}
