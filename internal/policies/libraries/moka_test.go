package libraries

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestMokaExamples(t *testing.T) {
	policytest.CheckExample(t, "a tie is lost", "moka", 2, []policies.Object{0, 1, 2, 2}, []policies.Object{0})
	policytest.CheckExample(t, "a hit makes 0 more recent than 1, and counts", "moka", 2,
		[]policies.Object{0, 1, 0, 2, 2, 2}, []policies.Object{1})
	policytest.CheckExample(t, "nothing is counted before the cache is half full", "moka", 5,
		[]policies.Object{0, 0, 0, 0, 1, 2, 3, 4, 5}, []policies.Object{0})
}

// naiveMoka is the policy on a slice, least recent object first, with exact counts and no halving.
type naiveMoka struct {
	capacity int64
	sizes    []int64
	resident []policies.Object
	counts   map[policies.Object]int
	counting bool
}

func (c *naiveMoka) used() (sum int64) {
	for _, o := range c.resident {
		sum += c.sizes[o]
	}
	return sum
}

func (c *naiveMoka) Serve(o policies.Object, size int64, _ int) (hit bool, victims []policies.Object) {
	if size > c.capacity {
		return false, nil
	}
	if c.counting {
		c.counts[o] = min(c.counts[o]+1, dense.MaxCount)
	}
	if slices.Contains(c.resident, o) {
		c.resident = append(policytest.Without(c.resident, o), o)
		return true, nil
	}
	if c.used()+size > c.capacity {
		room, count := int64(0), 0
		for _, v := range c.resident {
			if room >= size {
				break
			}
			victims = append(victims, v)
			room += c.sizes[v]
			count += c.counts[v]
		}
		if room < size || c.counts[o] <= count {
			return false, nil
		}
		c.resident = slices.Clone(c.resident[len(victims):])
	}
	c.resident = append(c.resident, o)
	c.counting = c.counting || c.used() >= c.capacity/2
	return false, victims
}

func TestMokaEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		want := &naiveMoka{capacity: w.Config.Capacity, sizes: w.Sizes, counts: map[policies.Object]int{}}
		w.SameVictims(t, punctual{policytest.Drive(t, "moka", w.Config)}, want)
	})
}

// The sketch begins at half of the capacity, with room for 128 objects at least; by bytes for as many as there are,
// times the share of the capacity that they take.
func TestMokaSketch(t *testing.T) {
	for _, test := range []struct {
		capacity, size  int64
		objects         int
		words, requests int
	}{
		{1000, 1, 499, 0, 0},
		{1000, 1, 500, 1024, 10_000},
		{20, 1, 10, 128, 1280},
		{60_000, 100, 299, 0, 0},
		{60_000, 100, 300, 256, 1500},
	} {
		d := policytest.Drive(t, "moka", policies.Config{Capacity: test.capacity, Unit: test.size == 1, Objects: 1000,
			Requests: 1000})
		for i := range test.objects {
			d.Serve(policies.Object(i), test.size, i)
		}
		var sketch *dense.FullSketch
		switch p := d.Policy.(type) {
		case *moka:
			sketch = &p.sketch
		case *mokaSized:
			sketch = &p.sketch
		}
		if sketch.Words() != test.words || sketch.Sample() != test.requests {
			t.Errorf("%d objects of %d: %d words, %d requests, want %d and %d", test.objects, test.capacity,
				sketch.Words(), sketch.Sample(), test.words, test.requests)
		}
	}
}
