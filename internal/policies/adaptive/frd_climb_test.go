package adaptive

import (
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// The first sample has nothing to compare with. Then the filter shrinks, and turns whenever the hit ratio has fallen.
func TestFRDClimbsTheHill(t *testing.T) {
	l := &frdClimb{}
	for i, sample := range []struct{ hits, want int }{{100, 0}, {120, -1}, {110, 1}, {105, -1}, {105, -1}, {90, 1}} {
		l.requests, l.hits = 200, int64(sample.hits)
		if by := l.climbHill(1); by != sample.want {
			t.Errorf("sample %d, %d hits of 200: the filter grows by %d, want %d", i, sample.hits, by, sample.want)
		}
	}
}

// With a filter that may hold more than it does, a new object takes the place of one in the main list; with a main list
// that may, one that returns takes the place of one in the filter.
func TestFRDFollowsTheBorder(t *testing.T) {
	c := policies.Config{Capacity: 4, Unit: true, Objects: 10, Requests: 100}
	d := policytest.Drive(t, "frd(main=0.5,climb=hill)", c)
	p := d.Policy.(*frd)
	d.ServeAll(0, 1, 2, 3, 4, 5) // 0 and 1 are in the main list, 4 and 5 in the filter
	p.setFilter(3)
	if _, victims := d.Serve(6, 1, 6); len(victims) != 1 || victims[0] != 0 || p.mains != 1 || p.filtered != 3 {
		t.Errorf("victims %v, %d in the main list, %d in the filter; want 0, and 1 and 3", victims, p.mains, p.filtered)
	}
	p.setFilter(0)
	d.Serve(7, 1, 7) // replaces 4, which is remembered
	if _, victims := d.Serve(4, 1, 8); len(victims) != 1 || victims[0] != 5 || p.mains != 2 || p.filtered != 2 {
		t.Errorf("victims %v, %d in the main list, %d in the filter; want 5, and 2 and 2", victims, p.mains, p.filtered)
	}
}
