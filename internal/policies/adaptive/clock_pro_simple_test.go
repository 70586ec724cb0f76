package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestClockProSimpleExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		// At a capacity of 4 no object must be cold. All are hot, and what comes then leaves at once.
		{"hot objects keep new ones out", []uint32{0, 1, 2, 3, 4, 5}, nil},
		// 4 returns in its test: 0, the oldest hot object, becomes cold for it, and is the victim.
		{"what returns in its test is hot", []uint32{0, 1, 2, 3, 4, 4}, []uint32{0}},
		{"a hot object that was requested stays", []uint32{0, 1, 2, 3, 0, 4, 4}, []uint32{1}},
	} {
		policytest.CheckExample(t, test.name, "clock-pro-simple", 4, test.trace, test.want)
	}
}

// naiveClockProSimple has the oldest object of each list first, and says by numbers which object is later.
type naiveClockProSimple struct {
	capacity, minCold, target int
	hot, cold, ghosts         []policies.Object
	epochs                    map[policies.Object]int
	marks                     map[policies.Object]bool
	epoch                     int
}

func (c *naiveClockProSimple) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	if slices.Contains(c.hot, o) || slices.Contains(c.cold, o) {
		c.marks[o] = true
		return true, nil
	}
	hot := false
	if slices.Contains(c.ghosts, o) {
		c.ghosts = policytest.Without(c.ghosts, o)
		hot = c.promotes(c.epochs[o])
	} else {
		c.epoch++
		hot = len(c.hot)+len(c.cold) < c.capacity-c.minCold
	}
	c.epochs[o], c.marks[o] = c.epoch, false
	if hot {
		c.hot = append(c.hot, o)
	} else {
		c.cold = append(c.cold, o)
	}
	for len(c.hot)+len(c.cold) > c.capacity {
		if len(c.cold) == 0 {
			c.cools(c.epoch)
		} else if v, evicted := c.turn(); evicted && v != o {
			victims = append(victims, v)
		}
	}
	for len(c.ghosts) > 0 && !c.tested(c.epochs[c.ghosts[0]]) {
		c.forget()
	}
	return false, victims
}

func (c *naiveClockProSimple) tested(epoch int) bool {
	return len(c.hot) == 0 || epoch > c.epochs[c.hot[0]]
}

func (c *naiveClockProSimple) adjust(by int) {
	c.target = max(c.minCold, min(c.target+by, c.capacity-c.minCold))
}

func (c *naiveClockProSimple) forget() {
	c.ghosts = c.ghosts[1:]
	c.adjust(-1)
}

func (c *naiveClockProSimple) promotes(epoch int) bool {
	if !c.tested(epoch) {
		return false
	}
	c.adjust(1)
	for len(c.hot) > 0 && len(c.hot) >= c.capacity-c.target {
		if !c.cools(epoch) {
			return false
		}
	}
	return c.tested(epoch)
}

func (c *naiveClockProSimple) cools(epoch int) bool {
	for len(c.hot) > 0 && c.epochs[c.hot[0]] <= epoch {
		o := c.hot[0]
		c.hot = c.hot[1:]
		if !c.marks[o] {
			c.cold = append(c.cold, o)
			return true
		}
		epoch++
		c.marks[o], c.epochs[o] = false, epoch
		c.hot = append(c.hot, o)
	}
	return false
}

func (c *naiveClockProSimple) turn() (o policies.Object, evicted bool) {
	o = c.cold[0]
	c.cold = c.cold[1:]
	if c.marks[o] {
		c.marks[o] = false
		hot := c.promotes(c.epochs[o])
		c.epoch++
		c.epochs[o] = c.epoch
		if hot {
			c.hot = append(c.hot, o)
		} else {
			c.cold = append(c.cold, o)
		}
		return o, false
	}
	if c.tested(c.epochs[o]) {
		c.ghosts = append(c.ghosts, o)
	}
	for len(c.ghosts) > c.capacity {
		c.forget()
	}
	return o, true
}

func TestClockProSimpleEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		want := &naiveClockProSimple{capacity: n, minCold: n / 4, epochs: map[policies.Object]int{},
			marks: map[policies.Object]bool{}}
		w.SameVictims(t, policytest.Drive(t, "clock-pro-simple(min-cold=0.25)", w.Config), want)
	})
}
