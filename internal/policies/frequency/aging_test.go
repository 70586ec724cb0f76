package frequency

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveAging is the reference: a request raises the priority to age + value.
func naiveAging(value func(requests, size float64) float64, joins bool) func(capacity int64) *policytest.Naive {
	return func(capacity int64) *policytest.Naive {
		c := policytest.NewNaive(capacity)
		c.Joins = joins
		age := 0.0
		c.Touched = func(s *policytest.NaiveObject) { s.Priority = age + value(float64(s.Requests), float64(s.Size)) }
		c.Evicted = func(s *policytest.NaiveObject) { age = s.Priority }
		return c
	}
}

func TestAgingEqualsNaive(t *testing.T) {
	for spec, value := range map[string]func(requests, size float64) float64{
		"lfu-da":          func(requests, _ float64) float64 { return requests },
		"gdsf":            func(requests, size float64) float64 { return requests * 1e6 / size },
		"gdsf(rule=2024)": func(requests, size float64) float64 { return requests * 1e6 / size },
	} {
		t.Run(spec, func(t *testing.T) { policytest.CheckAgainstNaive(t, spec, naiveAging(value, spec == "gdsf")) })
	}
}

// The costs of packets are not round numbers, so the order matches that of floating-point sums only where sizes count.
func TestGDSFPacketsEqualsNaive(t *testing.T) {
	inBytes := func(c policies.Config) policies.Policy {
		c.Unit = false
		return policytest.Named(t, "gdsf(cost=packets)")(c)
	}
	policytest.CheckBuilt(t, inBytes, naiveAging(func(requests, size float64) float64 {
		return requests * (1e6 * (2 + size/536)) / size
	}, true))
}

// With a small window most objects pass through the list above it.
func TestUnitAgingWindow(t *testing.T) {
	for _, window := range []int{1, 2, 4, 8} {
		for _, joins := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", window, joins), func(t *testing.T) {
				build := func(c policies.Config) policies.Policy {
					if c.Unit {
						return newUnitAging(c, window, joins)
					}
					return newAging(c, func(size float64) float64 { return size }, joins)
				}
				policytest.CheckBuilt(t, build, naiveAging(func(requests, _ float64) float64 { return requests }, joins))
			})
		}
	}
}

