package libraries

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestFoyerExamples(t *testing.T) {
	policytest.CheckExample(t, "0 falls to the low list, and a hit does not raise it above 1",
		"foyer-lru(shards=1,high=0.5)", 2, []policies.Object{0, 1, 0, 2}, []policies.Object{0})
	policytest.CheckExample(t, "of 1 on probation and 2 in the window, 2 was requested less",
		"foyer-lfu(shards=1,window=0.4)", 3, []policies.Object{0, 0, 1, 1, 2, 3}, []policies.Object{2})
	policytest.CheckExample(t, "a request saves 0 from the small queue, and there from 1, which has been a ghost",
		"foyer-s3fifo(shards=1,small=0.4)", 2, []policies.Object{0, 1, 0, 2, 1, 3}, []policies.Object{1, 2, 1})
}

// naiveFoyer is one shard of the library: lists with the next to leave first.
type naiveFoyer struct {
	capacity int64
	sizes    []int64
	lists    [3][]policies.Object
	hit      func(c *naiveFoyer, o policies.Object, list int)
	push     func(c *naiveFoyer, o policies.Object)
	next     func(c *naiveFoyer) (list int)
	counts   map[policies.Object]int
	ghosts   []policies.Object
}

func (c *naiveFoyer) used(list int) (sum int64) {
	for _, o := range c.lists[list] {
		sum += c.sizes[o]
	}
	return sum
}

func (c *naiveFoyer) move(o policies.Object, from, to int) {
	c.lists[from] = policytest.Without(c.lists[from], o)
	c.lists[to] = append(c.lists[to], o)
}

// spill moves the oldest of a list to another until it has its share.
func (c *naiveFoyer) spill(from, to int, share float64) {
	for c.used(from) > int64(float64(c.capacity)*share) {
		c.move(c.lists[from][0], from, to)
	}
}

func (c *naiveFoyer) Serve(o policies.Object, size int64, _ int) (hit bool, victims []policies.Object) {
	for list := range c.lists {
		if slices.Contains(c.lists[list], o) {
			c.hit(c, o, list)
			return true, nil
		}
	}
	if size > c.capacity {
		return false, nil
	}
	for c.used(0)+c.used(1)+c.used(2)+size > c.capacity {
		list := c.next(c)
		victims = append(victims, c.lists[list][0])
		c.lists[list] = c.lists[list][1:]
	}
	c.push(c, o)
	return false, victims
}

// firstOf returns the first of some lists that has an object.
func (c *naiveFoyer) firstOf(lists ...int) int {
	i := slices.IndexFunc(lists, func(l int) bool { return len(c.lists[l]) > 0 })
	return lists[i]
}

func naiveFoyerLRU(c *naiveFoyer) {
	const low, high = 0, 1
	c.hit = func(c *naiveFoyer, o policies.Object, list int) { c.move(o, list, list) }
	c.push = func(c *naiveFoyer, o policies.Object) {
		c.lists[high] = append(c.lists[high], o)
		c.spill(high, low, 0.9)
	}
	c.next = func(c *naiveFoyer) int { return c.firstOf(low, high) }
}

func naiveFoyerLFU(c *naiveFoyer) {
	const window, probation, protected = 0, 1, 2
	c.hit = func(c *naiveFoyer, o policies.Object, list int) {
		c.counts[o]++
		if list == probation {
			c.move(o, probation, protected)
			c.spill(protected, probation, 0.8)
		} else {
			c.move(o, list, list)
		}
	}
	c.push = func(c *naiveFoyer, o policies.Object) {
		c.counts[o]++
		c.lists[window] = append(c.lists[window], o)
		c.spill(window, probation, 0.1)
	}
	c.next = func(c *naiveFoyer) int {
		w, p := c.lists[window], c.lists[probation]
		if len(w) > 0 && len(p) > 0 && c.counts[w[0]] >= c.counts[p[0]] {
			return probation
		}
		return c.firstOf(window, probation, protected)
	}
}

func naiveFoyerS3FIFO(c *naiveFoyer) {
	const small, main = 0, 1
	c.hit = func(c *naiveFoyer, o policies.Object, _ int) { c.counts[o] = min(c.counts[o]+1, 3) }
	c.push = func(c *naiveFoyer, o policies.Object) {
		c.counts[o] = 0
		to := small
		if slices.Contains(c.ghosts, o) {
			to = main
		}
		c.lists[to] = append(c.lists[to], o)
	}
	c.next = func(c *naiveFoyer) int {
		if c.used(small) > int64(float64(c.capacity)*0.1) {
			for len(c.lists[small]) > 0 {
				o := c.lists[small][0]
				if c.counts[o] == 0 {
					c.remember(o)
					return small
				}
				c.move(o, small, main)
			}
		}
		for len(c.lists[main]) > 0 {
			o := c.lists[main][0]
			if c.counts[o] == 0 {
				return main
			}
			c.counts[o]--
			c.move(o, main, main)
		}
		return small
	}
}

// remember appends a ghost, after as many of the oldest have gone as it needs the room of.
func (c *naiveFoyer) remember(o policies.Object) {
	weight := func() (sum int64) {
		for _, g := range c.ghosts {
			sum += c.sizes[g]
		}
		return sum
	}
	for len(c.ghosts) > 0 && weight()+c.sizes[o] > c.capacity {
		c.ghosts = c.ghosts[1:]
	}
	c.ghosts = append(c.ghosts, o)
}

func TestFoyerEqualsNaive(t *testing.T) {
	for name, rules := range map[string]func(*naiveFoyer){
		"foyer-lru": naiveFoyerLRU, "foyer-lfu": naiveFoyerLFU, "foyer-s3fifo": naiveFoyerS3FIFO,
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawWorkload(t)
				want := &naiveFoyer{capacity: w.Config.Capacity, sizes: w.Sizes, counts: map[policies.Object]int{}}
				rules(want)
				w.SameVictims(t, punctual{policytest.Drive(t, name+"(shards=1)", w.Config)}, want)
			})
		})
	}
}

// The shards hold together what the cache holds, whatever is requested, written or removed.
func TestFoyerKeepsItsBooks(t *testing.T) {
	for _, name := range []string{"foyer-lru", "foyer-lfu", "foyer-s3fifo"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawWorkload(t)
				d := punctual{policytest.Drive(t, name, w.Config)}
				f := d.Policy.(*foyer)
				d.afterEachRequest(t, w, func() {
					used := int64(0)
					for i := range f.parts {
						used += f.queues.used(i)
					}
					if used != d.Used() {
						t.Fatalf("%d in shards, %d in the cache", used, d.Used())
					}
				})
			})
		})
	}
}

// XXH64 with seed 0 of eight bytes, and the counts of the sketch, which are halved after 2719 requests.
func TestFoyerHashesAndCounts(t *testing.T) {
	for key, want := range map[uint64]uint64{0: 0x34c96acdcadb1bbb, 1: 0x9f29cb17a2a49995, 42: 0xb556806fb6d14353} {
		if got := xxHash64(key); got != want {
			t.Errorf("key %d: hash %#x, want %#x", key, got, want)
		}
	}
	var c foyerCounts
	for range foyerBuckets - 1 {
		c.add(7)
	}
	if got := c.of(7); got != foyerBuckets-1 {
		t.Errorf("%d requests counted, want %d", got, foyerBuckets-1)
	}
	if c.add(8); c.of(7) != (foyerBuckets-1)/2 || c.of(8) != 0 || c.added != foyerBuckets/2 {
		t.Errorf("halved: %d, %d, %d in the sample", c.of(7), c.of(8), c.added)
	}
}
