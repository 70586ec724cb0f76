package queues

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestTuQueueExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		{"in order of arrival", []uint32{0, 1, 2, 3, 4, 5}, []uint32{0, 1}},
		{"a request in the hot list does not save an object", []uint32{0, 0, 1, 2, 3, 4}, []uint32{0}},
		{"one in the cold list does", []uint32{0, 1, 0, 2, 3, 4, 5}, []uint32{1, 2}},
		// 1 replaces 0 in the warm list; 0 is cold again, before 2 is.
		{"the warm list overflows into the cold one", []uint32{0, 1, 0, 2, 1, 3, 4, 5}, []uint32{0, 2}},
	} {
		policytest.CheckExample(t, test.name, "tuqueue", 4, test.trace, test.want)
	}
}

// naiveTuQueue has the oldest object of each list first.
type naiveTuQueue struct {
	capacity, hotLimit, warmLimit int
	hot, warm, cold               []policies.Object
}

func (c *naiveTuQueue) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	switch {
	case slices.Contains(c.hot, o):
		c.hot = append(policytest.Without(c.hot, o), o)
		return true, nil
	case slices.Contains(c.warm, o):
		c.warm = append(policytest.Without(c.warm, o), o)
		return true, nil
	case slices.Contains(c.cold, o):
		c.cold = policytest.Without(c.cold, o)
		c.warm = append(c.warm, o)
		if len(c.warm) > c.warmLimit {
			c.warm, c.cold = c.warm[1:], append(c.cold, c.warm[0])
		}
		return true, nil
	}
	full := len(c.hot)+len(c.warm)+len(c.cold) == c.capacity
	if full && len(c.cold) == 0 && len(c.hot) == 0 { // the limits leave no room for cold objects
		victims, c.warm = append(victims, c.warm[0]), c.warm[1:]
		full = false
	}
	c.hot = append(c.hot, o)
	if len(c.hot) > c.hotLimit {
		c.hot, c.cold = c.hot[1:], append(c.cold, c.hot[0])
	}
	if full {
		victims, c.cold = append(victims, c.cold[0]), c.cold[1:]
	}
	return false, victims
}

func TestTuQueueEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		want := &naiveTuQueue{capacity: n, hotLimit: max(1, n*33/100), warmLimit: n * 33 / 100}
		w.SameVictims(t, policytest.Drive(t, "tuqueue", w.Config), want)
	})
}
