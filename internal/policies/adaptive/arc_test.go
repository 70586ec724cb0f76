package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// A cache of 4, small enough to follow by hand: the split moves on every request to a ghost.
func TestARCExample(t *testing.T) {
	d := policytest.Drive(t, "arc", policies.Config{Capacity: 4, Unit: true, Objects: 6, Requests: 20})
	p := d.Policy.(*arc)
	for i, step := range []struct {
		request        policies.Object
		t1, t2, b1, b2 []policies.Object
		target         float64
	}{
		{request: 0, t1: []policies.Object{0}},
		{request: 1, t1: []policies.Object{1, 0}},
		{request: 2, t1: []policies.Object{2, 1, 0}},
		{request: 3, t1: []policies.Object{3, 2, 1, 0}},
		{request: 0, t1: []policies.Object{3, 2, 1}, t2: []policies.Object{0}},
		{request: 4, t1: []policies.Object{4, 3, 2}, t2: []policies.Object{0}, b1: []policies.Object{1}},
		// |T1|+|B1| is 4: the directory forgets 1 before 2 leaves.
		{request: 5, t1: []policies.Object{5, 4, 3}, t2: []policies.Object{0}, b1: []policies.Object{2}},
		{request: 2, t1: []policies.Object{5, 4}, t2: []policies.Object{2, 0}, b1: []policies.Object{3}, target: 1},
		// |T1| is no longer above the target, so T2 gives way.
		{request: 3, t1: []policies.Object{5, 4}, t2: []policies.Object{3, 2}, b2: []policies.Object{0}, target: 2},
		{request: 0, t1: []policies.Object{5}, t2: []policies.Object{0, 3, 2}, b1: []policies.Object{4}, target: 1},
		{request: 4, t1: []policies.Object{5}, t2: []policies.Object{4, 0, 3}, b2: []policies.Object{2}, target: 2},
	} {
		d.Serve(step.request, 1, i)
		for k, want := range map[int][]policies.Object{arcT1: step.t1, arcT2: step.t2, arcB1: step.b1, arcB2: step.b2} {
			if got := policytest.Listed(&p.List, k); !slices.Equal(got, want) {
				t.Fatalf("after request %d: list %d is %v, want %v", i, k, got, want)
			}
		}
		if p.target != step.target {
			t.Fatalf("after request %d: target %v, want %v", i, p.target, step.target)
		}
	}
}

// A T1 that fills the cache leaves no room to remember its victims.
func TestARCScanLeavesNoGhosts(t *testing.T) {
	d := policytest.Drive(t, "arc", policies.Config{Capacity: 3, Unit: true, Objects: 9, Requests: 9})
	victims := d.ServeAll(0, 1, 2, 3, 4, 5, 6, 7, 8)
	if want := []policies.Object{0, 1, 2, 3, 4, 5}; !slices.Equal(victims, want) {
		t.Errorf("victims %v, want %v", victims, want)
	}
	if got := policytest.Listed(&d.Policy.(*arc).List, arcB1); got != nil {
		t.Errorf("B1 is %v, want it empty", got)
	}
}

func TestARCAdapt(t *testing.T) {
	for _, test := range []struct {
		whole  bool
		missed int
		b1, b2 int64
		size   int64
		before float64
		after  float64
	}{
		{false, arcB1, 2, 5, 1, 10, 12.5},
		{true, arcB1, 2, 5, 1, 10, 12},
		{false, arcB1, 5, 2, 1, 10, 11},
		{false, arcB1, 1, 95, 1, 10, 100}, // capped at the capacity
		{false, arcB2, 5, 2, 1, 10, 7.5},
		{true, arcB2, 5, 2, 1, 10, 8},
		{false, arcB2, 50, 2, 1, 10, 0}, // not negative
		{false, arcB2, 5, 2, 3, 10, 2.5},
		{false, dense.NoSegment, 5, 2, 1, 10, 10},
	} {
		p := newARCState(policies.Config{Capacity: 100, Objects: 1, Params: policies.Values{"int": test.whole}})
		p.target = test.before
		p.Used[arcB1], p.Used[arcB2] = test.b1, test.b2
		p.Segment[0] = uint8(test.missed + 1)
		p.adapt(policies.Request{Size: test.size})
		if p.target != test.after {
			t.Errorf("%+v: target %v", test, p.target)
		}
	}
}

// slowARC is Figure 4 of the paper word for word on slices, most recent first.
type slowARC struct {
	c              int
	p              float64
	t1, t2, b1, b2 []policies.Object
}

func pushed(l []policies.Object, x policies.Object) []policies.Object {
	return append([]policies.Object{x}, l...)
}

func popped(l []policies.Object) ([]policies.Object, policies.Object) {
	return l[:len(l)-1], l[len(l)-1]
}

