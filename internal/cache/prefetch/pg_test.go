package prefetch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naivePG counts, for each object, how often each other one was among the next requests. It has no bound.
func naivePG(requests []uint64, lookahead int, threshold float64) (proposed []uint64) {
	counts, total := map[uint64]int{}, 0
	last := len(requests) - 1
	object := requests[last]
	for i, o := range requests {
		if o != object || i+lookahead > last {
			continue
		}
		for _, follows := range requests[i+1 : i+lookahead+1] {
			counts[follows]++
			total++
		}
	}
	for o, n := range counts {
		if o != object && float64(n)/float64(total) > threshold {
			proposed = append(proposed, o)
		}
	}
	slices.Sort(proposed)
	return proposed
}

func TestPGProposesWhatFollowsOften(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests := rapid.SliceOfN(rapid.Uint64Range(0, 8), 1, 150).Draw(t, "requests")
		c := newLRU("pg(lookahead=3,threshold=0.2)", 4)
		for i, o := range requests {
			c.request(o)
			got := slices.Sorted(slices.Values(c.proposed))
			if want := naivePG(requests[:i+1], 3, 0.2); !slices.Equal(got, want) {
				t.Fatalf("request %d to %d: proposes %v, want %v", i, o, got, want)
			}
		}
	})
}

// With four entries, object 0 and two that follow it are in the graph, and 1 with one more edge.
func TestPGStopsRecording(t *testing.T) {
	c := newLRU("pg(lookahead=2,threshold=0.1,entries=4)", 2)
	for _, o := range []uint64{0, 1, 2, 3, 4, 5, 6, 7, 4} {
		c.request(o)
	}
	if len(c.proposed) > 0 {
		t.Errorf("4 has proposals %v, though the graph was full before", c.proposed)
	}
	if c.request(0); !slices.Equal(slices.Sorted(slices.Values(c.proposed)), []uint64{1, 2}) {
		t.Errorf("0 has proposals %v, want 1 and 2", c.proposed)
	}
}
