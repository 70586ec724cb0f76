package queues

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestS3FIFODynamicExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		spec  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		// The small queue begins with 2, and holds more while the main queue is empty.
		{"one more request leads to the main queue", "s3fifo-d(small=0.5)", []uint32{0, 0, 1, 2, 3, 4}, []uint32{1}},
		{"not with move=2", "s3fifo-d(small=0.5,move=2)", []uint32{0, 0, 1, 2, 3, 4}, []uint32{0}},
		// 1 returns from the ghost: 0 leaves for 4, which moves to the main queue, and 2 for 1, so that 6 needs no room.
		{"the main queue makes room for what returns", "s3fifo-d(small=0.5)", []uint32{0, 0, 1, 2, 2, 3, 4, 4, 5, 1, 6},
			[]uint32{1, 3, 0, 2}},
	} {
		policytest.CheckExample(t, test.name, test.spec, 4, test.trace, test.want)
	}
}

// naiveS3FIFODynamic has the oldest object of each queue first.
type naiveS3FIFODynamic struct {
	capacity, smallLimit, mainLimit, ghostLimit int
	small, main, ghost                          []policies.Object
	smallWatched, mainWatched                   []policies.Object
	smallHits, mainHits                         int
	requests                                    map[policies.Object]int
	late                                        []policies.Object
}

// keep returns the last n objects of a queue.
func keep(q []policies.Object, n int) []policies.Object { return q[max(0, len(q)-n):] }

func (c *naiveS3FIFODynamic) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	c.adapt()
	victims, c.late = c.late, nil
	if slices.Contains(c.small, o) || slices.Contains(c.main, o) {
		c.requests[o] = min(c.requests[o]+1, 3)
		return true, victims
	}
	returns := slices.Contains(c.ghost, o)
	c.ghost = policytest.Without(c.ghost, o)
	if slices.Contains(c.smallWatched, o) {
		c.smallWatched = policytest.Without(c.smallWatched, o)
		c.smallHits++
	}
	if slices.Contains(c.mainWatched, o) {
		c.mainWatched = policytest.Without(c.mainWatched, o)
		c.mainHits++
	}
	for len(c.small)+len(c.main) == c.capacity {
		victims = append(victims, c.evict()...)
	}
	c.requests[o] = 0
	if !returns {
		c.small = append(c.small, o)
		return false, victims
	}
	for len(c.main) >= c.mainLimit && len(c.main) > 0 {
		c.late = append(c.late, c.evictMain())
	}
	c.main = append(c.main, o)
	return false, victims
}

func (c *naiveS3FIFODynamic) adapt() {
	if len(c.mainWatched) == 0 {
		c.smallHits, c.mainHits = 0, 0
		return
	}
	if c.smallHits+c.mainHits <= 100 {
		return
	}
	step := 0
	if c.smallHits > 2*c.mainHits && c.mainLimit > 1 {
		step = 1
	} else if c.mainHits > 2*c.smallHits && c.smallLimit > 1 {
		step = -1
	}
	c.smallLimit, c.ghostLimit, c.mainLimit = c.smallLimit+step, c.ghostLimit+step, c.mainLimit-step
	c.smallHits, c.mainHits = c.smallHits*8/10, c.mainHits*8/10
}

func (c *naiveS3FIFODynamic) evict() (victims []policies.Object) {
	if len(c.small) == 0 {
		v := c.evictMain()
		c.mainWatched = keep(append(c.mainWatched, v), c.capacity/2)
		return []policies.Object{v}
	}
	o := c.small[0]
	c.small = c.small[1:]
	if c.requests[o] == 0 {
		c.ghost = keep(append(c.ghost, o), c.ghostLimit)
		c.smallWatched = keep(append(c.smallWatched, o), c.capacity/2)
		return []policies.Object{o}
	}
	c.requests[o] = 0
	c.main = append(c.main, o)
	for len(c.main) > c.mainLimit {
		v := c.evictMain()
		c.mainWatched = keep(append(c.mainWatched, v), c.capacity/2)
		victims = append(victims, v)
	}
	return victims
}

func (c *naiveS3FIFODynamic) evictMain() policies.Object {
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

func TestS3FIFODynamicEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		n := int(w.Config.Capacity)
		small := max(1, n*3/10)
		want := &naiveS3FIFODynamic{capacity: n, smallLimit: small, mainLimit: n - small, ghostLimit: n - small,
			requests: map[policies.Object]int{}}
		if n > 1 {
			want.smallLimit = min(small, n-1)
		}
		spec := "s3fifo-d(small=0.3,watched=0.5)"
		w.SameVictims(t, drained{policytest.Drive(t, spec, w.Config)}, want)
	})
}