func TestAgingExample(t *testing.T) {
	// Capacity 2. 0 is requested three times: priority 3. Each object after it is loaded with a priority one above that
	// of the last victim: 1 with 1, 2 with 2, 3 with 3. That ties with 0, which was requested earlier.
	d := policytest.Drive(t, "lfu-da", policies.Config{Capacity: 2, Unit: true, Objects: 6, Requests: 7})
	got := d.ServeAll(0, 0, 0, 1, 2, 3, 4)
	if want := []uint32{1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
	if age := d.Policy.(*unitAging).age; age != 3 {
		t.Errorf("age %v after a victim of priority 3", age)
	}
}

func TestHitsAddTheAge(t *testing.T) {
	// Capacity 2. A hit of 0 adds nothing before the first eviction: both have the priority 1, and 1 leaves, requested
	// longest ago. The age is 1, so that 2 has 2, and by a hit 3. Once 0 has left, 3 is the lowest priority and so the
	// age: 3 has 4, and for 4 the object 2 leaves.
	d := policytest.Drive(t, "lfu-da(rule=libcachesim)", policies.Config{Capacity: 2, Unit: true, Objects: 5, Requests: 8})
	got := d.ServeAll(1, 0, 0, 2, 2, 3, 4)
	if want := []uint32{1, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
	if age := d.Policy.(*doubling).age; age != 4 {
		t.Errorf("age %v after the only object of priority 3 has left, want 4", age)
	}
}

func TestGDSFPrefersSmallObjects(t *testing.T) {
	const spec = "gdsf(rule=2024)"
	// Priorities: 0 has 2 requests / size 8 = 1/4, 1 has 1/2, and 2 has 1/4 but was requested later than 0.
	d := policytest.Drive(t, spec, policies.Config{Capacity: 14, Objects: 4, Requests: 5})
	var victims []uint32
	for i, r := range []policies.Request{{Object: 0, Size: 8}, {Object: 0, Size: 8}, {Object: 1, Size: 2}, {Object: 2,
		Size: 4},
		{Object: 3, Size: 11}} {
		_, v := d.Serve(r.Object, r.Size, i)
		victims = append(victims, v...)
	}
	if want := []uint32{0, 2}; !slices.Equal(victims, want) {
		t.Errorf("victims %v, want %v", victims, want)
	}
	if age := d.Policy.(*aging).age; age != million/4 {
		t.Errorf("age %v after a victim of priority 1/4 per byte", age)
	}
	if p := d.Policy.(*aging).heap.Priority(3); math.Abs(p-million*(0.25+1.0/11)) > 1e-9 {
		t.Errorf("new object has priority %v, want 1/4 + 1/11 per byte", p)
	}
}

func TestGDSFEvictsTheNewObjectAgain(t *testing.T) {
	// Capacity 14. Priorities: 0 has 2 requests / size 8 = 1/4, 1 has 1/2, and 2 has 1/11, which is the lowest: it leaves
	// again, and the age is 1/11. 3 has 1/11 + 1/5, so that 0 leaves. 4 has 1/4 + 1/12 then, which is less than 1 and than
	// 3, which was requested again.
	d := policytest.Drive(t, "gdsf", policies.Config{Capacity: 14, Objects: 5, Requests: 7})
	var victims []uint32
	for i, r := range []policies.Request{{Object: 0, Size: 8}, {Object: 0, Size: 8}, {Object: 1, Size: 2},
		{Object: 2, Size: 11}, {Object: 3, Size: 5},
		{Object: 3, Size: 5}, {Object: 4, Size: 12}} {
		_, v := d.Serve(r.Object, r.Size, i)
		victims = append(victims, v...)
	}
	if want := []uint32{0}; !slices.Equal(victims, want) {
		t.Errorf("victims %v, want %v", victims, want)
	}
	if age, want := d.Policy.(*aging).age, million*(0.25+1.0/12); math.Abs(age-want) > 1e-9 {
		t.Errorf("age %v after the new object has left, want %v", age, want)
	}
}

func TestGDSFWithTheNewObject(t *testing.T) {
	type request struct {
		object policies.Object
		size   int64
	}
	key := func(o policies.Object) uint64 { return 100 - uint64(o) }
	for _, c := range []struct {
		name     string
		key      func(policies.Object) uint64
		requests []request
		victims  []uint32
	}{
		// Priorities: 0 has 2 requests / size 8 = 1/4, 1 has 1/2, 2 has 1/4, and 3 has 1/11, which is the lowest.
		{"the new object is refused", key, []request{{0, 8}, {0, 8}, {1, 2}, {2, 4}, {3, 11}}, nil},
		// 3 has 1/3, so that of the two with 1/4 the one of the smallest key leaves, which is 2.
		{"ties go to the smallest key", key, []request{{0, 8}, {0, 8}, {1, 2}, {2, 4}, {3, 3}}, []uint32{2}},
		// 4 would have 1/8, and less than 0, which has 1/4; with the age of 1/4 it has more.
		{"the age is that of the last victim", key, []request{{0, 8}, {0, 8}, {1, 2}, {2, 4}, {3, 3}, {4, 8}},
			[]uint32{2, 0}},
		{"without keys, the first object", nil, []request{{0, 8}, {0, 8}, {1, 2}, {2, 4}, {3, 3}}, []uint32{0}},
		// The age is 1/10 as 1 has left; 2 has 1/10 + 3/9 then. For 3, with 1/10 + 1/6, first 0 would have to leave and
		// then 3 itself; 4, with 1/10 + 1/5, needs the room of 0 alone.
		{"a refusal keeps all others", key,
			[]request{{0, 4}, {1, 10}, {2, 9}, {2, 9}, {2, 9}, {3, 6}, {4, 5}}, []uint32{1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := policytest.Drive(t, "gdsf(rule=caffeine)", policies.Config{Capacity: 14, Objects: 5,
				Requests: len(c.requests), Key: c.key})
			var victims []uint32
			for i, r := range c.requests {
				_, v := d.Serve(r.object, r.size, i)
				victims = append(victims, v...)
			}
			if !slices.Equal(victims, c.victims) {
				t.Errorf("victims %v, want %v", victims, c.victims)
			}
		})
	}
}
