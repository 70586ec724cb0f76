package frequency

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestGDWheelExamples(t *testing.T) {
	policytest.CheckExample(t, "objects of one size are in one queue", "gdwheel", 3, []uint32{0, 1, 2, 0, 3, 4},
		[]uint32{1, 2})
	for _, test := range []struct {
		name  string
		spec  string
		sizes []int64 // of the objects 0, 1, 2 ..., which are requested once each
		want  []uint32
	}{
		{"the largest object is worth least", "gdwheel", []int64{12, 3, 4, 8}, []uint32{0}},
		{"all cost the same", "gdwheel(cost=one)", []int64{3, 12, 4, 8}, []uint32{0, 1}},
	} {
		d := policytest.Drive(t, test.spec, policies.Config{Capacity: 20, Objects: len(test.sizes)})
		var victims []policies.Object
		for o, size := range test.sizes {
			_, v := d.Serve(policies.Object(o), size, o)
			victims = append(victims, v...)
		}
		if !slices.Equal(victims, test.want) {
			t.Errorf("%s: victims %v, want %v", test.name, victims, test.want)
		}
	}
}

// naiveGreedyDual looks at every resident for the lowest priority.
type naiveGreedyDual struct {
	capacity, used, largest int64
	inflation               int64
	resident                []naiveCAMPObject
}

func (c *naiveGreedyDual) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	at := slices.IndexFunc(c.resident, func(x naiveCAMPObject) bool { return x.object == o })
	hit = at >= 0
	if !hit {
		if size > c.capacity {
			return false, nil
		}
		for c.used+size > c.capacity {
			victims = append(victims, c.evict())
		}
		c.used += size
		c.largest = max(c.largest, size)
		c.resident = append(c.resident, naiveCAMPObject{object: o, size: size})
		at = len(c.resident) - 1
	}
	c.resident[at].priority, c.resident[at].last = c.inflation+c.largest/size, now
	return hit, victims
}

func (c *naiveGreedyDual) evict() policies.Object {
	at := 0
	for i, x := range c.resident {
		if y := c.resident[at]; x.priority < y.priority || x.priority == y.priority && x.last < y.last {
			at = i
		}
	}
	v := c.resident[at]
	c.resident = slices.Delete(c.resident, at, at+1)
	c.used, c.inflation = c.used-v.size, v.priority
	return v.object
}

// One wheel that has a queue for each cost is greedy dual. With the default ones, no cost of a drawn workload reaches
// the second wheel.
func TestGDWheelEqualsGreedyDual(t *testing.T) {
	for _, spec := range []string{"gdwheel(wheels=1,queues=16)", "gdwheel"} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawWorkload(t)
				w.SameVictims(t, policytest.Drive(t, spec, w.Config), &naiveGreedyDual{capacity: w.Config.Capacity})
			})
		})
	}
}

func TestGDWheelRefusesCostsTooLarge(t *testing.T) {
	for _, test := range []struct {
		text string
		ok   bool
	}{{"gdwheel(wheels=4,queues=256)", true}, {"gdwheel(wheels=3,queues=4096)", false}} {
		if _, err := policies.Registry.Parse(test.text); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.text, err)
		}
	}
}
