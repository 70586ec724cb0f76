package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestLIRS2Examples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		{"new objects replace each other", []uint32{0, 1, 2, 3, 4}, []uint32{2, 3}},
		// 2 returns for the first time: its older request does not exist, so that it stays cold.
		{"a second request makes nothing hot", []uint32{0, 1, 2, 3, 2, 4}, []uint32{2, 3, 2}},
		// With the third it becomes hot; 0, whose older request is at the bottom, leaves.
		{"a third one does", []uint32{0, 1, 2, 3, 2, 3, 2, 4, 5}, []uint32{2, 3, 2, 3, 0, 4}},
		{"requests in a row count once", []uint32{0, 1, 2, 2, 2, 3, 4}, []uint32{2, 3}},
	} {
		policytest.CheckExample(t, test.name, "lirs2", 3, test.trace, test.want)
	}
}

// naiveLIRS2 has the times of the last two requests of each object instead of a stack: what is older than the older
// request of every hot object is not on it.
type naiveLIRS2 struct {
	capacity, hotLimit int
	hot                map[policies.Object]bool
	cold, gone         []policies.Object // the newest in front
	times              map[policies.Object][2]int
	single             map[policies.Object]bool
	last               policies.Object
	bottom             int // what is older was below the bottom once, and does not come back
}

func (c *naiveLIRS2) Serve(o policies.Object, _ int64, now int) (hit bool, victims []policies.Object) {
	hit = c.hot[o] || slices.Contains(c.cold, o)
	if hit && o == c.last {
		return true, nil
	}
	c.last = o
	if !hit && len(c.hot)+len(c.cold) == c.capacity {
		victims = append(victims, c.evict())
	}
	times, known := c.times[o]
	again := known && !c.single[o] && times[0] >= c.bottom
	if known {
		c.times[o] = [2]int{times[1], 2*now + 1}
		c.single[o] = false
	} else {
		c.times[o] = [2]int{2 * now, 2*now + 1}
		c.single[o] = true
	}
	c.cold, c.gone = policytest.Without(c.cold, o), policytest.Without(c.gone, o)
	switch {
	case c.hot[o]:
	case !known && len(c.hot) < c.hotLimit:
		c.hot[o] = true
	case again:
		c.hot[o] = true
		if len(c.hot) > c.hotLimit {
			c.cool()
		}
	default:
		c.cold = slices.Insert(c.cold, 0, o)
	}
	c.settle(2*now + 2)
	if n := 2 * c.capacity; len(c.gone) > n {
		for _, x := range c.gone[n:] {
			delete(c.times, x)
		}
		c.gone = c.gone[:n]
	}
	return hit, victims
}

// settle moves the bottom up to the oldest of the older requests of hot objects, or to the end.
func (c *naiveLIRS2) settle(end int) {
	oldest := -1
	for x := range c.hot {
		if oldest < 0 || c.times[x][0] < oldest {
			oldest = c.times[x][0]
		}
	}
	if oldest < 0 {
		oldest = end
	}
	c.bottom = max(c.bottom, oldest)
}

func (c *naiveLIRS2) cool() {
	var coolest policies.Object
	oldest := -1
	for x := range c.hot {
		if oldest < 0 || c.times[x][0] < oldest {
			coolest, oldest = x, c.times[x][0]
		}
	}
	delete(c.hot, coolest)
	c.cold = slices.Insert(c.cold, 0, coolest)
}

func (c *naiveLIRS2) evict() policies.Object {
	if len(c.cold) == 0 {
		c.cool()
	}
	v := c.cold[len(c.cold)-1]
	c.cold = c.cold[:len(c.cold)-1]
	c.gone = slices.Insert(c.gone, 0, v)
	return v
}

// The naive version has no bound on the stack.
func TestLIRS2EqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		want := &naiveLIRS2{capacity: n, hotLimit: max(1, n*99/100), hot: map[policies.Object]bool{},
			times: map[policies.Object][2]int{}, single: map[policies.Object]bool{}, last: policies.NoObject}
		w.SameVictims(t, policytest.Drive(t, "lirs2(stack=100)", w.Config), want)
	})
}
