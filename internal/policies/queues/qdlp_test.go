package queues

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestQDLPExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		spec  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		// The main queue has room for 2.
		{"a second request leads to the main queue", "qd-lp-fifo(small=0.5)", []uint32{0, 0, 1, 2, 3, 4, 5}, []uint32{1, 2}},
		{"not with move=2", "qd-lp-fifo(small=0.5,move=2)", []uint32{0, 0, 1, 2, 3, 4, 5}, []uint32{0, 1}},
		// 2 finds no room in the main queue, which evicts 0 for it.
		{"the main queue evicts for what enters it", "qd-lp-fifo(small=0.5)", []uint32{0, 0, 1, 1, 2, 2, 3, 4, 5},
			[]uint32{0, 3}},
		// 2 returns where 0 and 1 fill the main queue: 3 leaves for it, and 0, so that 5 needs no room.
		{"and for what returns", "qd-lp-fifo(small=0.5)", []uint32{0, 0, 1, 1, 2, 3, 4, 2, 5, 6}, []uint32{2, 3, 0, 4}},
	} {
		policytest.CheckExample(t, test.name, test.spec, 4, test.trace, test.want)
	}
}

// naiveQDLP has the oldest object of each queue first.
type naiveQDLP struct {
	capacity, mainLimit, ghostLimit int
	small, main, ghost              []policies.Object
	requests                        map[policies.Object]int
	late                            []policies.Object // evicted when an object had been loaded
}

func (c *naiveQDLP) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	victims, c.late = c.late, nil
	if slices.Contains(c.small, o) || slices.Contains(c.main, o) {
		c.requests[o] = min(c.requests[o]+1, 3)
		return true, victims
	}
	returns := slices.Contains(c.ghost, o)
	c.ghost = policytest.Without(c.ghost, o)
	for len(c.small)+len(c.main) == c.capacity {
		victims = append(victims, c.evict()...)
	}
	c.requests[o] = 0
	if returns && c.mainLimit > 0 {
		c.late = c.toMain(o)
	} else {
		c.small = append(c.small, o)
	}
	return false, victims
}

func (c *naiveQDLP) evict() []policies.Object {
	if len(c.small) == 0 {
		return []policies.Object{c.evictMain()}
	}
	o := c.small[0]
	c.small = c.small[1:]
	if c.requests[o] > 0 && c.mainLimit > 0 {
		return c.toMain(o)
	}
	c.ghost = append(c.ghost, o)
	c.ghost = c.ghost[max(0, len(c.ghost)-c.ghostLimit):]
	return []policies.Object{o}
}

// toMain puts o into the main queue, which evicts if it is full.
func (c *naiveQDLP) toMain(o policies.Object) (victims []policies.Object) {
	if len(c.main) == c.mainLimit {
		victims = append(victims, c.evictMain())
	}
	c.requests[o] = 0
	c.main = append(c.main, o)
	return victims
}

func (c *naiveQDLP) evictMain() policies.Object {
	for {
		o := c.main[0]
		c.main = c.main[1:]
		if c.requests[o] == 0 {
			return o
		}
		c.requests[o]--
		c.main = append(c.main, o)
	}
}

// drained is a cache in which what a policy has evicted late leaves before the next request.
type drained struct{ *policytest.Driven }

func (d drained) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	late := d.Policy.(policies.Expirer)
	for v, ok := late.Expired(0); ok; v, ok = late.Expired(0) {
		d.Drop(v)
		victims = append(victims, v)
	}
	hit, others := d.Driven.Serve(o, size, now)
	return hit, append(victims, others...)
}

func TestQDLPEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		want := &naiveQDLP{capacity: n, mainLimit: n - max(1, n/10), ghostLimit: n * 9 / 10,
			requests: map[policies.Object]int{}}
		w.SameVictims(t, drained{policytest.Drive(t, "qd-lp-fifo", w.Config)}, want)
	})
}
