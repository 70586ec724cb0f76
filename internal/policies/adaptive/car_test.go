package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestCARInvariants(t *testing.T) {
	checkARCInvariants(t, "car", func(p policies.Policy) *arcState { return &p.(*car).arcState })
}

// slowCAR is Figure 2 of the paper word for word on slices; the head of a clock is element 0.
type slowCAR struct {
	c              int
	p              float64
	t1, t2, b1, b2 []policies.Object // b1 and b2: least recent first
	bit            map[policies.Object]bool
}

func (s *slowCAR) serve(x policies.Object) (hit bool) {
	if slices.Contains(s.t1, x) || slices.Contains(s.t2, x) {
		s.bit[x] = true
		return true
	}
	inB1, inB2 := slices.Contains(s.b1, x), slices.Contains(s.b2, x)
	if len(s.t1)+len(s.t2) == s.c {
		s.replace()
		if !inB1 && !inB2 && len(s.t1)+len(s.b1) == s.c {
			s.b1 = s.b1[1:]
		} else if !inB1 && !inB2 && len(s.t1)+len(s.t2)+len(s.b1)+len(s.b2) == 2*s.c {
			s.b2 = s.b2[1:]
		}
	}
	s.bit[x] = false
	b1, b2 := float64(len(s.b1)), float64(len(s.b2))
	switch {
	case inB1:
		s.p = min(s.p+max(1, b2/b1), float64(s.c))
		s.b1, s.t2 = policytest.Without(s.b1, x), append(s.t2, x)
	case inB2:
		s.p = max(s.p-max(1, b1/b2), 0)
		s.b2, s.t2 = policytest.Without(s.b2, x), append(s.t2, x)
	default:
		s.t1 = append(s.t1, x)
	}
	return false
}

func (s *slowCAR) replace() {
	for {
		clock, ghosts := &s.t2, &s.b2
		if float64(len(s.t1)) >= max(1, s.p) {
			clock, ghosts = &s.t1, &s.b1
		}
		head := (*clock)[0]
		*clock = (*clock)[1:]
		if !s.bit[head] {
			*ghosts = append(*ghosts, head)
			return
		}
		s.bit[head] = false
		s.t2 = append(s.t2, head)
	}
}

func TestCAREqualsPaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		d := policytest.Drive(t, "car", w.Config)
		p := d.Policy.(*car)
		want := &slowCAR{c: int(w.Config.Capacity), bit: map[policies.Object]bool{}}
		for i, o := range w.Trace {
			hit, _ := d.Serve(o, 1, i)
			if wantHit := want.serve(o); hit != wantHit || p.target != want.p {
				t.Fatalf("request %d: hit %v, target %v; paper: %v, %v", i, hit, p.target, wantHit, want.p)
			}
			for k, l := range map[int][]policies.Object{arcT1: want.t1, arcT2: want.t2, arcB1: want.b1, arcB2: want.b2} {
				got := policytest.Listed(&p.List, k)
				slices.Reverse(got)
				if !slices.Equal(got, l) {
					t.Fatalf("request %d: list %d is %v, paper %v", i, k, got, l)
				}
			}
		}
	})
}
