package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestClockProExamples(t *testing.T) {
	for _, test := range []struct {
		name     string
		spec     string
		capacity int64
		trace    []uint32
		want     []uint32 // victims in order
	}{
		// 0 and 1 are hot; 2 and 3 are cold. So are 4, 5 and 6, of which the oldest leaves.
		{"a scan passes through the cold objects", "clock-pro", 4, []uint32{0, 1, 2, 3, 4, 5, 6}, []uint32{2, 3, 4}},
		// 2 has its second request in its test, and becomes hot in place of 0, which is cold and leaves after 3.
		{"a second request in the test makes an object hot", "clock-pro", 4, []uint32{0, 1, 2, 3, 2, 4, 5, 6}, []uint32{3,
			0, 4}},
		{"one that follows at once does not count", "clock-pro", 4, []uint32{0, 1, 2, 2, 3, 4, 5, 6}, []uint32{2, 3, 4}},
		// 2 returns as a ghost and becomes hot; 0, the oldest hot object, becomes cold. 0 leaves after 3 and 4.
		{"a ghost that returns becomes hot", "clock-pro", 4, []uint32{0, 1, 2, 3, 4, 2, 5, 6, 7}, []uint32{2, 3, 4, 0, 5}},
	} {
		policytest.CheckExample(t, test.name, test.spec, test.capacity, test.trace, test.want)
	}
}

// naiveClockPro has the circle as a slice, the newest object first, and finds each hand by looking for the oldest
// object of its kind.
type naiveClockPro struct {
	capacity, minCold, maxCold, ghosts, target int
	plus, full                                 bool
	circle                                     []*naiveClockProObject
	last                                       policies.Object
}

type naiveClockProObject struct {
	object                          policies.Object
	hot, evicted, test, asked, once bool // once: was hot once and has not been requested since
}

func newNaiveClockPro(capacity int, plus bool) *naiveClockPro {
	c := &naiveClockPro{capacity: capacity, minCold: min(max(2, capacity/100), max(1, capacity/2)), plus: plus,
		last: policies.NoObject}
	c.maxCold, c.ghosts = max(c.minCold, min(capacity-c.minCold, capacity*99/100)), 2*capacity
	if plus {
		c.maxCold, c.ghosts = max(c.minCold, min(capacity-c.minCold, capacity/2)), capacity
	}
	c.target = c.minCold
	return c
}

func (c *naiveClockPro) count(is func(*naiveClockProObject) bool) (n int) {
	for _, x := range c.circle {
		if is(x) {
			n++
		}
	}
	return n
}

func isHot(x *naiveClockProObject) bool          { return x.hot }
func isGhost(x *naiveClockProObject) bool        { return x.evicted }
func isResidentCold(x *naiveClockProObject) bool { return !x.hot && !x.evicted }

// oldest returns the place of the oldest object of a kind.
func (c *naiveClockPro) oldest(is func(*naiveClockProObject) bool) int {
	for at, x := range slices.Backward(c.circle) {
		if is(x) {
			return at
		}
	}
	return -1
}

func (c *naiveClockPro) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	repeated := o == c.last
	c.last = o
	x := &naiveClockProObject{object: o}
	if at := slices.IndexFunc(c.circle, func(x *naiveClockProObject) bool { return x.object == o }); at >= 0 {
		x = c.circle[at]
		if !x.evicted {
			x.asked = x.asked || !repeated
			return true, nil
		}
	}
	if resident := c.count(isHot) + c.count(isResidentCold); resident == c.capacity {
		c.full = true
		victims = append(victims, c.evict())
		x.hot = slices.Contains(c.circle, x) && c.promotes(x)
	} else {
		x.hot = !c.full && c.capacity-resident > c.minCold
	}
	x.evicted, x.test = false, !x.hot
	c.toFront(x)
	c.endOldTests()
	return false, victims
}

func (c *naiveClockPro) remove(x *naiveClockProObject) {
	c.circle = slices.DeleteFunc(c.circle, func(y *naiveClockProObject) bool { return x == y })
}

func (c *naiveClockPro) toFront(x *naiveClockProObject) {
	c.remove(x)
	x.asked = false
	c.circle = slices.Insert(c.circle, 0, x)
}

func (c *naiveClockPro) adjust(by int) { c.target = min(max(c.target+by, c.minCold), c.maxCold) }

func (c *naiveClockPro) ratio(over, under int) int {
	if under == 0 {
		return 1
	}
	return max(1, over/under)
}

func (c *naiveClockPro) wasHotOnce(x *naiveClockProObject) {
	demoted := c.count(func(x *naiveClockProObject) bool { return x.once })
	c.adjust(-c.ratio(c.count(isGhost), demoted))
	x.once = false
}

// evict is the cold hand.
func (c *naiveClockPro) evict() policies.Object {
	for {
		x := c.circle[c.oldest(isResidentCold)]
		switch {
		case x.asked && x.test:
			x.hot = c.promotes(x)
			x.test = !x.hot
			c.toFront(x)
			continue
		case x.asked:
			if x.once {
				c.wasHotOnce(x)
			}
			x.test = true
			c.toFront(x)
			continue
		case x.test:
			x.evicted = true
		default:
			c.remove(x)
		}
		for c.count(isGhost) > c.ghosts {
			c.endTest(c.circle[c.oldest(func(x *naiveClockProObject) bool { return x.test })])
		}
		return x.object
	}
}

func (c *naiveClockPro) endTest(x *naiveClockProObject) {
	if !x.test {
		return
	}
	x.test = false
	if x.evicted {
		c.remove(x)
	}
	switch {
	case c.plus:
	case x.asked:
		c.adjust(1)
	default:
		c.adjust(-1)
	}
}

func (c *naiveClockPro) promotes(x *naiveClockProObject) bool {
	if !c.plus {
		c.adjust(1)
		x.asked = false
	} else if x.evicted {
		c.adjust(c.ratio(c.count(func(x *naiveClockProObject) bool { return x.once }), c.count(isGhost)))
	}
	for c.count(isHot) >= c.capacity-c.target {
		if c.count(isHot) == 0 || !x.test || !c.demotes(x) {
			return false
		}
	}
	return true
}

// demotes is the hot hand, which x has started.
func (c *naiveClockPro) demotes(x *naiveClockProObject) (demoted bool) {
	c.endOldTests()
	order := slices.Clone(c.circle[:c.oldest(isHot)+1])
	for _, y := range slices.Backward(order) {
		if y == x {
			break
		}
		if y.hot && y.asked {
			c.toFront(y)
			continue
		}
		if y.hot {
			y.hot, y.once = false, c.plus
			c.toFront(y)
			demoted = true
			break
		}
		if y.asked && y.once {
			c.wasHotOnce(y)
		}
		c.endTest(y)
	}
	c.endOldTests()
	return demoted
}

// endOldTests ends the tests of what is older than every hot object.
func (c *naiveClockPro) endOldTests() {
	if oldest := c.oldest(isHot); oldest >= 0 {
		for _, x := range slices.Backward(slices.Clone(c.circle[oldest:])) {
			c.endTest(x)
		}
	}
}

func TestClockProEqualsNaive(t *testing.T) {
	for spec, plus := range map[string]bool{"clock-pro": false, "clock-pro-plus": true} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawUnitWorkload(t)
				w.SameVictims(t, policytest.Drive(t, spec, w.Config), newNaiveClockPro(int(w.Config.Capacity), plus))
			})
		})
	}
}
