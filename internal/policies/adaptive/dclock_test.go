package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestDClockExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		{"without second requests in order of arrival", []uint32{0, 1, 2, 3, 4, 5}, []uint32{0, 1}},
		{"a second request makes an object active", []uint32{0, 0, 1, 2, 3, 4, 5}, []uint32{1, 2}},
		// 2 becomes active where 0 and 1 are: 0 is inactive, and older there than 3.
		{"the oldest active object becomes inactive", []uint32{0, 0, 1, 1, 2, 2, 3, 4, 5}, []uint32{0, 3}},
		// No object is active: 0 would have to return at once.
		{"an object that returns late is inactive", []uint32{0, 1, 2, 3, 4, 0, 5, 6}, []uint32{0, 1, 2, 3}},
		// 2 has left before 4 came, and 0 and 1 are active: it takes the place of 0, which is behind 3 and 4.
		{"one that returns soon is active", []uint32{0, 0, 1, 1, 2, 3, 4, 2, 5, 6, 7}, []uint32{2, 3, 4, 0, 5}},
	} {
		policytest.CheckExample(t, test.name, "dclock", 4, test.trace, test.want)
	}
}

// naiveDClock has the newest object of each list in front. Its clock counts evictions and activations.
type naiveDClock struct {
	capacity, limit          int
	inactive, active, ghosts []policies.Object
	referenced               map[policies.Object]bool
	evictedAt                map[policies.Object]int
	clock                    int
}

func (c *naiveDClock) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	switch {
	case slices.Contains(c.active, o):
		c.referenced[o] = true
		return true, nil
	case slices.Contains(c.inactive, o):
		if c.limit > 0 {
			c.inactive = policytest.Without(c.inactive, o)
			c.activate(o)
		}
		return true, nil
	}
	soon := slices.Contains(c.ghosts, o) && c.clock-c.evictedAt[o] <= len(c.active)
	c.ghosts = policytest.Without(c.ghosts, o)
	full := len(c.inactive)+len(c.active) == c.capacity
	if soon && c.limit > 0 {
		c.activate(o)
	} else {
		c.inactive = slices.Insert(c.inactive, 0, o)
	}
	if !full {
		return false, nil
	}
	v := c.inactive[len(c.inactive)-1]
	c.inactive = c.inactive[:len(c.inactive)-1]
	c.evictedAt[v] = c.clock
	c.clock++
	c.ghosts = slices.Insert(c.ghosts, 0, v)
	c.ghosts = c.ghosts[:min(len(c.ghosts), c.limit)]
	return false, []policies.Object{v}
}

func (c *naiveDClock) activate(o policies.Object) {
	for len(c.active) == c.limit {
		oldest := c.active[len(c.active)-1]
		c.active = c.active[:len(c.active)-1]
		if c.referenced[oldest] {
			c.referenced[oldest] = false
			c.active = slices.Insert(c.active, 0, oldest)
		} else {
			c.inactive = slices.Insert(c.inactive, 0, oldest)
		}
	}
	c.clock++
	c.active = slices.Insert(c.active, 0, o)
}

func TestDClockEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		want := &naiveDClock{capacity: n, limit: n / 2, referenced: map[policies.Object]bool{},
			evictedAt: map[policies.Object]int{}}
		w.SameVictims(t, policytest.Drive(t, "dclock", w.Config), want)
	})
}
