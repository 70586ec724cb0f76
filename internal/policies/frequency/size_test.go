package frequency

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestSizeEqualsNaive(t *testing.T) {
	policytest.CheckRanked(t, "size", func(o *policytest.NaiveObject) int { return -int(o.Size) })
}

// Which of the largest objects goes is up to the heap, but there is no larger one.
func TestSizeEvictsTheLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		d := policytest.Drive(t, "size(ties=heap)", w.Config)
		for i, o := range w.Trace {
			before := map[policies.Object]int64{}
			for resident, size := range d.Stored {
				before[resident] = size
			}
			_, victims := d.Serve(o, w.Sizes[o], i)
			for _, v := range victims {
				size := before[v]
				delete(before, v)
				for resident, other := range before {
					if other > size {
						t.Fatalf("request %d: victim %d of size %d, but %d has %d", i, v, size, resident, other)
					}
				}
			}
		}
	})
}

func TestSizeExamples(t *testing.T) {
	// In the heap the last object takes the place of the one on top.
	policytest.CheckExample(t, "of one size", "size(ties=heap)", 3, []uint32{0, 1, 2, 0, 3, 4}, []uint32{0, 2})
	policytest.CheckExample(t, "of one size", "size", 3, []uint32{0, 1, 2, 0, 3, 4}, []uint32{1, 2})
}

func TestCRLFUEqualsNaive(t *testing.T) {
	policytest.CheckAgainstNaive(t, "cr-lfu", func(capacity int64) *policytest.Naive {
		c := policytest.NewNaive(capacity)
		c.Rank = func(o *policytest.NaiveObject, _ int) float64 { return float64(o.Requests) }
		c.Tie = func(o *policytest.NaiveObject) int { return -o.Last }
		return c
	})
}
