package oracle

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestPFOOLowerNeverAboveBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects, numObjects := drawTrace(t, 14, 6)
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 8), numObjects, numObjects).Draw(t, "sizes")
		in := BoundInput{
			Objects: objects, NumObjects: numObjects, ObjectSizes: sizes, NextUse: NextUse(objects, numObjects),
			Capacity: rapid.Int64Range(1, 24).Draw(t, "capacity"),
			From:     rapid.IntRange(0, len(objects)).Draw(t, "from"),
		}
		bound := int(PFOOLower(in))
		bypass := bruteForce(objects, sizes, in.Capacity, true, in.From)
		forced := bruteForce(objects, sizes, in.Capacity, false, in.From)
		if bound > bypass || bypass > forced || bound < 0 {
			t.Fatalf("bound %d, optimum with bypass %d, with forced insertion %d", bound, bypass, forced)
		}
	})
}

// TestPFOOLowerIsTight measures how often the bound is the optimum itself: a bound of 0 would pass the test above.
func TestPFOOLowerIsTight(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var bounds, optima int
	for range 500 {
		objects, sizes := make([]uint32, 14), make([]int64, 6)
		for i := range objects {
			objects[i] = rng.Uint32N(6)
		}
		for o := range sizes {
			sizes[o] = 1 + rng.Int64N(8)
		}
		bounds += int(PFOOLower(BoundInput{Objects: objects, NumObjects: 6, ObjectSizes: sizes, NextUse: NextUse(objects, 6),
			Capacity: 10}))
		optima += BruteForce(objects, sizes, 10, true)
	}
	if 100*bounds < 85*optima {
		t.Errorf("the bounds sum up to %d where the optima sum up to %d", bounds, optima)
	}
}

func TestPFOOLowerByHand(t *testing.T) {
	objects := []uint32{0, 1, 2, 0, 1, 2, 0}
	in := BoundInput{Objects: objects, NumObjects: 3, NextUse: NextUse(objects, 3)}
	// Four intervals of three requests; the room after the six first requests is min(capacity, 1, 2, 3, 3, 2, 1 open
	// intervals).
	for capacity, want := range map[int64]int64{1: 7 - 6/3, 2: 7 - 10/3, 3: 3, 100: 3} {
		in.Capacity = capacity
		if got := PFOOLower(in); got != want {
			t.Errorf("capacity %d: at least %d misses, want %d", capacity, got, want)
		}
	}
	in.From = len(objects)
	if got := PFOOLower(in); got != 0 {
		t.Errorf("nothing is counted, yet at least %d misses", got)
	}
}

// TestPFOOLowerAllFits checks that the bound is the cold misses if there is room for everything that fits.
func TestPFOOLowerAllFits(t *testing.T) {
	objects := []uint32{0, 1, 0, 2, 1, 2, 0}
	in := BoundInput{
		Objects: objects, NumObjects: 3, NextUse: NextUse(objects, 3), ObjectSizes: []int64{5, 7, 1000}, Capacity: 12,
	}
	// Objects 0 and 1 fit together; object 2 is larger than the cache and misses twice.
	if got := PFOOLower(in); got != 4 {
		t.Errorf("at least %d misses, want 4", got)
	}
}

// TestPFOOLowerSizeGrows gives an object a new size after it was loaded: it may stay at what it was charged then.
func TestPFOOLowerSizeGrows(t *testing.T) {
	objects := []uint32{0, 0, 0}
	in := BoundInput{
		Objects: objects, NumObjects: 1, NextUse: NextUse(objects, 1),
		ObjectSizes: []int64{2}, RequestSizes: []int64{2, 50, 50}, Capacity: 10,
	}
	if got := PFOOLower(in); got != 1 {
		t.Errorf("at least %d misses, want 1: the object stays with the size it was loaded with", got)
	}
}

func TestPFOOLowerHugeSizes(t *testing.T) {
	objects := make([]uint32, 1000)
	for i := range objects {
		objects[i] = uint32(i % 3)
	}
	in := BoundInput{
		Objects: objects, NumObjects: 3, NextUse: NextUse(objects, 3),
		ObjectSizes: []int64{1 << 61, 1 << 61, 1 << 61}, Capacity: math.MaxInt64,
	}
	if got := PFOOLower(in); got != 3 {
		t.Errorf("everything fits, yet at least %d misses", got)
	}
	in.Capacity = 1 << 62
	want := int64(1000 - 998*2/3 + 1)
	if got := PFOOLower(in); got < want-3 || got > want+3 {
		t.Errorf("two of three fit: at least %d misses, want about %d", got, want)
	}
}

func TestCostClassesRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		if costClassOf(a) > costClassOf(b) {
			t.Fatalf("cost %d is in class %d, cost %d in class %d", a, costClassOf(a), b, costClassOf(b))
		}
	})
	for cost := uint64(1); cost < 1<<13; cost++ {
		if step := costClassOf(cost) - costClassOf(cost-1); step != 0 && step != 1 {
			t.Fatalf("classes skip by %d at cost %d", step, cost)
		}
	}
}

// TestPFOOLowerOfChangingSizes tries every schedule where an object has another size at each request. A resident object
// keeps the size it was loaded with.
func TestPFOOLowerOfChangingSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects, numObjects := drawTrace(t, 9, 4)
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 9), len(objects), len(objects)).Draw(t, "sizes")
		in := BoundInput{
			Objects: objects, NumObjects: numObjects, ObjectSizes: make([]int64, numObjects), RequestSizes: sizes,
			NextUse: NextUse(objects, numObjects), Capacity: rapid.Int64Range(1, 14).Draw(t, "capacity"),
			From: rapid.IntRange(0, len(objects)).Draw(t, "from"),
		}
		bound, optimum := int(PFOOLower(in)), bypassOptimum(in)
		if bound > optimum || bound < 0 {
			t.Fatalf("bound %d, optimum %d", bound, optimum)
		}
	})
}

// bypassOptimum returns the fewest misses of any schedule that may refuse objects, for at most 4 objects.
func bypassOptimum(in BoundInput) int {
	type residents [4]int64 // the size that each object was loaded with; 0 where it is not resident
	fewest := map[residents]int{{}: 0}
	for i, o := range in.Objects {
		served := map[residents]int{}
		reach := func(r residents, misses int) {
			var used int64
			for _, size := range r {
				used += size
			}
			if before, known := served[r]; used <= in.Capacity && (!known || misses < before) {
				served[r] = misses
			}
		}
		for r, misses := range fewest {
			if r[o] == 0 && i >= in.From {
				misses++
			}
			loaded := r
			if r[o] == 0 {
				loaded[o] = in.RequestSizes[i]
			}
			for gone := range 1 << len(r) { // any residents may be evicted
				left := loaded
				for k := range left {
					if gone>>k&1 == 1 {
						left[k] = 0
					}
				}
				reach(left, misses)
			}
		}
		fewest = served
	}
	least := math.MaxInt
	for _, misses := range fewest {
		least = min(least, misses)
	}
	return least
}
