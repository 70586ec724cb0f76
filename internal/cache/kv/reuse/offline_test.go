package reuse

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyOverlap draws the overlap of every step with every label, on a grid, so that some equal the recall.
func anyOverlap(t *rapid.T, steps int) func(step, label int) float64 {
	shares := rapid.SliceOfN(rapid.IntRange(0, 4), steps*steps, steps*steps).Draw(t, "overlap")
	return func(step, label int) float64 { return float64(shares[step*steps+label]) / 4 }
}

// schedules returns the labels of all choices of steps in which to fetch that have the recall in every other step.
func (h *head) schedules(recall float64) (all [][]int) {
	for fetches := range 1 << (h.steps - 1) {
		labels := make([]int, h.steps)
		good := true
		for step := 1; step < h.steps; step++ {
			if fetches>>(step-1)&1 == 1 {
				labels[step] = step
				continue
			}
			labels[step] = labels[step-1]
			good = good && h.overlap(step, labels[step]) >= recall
		}
		if good {
			all = append(all, labels)
		}
	}
	return all
}

// TestOfflineRulesAreWhatTheyClaim compares with all schedules: greedy keeps each set for as long as any of them does
// that has kept the same sets before, bound has the fewest sets, and of these it, too, keeps each for the longest time.
func TestOfflineRulesAreWhatTheyClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 9).Draw(t, "steps")
		h := head{steps: steps, overlap: anyOverlap(t, steps)}
		recall := float64(rapid.IntRange(0, 4).Draw(t, "recall")) / 4
		all := h.schedules(recall)
		for name, best := range map[string][]int{
			"greedy": slices.MinFunc(all, slices.Compare[[]int]),
			"bound":  slices.MinFunc(all, fewer),
		} {
			if got := h.replay(offlineRule(name, recall)); !slices.Equal(got, best) {
				t.Errorf("%s has the labels %v, want %v", name, got, best)
			}
		}
	})
}

func offlineRule(name string, recall float64) Rule {
	return mustRule(fmt.Sprintf("%s(recall=%v)", name, recall), Head{})
}

// fewer compares schedules by their sets, then by how long the first ones serve.
func fewer(a, b []int) int {
	if d := sets(a) - sets(b); d != 0 {
		return d
	}
	return slices.Compare(a, b)
}

func TestBoundNeverNeedsMoreThanGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 40).Draw(t, "steps")
		calls := 0
		overlap := anyOverlap(t, steps)
		h := head{steps: steps, overlap: func(step, label int) float64 {
			calls++
			if label >= step {
				t.Errorf("step %d is compared with the set of step %d, which comes later", step, label)
			}
			return overlap(step, label)
		}}
		planned := sets(h.replay(offlineRule("bound", 0.5)))
		if calls > steps*(steps-1)/2 {
			t.Errorf("%d comparisons of %d steps, want each pair at most once", calls, steps)
		}
		if greedy := sets(h.replay(offlineRule("greedy", 0.5))); planned > greedy {
			t.Errorf("bound fetches %d sets, greedy %d", planned, greedy)
		}
	})
}

// TestGreedyIsNoBound has a set that lasts for ever, if only it is fetched before it has to be.
func TestGreedyIsNoBound(t *testing.T) {
	h := head{steps: 12, overlap: func(step, label int) float64 {
		if label == 2 || step-label <= 3 && label%2 == 0 {
			return 1
		}
		return 0
	}}
	greedy, planned := h.replay(offlineRule("greedy", 0.5)), h.replay(offlineRule("bound", 0.5))
	if want := []int{0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}; !slices.Equal(planned, want) || sets(greedy) < 3 {
		t.Errorf("bound has the labels %v, want %v; greedy %v", planned, want, greedy)
	}
}
