package queues

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestFIFOMergeExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		spec  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		{"fewer objects than a run leave in order of arrival", "fifo-merge", []uint32{0, 1, 2, 3, 0, 4, 5}, []uint32{0, 1}},
		// Of 0, 1 and 2, two are kept. The next run is 3, 4 and, from the oldest object on, 0.
		{"the others stay where they are", "fifo-merge(exam=3,keep=1)", []uint32{0, 1, 2, 3, 0, 2, 4, 0, 3, 4, 3, 5, 6},
			[]uint32{1, 4, 5}},
		{"the oldest requests leave", "fifo-merge(exam=3,keep=1,retain=recency)", []uint32{0, 1, 2, 3, 0, 4, 3, 5},
			[]uint32{1, 0}},
	} {
		policytest.CheckExample(t, test.name, test.spec, 4, test.trace, test.want)
	}
}

// naiveFIFOMerge keeps what was requested last. The oldest object comes first.
type naiveFIFOMerge struct {
	capacity, used int64
	exam, evicts   int
	queue, victims []*policytest.NaiveObject
	hand           *policytest.NaiveObject // nil: the oldest
}

func (c *naiveFIFOMerge) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	at := slices.IndexFunc(c.queue, func(x *policytest.NaiveObject) bool { return x.Object == o })
	if at >= 0 {
		c.queue[at].Last = now
		return true, nil
	}
	if size > c.capacity {
		return false, nil
	}
	for c.used+size > c.capacity {
		victims = append(victims, c.evict(now))
	}
	c.queue = append(c.queue, &policytest.NaiveObject{Object: o, Size: size, Last: now})
	c.used += size
	return false, victims
}

func (c *naiveFIFOMerge) evict(now int) policies.Object {
	if len(c.victims) == 0 && len(c.queue) <= c.exam {
		c.hand = nil
		return c.remove(c.queue[0])
	}
	if len(c.victims) == 0 {
		at := max(0, slices.Index(c.queue, c.hand))
		run := slices.Concat(c.queue, c.queue)[at : at+c.exam]
		c.hand = nil
		if next := (at + c.exam) % len(c.queue); at+c.exam != len(c.queue) {
			c.hand = c.queue[next]
		}
		slices.SortStableFunc(run, func(a, b *policytest.NaiveObject) int {
			return cmp.Compare(1e12/float64(now-a.Last)/float64(a.Size), 1e12/float64(now-b.Last)/float64(b.Size))
		})
		c.victims = run[:c.evicts]
	}
	v := c.victims[0]
	c.victims = c.victims[1:]
	return c.remove(v)
}

func (c *naiveFIFOMerge) remove(v *policytest.NaiveObject) policies.Object {
	if at := slices.Index(c.queue, v); v == c.hand {
		c.hand = nil
		if at+1 < len(c.queue) {
			c.hand = c.queue[at+1]
		}
	}
	c.queue = slices.DeleteFunc(c.queue, func(x *policytest.NaiveObject) bool { return x == v })
	c.used -= v.Size
	return v.Object
}

func TestFIFOMergeEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		want := &naiveFIFOMerge{capacity: w.Config.Capacity, exam: 7, evicts: 3}
		w.SameVictims(t, policytest.Drive(t, "fifo-merge(exam=7,keep=3,retain=recency)", w.Config), want)
	})
}
