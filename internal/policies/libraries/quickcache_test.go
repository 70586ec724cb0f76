package libraries

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// The hot segment has room for 1 object of 2, and 1 ghost is kept.
func TestQuickCacheExamples(t *testing.T) {
	policytest.CheckExample(t, "1 is cold, and leaves before the older 0, which is hot", "quick-cache", 2,
		[]policies.Object{0, 1, 2}, []policies.Object{1})
	policytest.CheckExample(t, "a request makes 1 hot, and 0 leaves in its place", "quick-cache", 2,
		[]policies.Object{0, 1, 1, 2}, []policies.Object{0})
	policytest.CheckExample(t, "1 returns from the ghosts and is hot: of the others 2 is cold", "quick-cache", 2,
		[]policies.Object{0, 1, 2, 1, 3}, []policies.Object{1, 2, 0})
}

// naiveQuickCache is one shard on slices, oldest first.
type naiveQuickCache struct {
	capacity, hotLimit int64
	sizes              []int64
	hot, cold, ghosts  []policies.Object
	freq               map[policies.Object]int
	mostGhosts         int
	evicted            []policies.Object
}

func newNaiveQuickCache(w policytest.Workload, items int) *naiveQuickCache {
	return &naiveQuickCache{
		capacity: w.Config.Capacity, sizes: w.Sizes, freq: map[policies.Object]int{}, mostGhosts: items / 2,
		hotLimit: max(1, int64(0.97*float64(w.Config.Capacity))),
	}
}

func (c *naiveQuickCache) sum(list []policies.Object) (sum int64) {
	for _, o := range list {
		sum += c.sizes[o]
	}
	return sum
}

func (c *naiveQuickCache) Serve(o policies.Object, size int64, _ int) (hit bool, victims []policies.Object) {
	c.evicted = nil
	if slices.Contains(c.hot, o) || slices.Contains(c.cold, o) {
		c.freq[o] = min(c.freq[o]+1, 2)
		return true, nil
	}
	if size > c.hotLimit {
		return false, nil
	}
	if slices.Contains(c.ghosts, o) {
		c.ghosts = policytest.Without(c.ghosts, o)
		c.freq[o] = 0
		c.hot = append(c.hot, o)
		c.evictFor(0)
		return false, policytest.Without(c.evicted, o)
	}
	enterHot := c.sum(c.hot)+size <= c.hotLimit
	c.evictFor(size)
	c.freq[o] = 0
	if enterHot {
		c.hot = append(c.hot, o)
	} else {
		c.cold = append(c.cold, o)
	}
	return false, c.evicted
}

func (c *naiveQuickCache) evictFor(size int64) {
	for c.sum(c.hot)+c.sum(c.cold)+size > c.capacity {
		if len(c.cold) == 0 {
			c.evictHot()
			continue
		}
		o := c.cold[0]
		c.cold = c.cold[1:]
		if c.freq[o] == 0 {
			c.evicted = append(c.evicted, o)
			c.ghosts = append(c.ghosts, o)
			c.ghosts = c.ghosts[max(0, len(c.ghosts)-c.mostGhosts):]
			continue
		}
		c.freq[o]--
		c.hot = append(c.hot, o)
		for c.sum(c.hot) > c.hotLimit {
			c.evictHot()
		}
	}
}

func (c *naiveQuickCache) evictHot() {
	for c.freq[c.hot[0]] > 0 {
		c.freq[c.hot[0]]--
		c.hot = append(c.hot[1:], c.hot[0])
	}
	c.evicted = append(c.evicted, c.hot[0])
	c.hot = c.hot[1:]
}

func TestQuickCacheEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		spec, items := "quick-cache(items=10)", 10
		if w.Config.Unit {
			items = int(w.Config.Capacity)
		}
		w.SameVictims(t, sortedVictims{punctual{policytest.Drive(t, spec, w.Config)}},
			sortedVictims{newNaiveQuickCache(w, items)})
	})
}

// Each shard holds what its segments say, within its capacity, and the shards together what the cache holds, whatever
// is requested, written or removed.
func TestQuickCacheKeepsItsBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		d := punctual{policytest.Drive(t, "quick-cache(shards=4)", w.Config)}
		p := d.Policy.(*quickCache)
		d.afterEachRequest(t, w, func() {
			used, resident := int64(0), 0
			for i, s := range p.shards {
				used += p.used(i)
				resident += s.resident
				if p.used(i) > s.capacity || s.most >= 0 && s.ghosts > s.most {
					t.Fatalf("shard %d: %d of %d, %d ghosts of %d", i, p.used(i), s.capacity, s.ghosts, s.most)
				}
			}
			if used != d.Used() || resident != len(d.Stored) {
				t.Fatalf("%d objects of %d in shards, %d of %d in the cache", resident, used, len(d.Stored), d.Used())
			}
		})
	})
}

// A shard has room for 32 objects at least, if there is more than one.
func TestQuickCacheShards(t *testing.T) {
	for _, test := range []struct {
		spec     string
		capacity int64
		unit     bool
		want     int
	}{
		{"quick-cache", 1000, true, 1},
		{"quick-cache(shards=8)", 1000, true, 8},
		{"quick-cache(shards=5)", 1000, true, 8},
		{"quick-cache(shards=8)", 249, true, 8},
		{"quick-cache(shards=8)", 248, true, 4},
		{"quick-cache(shards=8)", 31, true, 1},
		{"quick-cache(shards=8,items=100)", 1 << 20, false, 2},
	} {
		c := policies.Config{Capacity: test.capacity, Unit: test.unit, Objects: 1, Requests: 1}
		if got := len(policytest.Drive(t, test.spec, c).Policy.(*quickCache).shards); got != test.want {
			t.Errorf("%s at %d: %d shards, want %d", test.spec, test.capacity, got, test.want)
		}
	}
}