func (s *slowARC) serve(x policies.Object) (hit bool) {
	inB1, inB2 := slices.Contains(s.b1, x), slices.Contains(s.b2, x)
	b1, b2 := float64(len(s.b1)), float64(len(s.b2))
	switch {
	case slices.Contains(s.t1, x) || slices.Contains(s.t2, x):
		s.t1, s.t2 = policytest.Without(s.t1, x), pushed(policytest.Without(s.t2, x), x)
		return true
	case inB1:
		s.p = min(float64(s.c), s.p+max(b2/b1, 1))
		s.replace(false)
		s.b1, s.t2 = policytest.Without(s.b1, x), pushed(s.t2, x)
	case inB2:
		s.p = max(0, s.p-max(b1/b2, 1))
		s.replace(true)
		s.b2, s.t2 = policytest.Without(s.b2, x), pushed(s.t2, x)
	default:
		l1 := len(s.t1) + len(s.b1)
		all := l1 + len(s.t2) + len(s.b2)
		switch {
		case l1 == s.c && len(s.t1) < s.c:
			s.b1, _ = popped(s.b1)
			s.replace(false)
		case l1 == s.c:
			s.t1, _ = popped(s.t1)
		case all >= s.c:
			if all == 2*s.c {
				s.b2, _ = popped(s.b2)
			}
			s.replace(false)
		}
		s.t1 = pushed(s.t1, x)
	}
	return false
}

func (s *slowARC) replace(inB2 bool) {
	var o policies.Object
	if t1 := float64(len(s.t1)); t1 >= 1 && (inB2 && t1 == s.p || t1 > s.p) {
		s.t1, o = popped(s.t1)
		s.b1 = pushed(s.b1, o)
	} else {
		s.t2, o = popped(s.t2)
		s.b2 = pushed(s.b2, o)
	}
}

func TestARCEqualsPaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		d := policytest.Drive(t, "arc", w.Config)
		p := d.Policy.(*arc)
		want := &slowARC{c: int(w.Config.Capacity)}
		for i, o := range w.Trace {
			hit, _ := d.Serve(o, 1, i)
			if wantHit := want.serve(o); hit != wantHit || p.target != want.p {
				t.Fatalf("request %d: hit %v, target %v; paper: %v, %v", i, hit, p.target, wantHit, want.p)
			}
			for k, l := range map[int][]policies.Object{arcT1: want.t1, arcT2: want.t2, arcB1: want.b1, arcB2: want.b2} {
				if got := policytest.Listed(&p.List, k); !slices.Equal(got, l) {
					t.Fatalf("request %d: list %d is %v, paper %v", i, k, got, l)
				}
			}
		}
	})
}

// checkLists fails if the directory of ARC or CAR exceeds its bounds, or its sizes do not match its lists.
func (p *arcState) checkLists(t rapid.TB, stored map[policies.Object]int64, sizes []int64, bounded bool) {
	var sum [arcLists]int64
	for k := arcT1; k < arcLists; k++ {
		for _, o := range policytest.Listed(&p.List, k) {
			_, resident := stored[o]
			if resident != (k == arcT1 || k == arcT2) || !p.In(k, o) {
				t.Fatalf("object %d is on list %d, marked %d, resident %v", o, k, p.Of(o), resident)
			}
			sum[k] += sizes[o]
		}
	}
	if !slices.Equal(sum[:], p.Used) {
		t.Fatalf("sizes %v, lists hold %v", p.Used, sum)
	}
	t1, t2, b1, b2 := sum[arcT1], sum[arcT2], sum[arcB1], sum[arcB2]
	c := p.capacity
	switch {
	case t1+t2 > c, bounded && (t1+b1 > c || t1+t2+b1+b2 > 2*c):
		t.Fatalf("capacity %d: T1 %d, T2 %d, B1 %d, B2 %d", c, t1, t2, b1, b2)
	case p.target < 0 || p.target > float64(c):
		t.Fatalf("capacity %d: target %v", c, p.target)
	}
}

func TestARCInvariants(t *testing.T) {
	checkARCInvariants(t, "arc", func(p policies.Policy) *arcState { return &p.(*arc).arcState })
}

func checkARCInvariants(t *testing.T, spec string, state func(policies.Policy) *arcState) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		d := policytest.Drive(t, spec, w.Config)
		w.AfterEachRequest(t, d, func() {
			// CAR drops ghosts for the next new object only, so that a write may leave too many.
			_, trims := d.Policy.(*arc)
			state(d.Policy).checkLists(t, d.Stored, w.Sizes, trims || !d.Written)
		})
	})
	// The invariants I5 to I7 of the CAR paper hold for both: nothing is remembered before the cache is full, and it
	// stays full.
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		d := policytest.Drive(t, spec, w.Config)
		p := state(d.Policy)
		full := false
		for i, o := range w.Trace {
			d.Serve(o, 1, i)
			if !p.full() && (full || p.Used[arcB1]+p.Used[arcB2] > 0) {
				t.Fatalf("request %d: capacity %d, sizes %v, was full: %v", i, p.capacity, p.Used, full)
			}
			full = p.full()
		}
	})
}
