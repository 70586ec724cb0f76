package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestFRDExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		{"new objects replace each other in the filter", []uint32{0, 1, 2, 3, 4}, []uint32{2, 3}},
		// 3 is evicted, but younger than 0 and 1. So it returns into the main list, in place of 0.
		{"what returns enters the main list", []uint32{0, 1, 2, 3, 4, 3, 5, 6}, []uint32{2, 3, 0, 4, 5}},
		// 2 came while the cache filled, which the main stack does not remember.
		{"but not what came while the cache filled", []uint32{0, 1, 2, 3, 2, 4}, []uint32{2, 3, 2}},
		{"the main list is LRU", []uint32{0, 1, 0, 2, 3, 4, 3}, []uint32{2, 3, 1}},
	} {
		policytest.CheckExample(t, test.name, "frd(main=0.67)", 3, test.trace, test.want)
	}
}

// naiveFRD has times instead of stacks: an evicted object is remembered while its last request is younger than the
// oldest resident of the main list, or was when it could last have been forgotten.
type naiveFRD struct {
	capacity, mainLimit int
	main, filter        []policies.Object // the one requested last in front
	history             []policies.Object // evicted, or in the filter: the one requested last in front
	last                map[policies.Object]int
	full                bool
}

func (c *naiveFRD) Serve(o policies.Object, _ int64, now int) (hit bool, victims []policies.Object) {
	switch {
	case slices.Contains(c.main, o):
		oldest := c.main[len(c.main)-1] == o
		c.main = slices.Insert(policytest.Without(c.main, o), 0, o)
		c.last[o] = now
		if oldest {
			c.forget()
		}
		return true, nil
	case slices.Contains(c.filter, o):
		c.filter = slices.Insert(policytest.Without(c.filter, o), 0, o)
		c.history = slices.Insert(policytest.Without(c.history, o), 0, o)
		c.last[o] = now
		return true, nil
	}
	returns := slices.Contains(c.history, o)
	if len(c.main)+len(c.filter) == c.capacity {
		c.full = true
		if returns && len(c.main) > 0 || len(c.filter) == 0 {
			c.forget()
			victims = append(victims, c.main[len(c.main)-1])
			c.main = c.main[:len(c.main)-1]
			c.forget()
		} else {
			victims = append(victims, c.filter[len(c.filter)-1])
			c.filter = c.filter[:len(c.filter)-1]
		}
	}
	c.history = policytest.Without(c.history, o)
	c.last[o] = now
	if returns || !c.full && len(c.main) < c.mainLimit {
		c.main = slices.Insert(c.main, 0, o)
		return false, victims
	}
	c.filter = slices.Insert(c.filter, 0, o)
	if c.full {
		c.history = slices.Insert(c.history, 0, o)
	}
	return false, victims
}

// forget drops from the history what is older than every resident of the main list.
func (c *naiveFRD) forget() {
	c.history = slices.DeleteFunc(c.history, func(o policies.Object) bool {
		return len(c.main) == 0 || c.last[o] < c.last[c.main[len(c.main)-1]]
	})
}

func TestFRDEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		want := &naiveFRD{capacity: n, mainLimit: n * 9 / 10, last: map[policies.Object]int{}}
		w.SameVictims(t, policytest.Drive(t, "frd", w.Config), want)
	})
}
