package sets

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

// timeline numbers the requests of each set, each object once per batch. With these numbers Belady's rule is optimal:
// it evicts the object with the farthest number.
//
// A batch is looked up before anything is loaded. Two objects that are next requested in the same batch are equally
// far, but not equally good to keep. One that is missed is loaded and cannot be evicted at once, while one that hits
// may be. So it is better to miss the one that is requested sooner after that batch: it has the larger number.
type timeline struct {
	*slabs.Geometry
	at     []uint32 // per request that is the first of its object in its batch: its number in its set
	next   []uint32 // set by set, per number: the number of the next request to the same object, or policies.Never
	starts []int    // per set: where it begins in next
}

func newTimeline(objects []policies.Object, g *slabs.Geometry, b batches) *timeline {
	t := &timeline{Geometry: g, at: make([]uint32, len(objects)), starts: make([]int, g.Sets+1)}
	firsts, ends := b.firstLookups(objects, len(g.Home))
	left := make([]uint32, g.Sets) // per set: numbers that are not given yet
	for _, pos := range firsts {
		left[g.SetOf(objects[pos])]++
	}
	for set, n := range left {
		t.starts[set+1] = t.starts[set] + int(n)
	}
	t.next = make([]uint32, len(firsts))
	later := slices.Repeat([]uint32{policies.Never}, len(g.Home)) // per object: the number of its next request
	for i := len(ends) - 1; i >= 0; i-- {
		batch := firsts[:ends[i]]
		if i > 0 {
			batch = batch[ends[i-1]:]
		}
		// The soonest is numbered first, from the last number down.
		slices.SortFunc(batch, func(p, q uint32) int {
			return cmp.Or(cmp.Compare(later[objects[p]], later[objects[q]]), cmp.Compare(p, q))
		})
		for _, pos := range batch {
			o := objects[pos]
			set := g.SetOf(o)
			left[set]--
			t.at[pos] = left[set]
			t.next[t.starts[set]+int(left[set])] = later[o]
			later[o] = left[set]
		}
	}
	return t
}

// soonestLast sorts the misses of a batch by next requests, soonest last. What is loaded last cannot be evicted in the
// batch.
func (t *timeline) soonestLast(missed []lookup) {
	next := func(l lookup) uint32 { return t.next[t.starts[t.SetOf(l.object)]+int(t.at[l.pos])] }
	slices.SortStableFunc(missed, func(a, b lookup) int { return cmp.Compare(next(b), next(a)) })
}

func (t *timeline) nextUse(set int) []uint32 { return t.next[t.starts[set]:t.starts[set+1]] }
