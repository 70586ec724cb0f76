package experts

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestSRLRUExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		// R has room for 4 and fills first. Once the cache is full, 5 makes 0 fall to SR, in front of it.
		{"what is not reused falls behind what comes", []uint32{0, 1, 2, 3, 4, 5, 6, 7}, []uint32{4, 5, 0}},
		// 4 returns from the history to R, and 1 falls.
		{"what returns enters R", []uint32{0, 1, 2, 3, 4, 5, 4, 6, 7, 8}, []uint32{4, 5, 0, 1, 6}},
	} {
		policytest.CheckExample(t, test.name, "sr-lru", 5, test.trace, test.want)
	}
}

// naiveSRLRU is the paper's rule for objects of one size, with lists whose oldest objects come last.
type naiveSRLRU struct {
	capacity, limit int
	r, sr, history  []policies.Object
	demoted, fresh  map[policies.Object]bool
}

func (c *naiveSRLRU) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	if slices.Contains(c.r, o) {
		c.r = slices.Insert(policytest.Without(c.r, o), 0, o)
		return true, nil
	}
	if slices.Contains(c.sr, o) {
		if c.demoted[o] {
			c.move(rounded(c.freshInHistory(), len(c.demoted)))
			delete(c.demoted, o)
		}
		c.sr = policytest.Without(c.sr, o)
		for len(c.r) > 0 && len(c.r)+1 > c.limit {
			c.demote()
		}
		c.r = slices.Insert(c.r, 0, o)
		return true, nil
	}
	returns, wasFresh := slices.Contains(c.history, o), c.fresh[o]
	full := len(c.r)+len(c.sr) == c.capacity
	if returns {
		c.history = policytest.Without(c.history, o)
		delete(c.fresh, o)
		if wasFresh {
			c.move(-rounded(len(c.demoted), c.freshInHistory()))
		}
	}
	if full {
		victims = append(victims, c.evict())
	}
	switch {
	case !returns && len(c.sr) == 0 && len(c.r) < c.limit:
		c.r = slices.Insert(c.r, 0, o)
		return false, victims
	case !returns && !full && len(c.sr) < c.capacity-c.limit:
		c.sr = slices.Insert(c.sr, 0, o)
		return false, victims
	case returns:
		c.r = slices.Insert(c.r, 0, o)
	default:
		c.sr = slices.Insert(c.sr, 0, o)
		c.fresh[o] = true
	}
	for len(c.r) > 0 && len(c.r) >= c.limit {
		c.demote()
	}
	return false, victims
}

func rounded(a, b int) int { return max(1, int(float64(a)/float64(max(1, b))+0.5)) }

func (c *naiveSRLRU) move(by int) { c.limit = max(1, min(c.limit+by, c.capacity-1)) }

func (c *naiveSRLRU) freshInHistory() (n int) {
	for _, o := range c.history {
		if c.fresh[o] {
			n++
		}
	}
	return n
}

func (c *naiveSRLRU) demote() {
	o := c.r[len(c.r)-1]
	c.r, c.sr = c.r[:len(c.r)-1], slices.Insert(c.sr, 0, o)
	c.demoted[o] = true
}

func (c *naiveSRLRU) evict() policies.Object {
	from := &c.sr
	if len(c.sr) == 0 {
		from = &c.r
	}
	o := (*from)[len(*from)-1]
	*from = (*from)[:len(*from)-1]
	delete(c.demoted, o)
	c.history = slices.Insert(c.history, 0, o)
	if len(c.history) > c.capacity {
		delete(c.fresh, c.history[c.capacity])
		c.history = c.history[:c.capacity]
	}
	return o
}

func TestSRLRUEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		want := &naiveSRLRU{capacity: n, limit: n - max(1, (n+50)/100), demoted: map[policies.Object]bool{},
			fresh: map[policies.Object]bool{}}
		w.SameVictims(t, policytest.Drive(t, "sr-lru", w.Config), want)
	})
}
