package queues

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestSFIFOExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		spec  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		{"one queue is fifo", "sfifo(segments=1)", []uint32{0, 1, 2, 3, 0, 4, 5}, []uint32{0, 1}},
		// 0 and 1 fill the lower queue, 2 and 3 the upper one, whose oldest object falls back when 0 rises.
		{"a request moves an object to the next queue", "sfifo(segments=2)", []uint32{0, 1, 2, 3, 0, 4, 5}, []uint32{1, 2}},
		{"one in the last queue changes nothing", "sfifo(segments=2)", []uint32{0, 1, 2, 3, 2, 0, 4, 5}, []uint32{1, 2}},
	} {
		policytest.CheckExample(t, test.name, test.spec, 4, test.trace, test.want)
	}
}

// naiveSFIFO has the oldest object of each queue first.
type naiveSFIFO struct {
	capacity, limit int64
	sizes           []int64 // per object
	queues          [][]policies.Object
	late            []policies.Object // evicted by a hit
}

func (c *naiveSFIFO) used(k int) (sum int64) {
	for _, o := range c.queues[k] {
		sum += c.sizes[o]
	}
	return sum
}

func (c *naiveSFIFO) total() (sum int64) {
	for k := range c.queues {
		sum += c.used(k)
	}
	return sum
}

func (c *naiveSFIFO) Serve(o policies.Object, size int64, _ int) (hit bool, victims []policies.Object) {
	victims, c.late = c.late, nil
	if k := c.find(o); k >= 0 {
		if k+1 < len(c.queues) {
			c.queues[k] = policytest.Without(c.queues[k], o)
			c.queues[k+1] = append(c.queues[k+1], o)
		}
		for k = c.find(o); k >= 0 && c.used(k) > c.limit; k = c.find(o) {
			c.cool(k)
		}
		return true, victims
	}
	for c.total()+size > c.capacity {
		for k := range c.queues {
			if len(c.queues[k]) > 0 {
				victims = append(victims, c.pop(k))
				break
			}
		}
	}
	k := 0
	for k < len(c.queues) && c.used(k)+size > c.limit {
		k++
	}
	k %= len(c.queues)
	c.queues[k] = append(c.queues[k], o)
	return false, victims
}

// find returns the queue of o, or -1.
func (c *naiveSFIFO) find(o policies.Object) int {
	return slices.IndexFunc(c.queues, func(q []policies.Object) bool { return slices.Contains(q, o) })
}

func (c *naiveSFIFO) pop(k int) policies.Object {
	o := c.queues[k][0]
	c.queues[k] = c.queues[k][1:]
	return o
}

func (c *naiveSFIFO) cool(k int) {
	o := c.pop(k)
	if k == 0 {
		c.late = append(c.late, o)
		return
	}
	c.queues[k-1] = append(c.queues[k-1], o)
	for c.used(k-1) > c.limit {
		c.cool(k - 1)
	}
}

func TestSFIFOEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		limit := max(1, w.Config.Capacity/4)
		for o := range w.Sizes {
			w.Sizes[o] = min(w.Sizes[o], limit) // larger ones are not admitted
		}
		want := &naiveSFIFO{capacity: w.Config.Capacity, limit: limit, sizes: w.Sizes, queues: make([][]policies.Object, 4)}
		w.SameVictims(t, drained{policytest.Drive(t, "sfifo", w.Config)}, want)
	})
}
