package learned

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// byNumber predicts that objects are requested in the order of their numbers, and counts the questions.
type byNumber struct{ asked *int }

func (byNumber) Observe(predict.Object, int) {}

func (p byNumber) Predict(objects []predict.Object, _ int, next []float64) {
	*p.asked++
	for i, o := range objects {
		next[i] = float64(o)
	}
}

func (byNumber) Steady() bool { return false }

// In a cache of 4 objects H_k is 25/12: the first two victims of a chain are predicted, the third is not.
func TestPredictiveMarkerStopsPredicting(t *testing.T) {
	asked := 0
	m := newPredictiveMarker(policies.Config{Capacity: 4, Objects: 5, Predictor: byNumber{&asked}})
	for o := range policies.Object(4) {
		m.load(o, int(o))
	}
	missed := policies.Object(4)
	for i, want := range []int{1, 2, 2} {
		victim := m.evict(missed, 4+i)
		m.load(missed, 4+i)
		if asked != want {
			t.Fatalf("%d questions after %d evictions of a chain, want %d", asked, i+1, want)
		}
		missed = victim
	}
}

// blindoracle-lru switches as soon as the followed policy has exactly twice the misses of the other, not only beyond.
func TestFixedBoundIsReached(t *testing.T) {
	b, followed := fixedBound{times: 2}, 0
	for i, step := range []struct {
		missed [2]bool
		want   int
	}{
		{[2]bool{true, true}, 0},  // 1 and 1
		{[2]bool{true, false}, 1}, // 2 and 1
		{[2]bool{true, true}, 1},  // 3 and 2
		{[2]bool{false, true}, 1}, // 3 and 3
	} {
		if followed = b.follow(followed, step.missed); followed != step.want {
			t.Errorf("step %d: policy %d is followed, want %d", i, followed, step.want)
		}
	}
}

// newFollowRobustOf4 is F&R with a full cache of 4 objects in robust mode: it holds 0 to 3, the cache of fpb 0, 1, 2
// and 5.
func newFollowRobustOf4(t *testing.T) *followRobust {
	t.Helper()
	objects := []policies.Object{0, 1, 2, 3, 4, 5}
	p := mustMake(t, "follow-robust", objects, 4, "oracle", 1).(*followRobust)
	for _, o := range []policies.Object{0, 1, 2, 3} {
		p.hold(o)
		p.unmarked.Add(o)
		p.startedIn[o] = 1
	}
	for _, o := range []policies.Object{0, 1, 2, 5} {
		p.followed.Add(o)
		p.change(o)
	}
	p.robust, p.phase, p.window = true, 1, 1
	return p
}

// F&R: if an arrival is new in the phase, or fpb held it at the start of the window, an object leaves that fpb does not
// hold; for any other miss a random unmarked object leaves.
func TestFollowRobustVictims(t *testing.T) {
	for _, c := range []struct {
		name               string
		startedIn, missing uint32
		arrives            bool
		want               []policies.Object
	}{
		{"clean", 0, 0, true, []policies.Object{3}},
		{"of the window", 1, 1, true, []policies.Object{3}},
		{"of an earlier window", 1, 0, true, []policies.Object{0, 1, 2, 3}},
		{"that has arrived", 1, 1, false, []policies.Object{0, 1, 2, 3}},
	} {
		p := newFollowRobustOf4(t)
		p.startedIn[5], p.missing[5] = c.startedIn, c.missing
		var got []policies.Object
		for range 100 {
			got = append(got, p.robustVictim(5, c.arrives))
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, c.want) {
			t.Errorf("object %s: victims %v, want %v", c.name, got, c.want)
		}
	}
}

// The i-th window begins with arrival k - k/2^i + 1.
func TestFollowRobustWindows(t *testing.T) {
	for _, c := range []struct {
		capacity int
		want     []int
	}{{1, []int{1}}, {6, []int{1, 4, 6}}, {8, []int{1, 5, 7, 8}}} {
		var got []int
		for arrivals := range c.capacity {
			p := &followRobust{following: following{capacity: c.capacity}, arrivals: arrivals + 1}
			if p.beginsWindow() {
				got = append(got, p.arrivals)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d objects: windows begin with arrivals %v, want %v", c.capacity, got, c.want)
		}
	}
}
