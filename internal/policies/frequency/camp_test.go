package frequency

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestCAMPExamples(t *testing.T) {
	policytest.CheckExample(t, "objects of one size are in one queue", "camp", 3, []uint32{0, 1, 2, 0, 3, 4}, []uint32{1,
		2})
	for _, test := range []struct {
		name  string
		spec  string
		sizes []int64 // of the objects 0, 1, 2 ..., which are requested once each
		want  []uint32
	}{
		{"the largest object is worth least", "camp", []int64{12, 3, 4, 8}, []uint32{0}},
		// 18/3 and 18/4 are worth 6 and 4.
		{"then the next largest", "camp", []int64{18, 3, 4, 10, 10}, []uint32{0, 2}},
		{"with one bit they are worth the same", "camp(precision=1)", []int64{18, 3, 4, 10, 10}, []uint32{0, 1}},
	} {
		d := policytest.Drive(t, test.spec, policies.Config{Capacity: 25, Objects: len(test.sizes)})
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

// naiveCAMP looks at every resident for the lowest priority.
type naiveCAMP struct {
	capacity, used, largest int64
	inflation               int64
	resident                []*naiveCAMPObject
	lru                     bool
}

type naiveCAMPObject struct {
	object                policies.Object
	size, value, priority int64
	last                  int
}

func (c *naiveCAMP) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	at := slices.IndexFunc(c.resident, func(x *naiveCAMPObject) bool { return x.object == o })
	if at >= 0 {
		c.touch(c.resident[at], now)
		return true, nil
	}
	if size > c.capacity {
		return false, nil
	}
	for c.used+size > c.capacity {
		victims = append(victims, c.evict())
	}
	x := &naiveCAMPObject{object: o, size: size}
	c.resident = append(c.resident, x)
	c.used += size
	c.largest = max(c.largest, size)
	c.touch(x, now)
	return false, victims
}

// touch rounds what x is worth to five binary digits.
func (c *naiveCAMP) touch(x *naiveCAMPObject, now int) {
	x.value = c.largest / x.size
	unit := int64(1)
	for x.value/unit >= 32 {
		unit *= 2
	}
	x.value -= x.value % unit
	x.priority, x.last = c.inflation+x.value, now
}

func (c *naiveCAMP) least() *naiveCAMPObject {
	return slices.MinFunc(c.resident, func(a, b *naiveCAMPObject) int {
		if a.priority != b.priority {
			return int(a.priority - b.priority)
		}
		if a.value != b.value && !c.lru {
			return int(a.value - b.value)
		}
		return a.last - b.last
	})
}

func (c *naiveCAMP) evict() policies.Object {
	v := c.least()
	c.resident = slices.DeleteFunc(c.resident, func(x *naiveCAMPObject) bool { return x == v })
	c.used -= v.size
	if len(c.resident) > 0 {
		c.inflation = c.least().priority
	}
	return v.object
}

func TestCAMPEqualsNaive(t *testing.T) {
	for spec, lru := range map[string]bool{"camp": false, "camp(ties=lru)": true} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawWorkload(t)
				w.SameVictims(t, policytest.Drive(t, spec, w.Config), &naiveCAMP{capacity: w.Config.Capacity, lru: lru})
			})
		})
	}
}
