package sampled

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestLHDDensities(t *testing.T) {
	p := policytest.Drive(t, "lhd(ages=16,classes=2,decay=1)", policies.Config{Capacity: 10, Unit: true, Objects: 10,
		Requests: 1}).Policy.(*lhd)
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
	p := policytest.Drive(t, "lhd(ages=16,classes=1,decay=0.5)", policies.Config{Capacity: 10, Unit: true, Objects: 10,
		Requests: 1}).Policy.(*lhd)
	p.hits[3], p.evictions[4] = 8, 4
	p.forget()
	p.forget()
	if p.hits[3] != 2 || p.evictions[4] != 1 {
		t.Errorf("after two computations: %v hits and %v evictions, want 2 and 1", p.hits[3], p.evictions[4])
	}
}

func TestLHDClasses(t *testing.T) {
	p := policytest.Drive(t, "lhd", policies.Config{Capacity: 10, Unit: true, Objects: 10, Requests: 1}).Policy.(*lhd)
	for sum, want := range map[int]uint8{40000: 0, 20000: 0, 19999: 1, 10000: 1, 9999: 2, 5000: 2, 1: 15, 0: 15} {
		if got := p.classOf(sum); got != want {
			t.Errorf("ages at hits of %d together: class %d, want %d", sum, got, want)
		}
	}
}

func TestLHDScale(t *testing.T) {
	d := policytest.Drive(t, "lhd(ages=1000)", policies.Config{Capacity: 1 << 20, Objects: 100_000, Requests: 1})
	p := d.Policy.(*lhd)
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
		return policytest.Drive(t, "lhd(ages=16,classes=2)", policies.Config{Capacity: 10, Unit: true, Objects: 10,
			Requests: 1}).Policy.(*lhd)
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
	d := policytest.Drive(t, "lhd(rule=authors,period=500,ages=2000)", policies.Config{Capacity: 400, Unit: true,
		Objects: objects, Requests: 60 * period})
	p := d.Policy.(*lhd)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 60 * period {
		d.Serve(policies.Object(rng.ExpFloat64()*800)%objects, 1, i)
		shift, samples := uint(10), 8
		if i+1 >= 6*period {
			shift = 5 // 2000 ages of 2^5 requests span 100 times 400 objects
		}
		if i+1 >= 51*period {
			samples = 32
		}
		if p.ageShift != shift || p.samples != samples {
			t.Fatalf("after %d requests: shift %d and %d samples, want %d and %d", i+1, p.ageShift, p.samples, shift,
				samples)
		}
	}
}

// Of two objects that are alike but for their size, the larger has the lower rank, in proportion.
func TestLHDRanksByByte(t *testing.T) {
	d := policytest.Drive(t, "lhd", policies.Config{Capacity: 100, Objects: 2, Requests: 2})
	d.Serve(0, 4, 0)
	d.Serve(1, 32, 1)
	p := d.Policy.(*lhd)
	info := lhdInfo{class: 3, last: 5}
	if small, large := p.rank(0, info, 9), p.rank(1, info, 9); small <= 0 || small != 8*large {
		t.Errorf("4 bytes have rank %v, 32 bytes %v; want an eighth", small, large)
	}
}

// What the explorers take and what is left of their budget must always be the same sum.
func TestLHDExplorationBudget(t *testing.T) {
	const objects = 500
	d := policytest.Drive(t, "lhd(period=200)", policies.Config{Capacity: 5000, Objects: objects, Requests: 20000})
	p := d.Policy.(*lhd)
	budget := p.exploreBudget
	rng := rand.New(rand.NewPCG(1, 1))
	explored := false
	for i := range 20000 {
		o := policies.Object(rng.ExpFloat64()*100) % objects
		if i%7 == 0 {
			d.Write(o, 1+int64(i%60), i)
		} else {
			d.Serve(o, 1+int64(o%40), i)
		}
		if i%10 == 0 && d.Stored[o] != 0 {
			p.Remove(o)
			d.Drop(o)
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
