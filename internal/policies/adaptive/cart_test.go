package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestCARTExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		{"in order of arrival", []uint32{0, 1, 2, 3, 4}, []uint32{0, 1}},
		{"a requested object gets another turn", []uint32{0, 1, 2, 0, 3, 4, 5}, []uint32{1, 2, 3}},
		// 0 returns from B1. When the hand of T1 comes to it, it goes on to T2, and 4 leaves.
		{"what returns is of long-term utility", []uint32{0, 1, 2, 3, 0, 4, 5, 6}, []uint32{0, 1, 2, 3, 4}},
	} {
		policytest.CheckExample(t, test.name, "cart", 3, test.trace, test.want)
	}
}

// slowCART is the pseudocode of the paper on slices; the head of each list is element 0.
type slowCART struct {
	c              int
	p, q           float64
	t1, t2, b1, b2 []policies.Object
	bit, long      map[policies.Object]bool
}

// of returns how many residents are of long-term utility, or of short-term utility.
func (s *slowCART) of(long bool) (n float64) {
	for _, o := range slices.Concat(s.t1, s.t2) {
		if s.long[o] == long {
			n++
		}
	}
	return n
}

func (s *slowCART) Serve(x policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	if slices.Contains(s.t1, x) || slices.Contains(s.t2, x) {
		s.bit[x] = true
		return true, nil
	}
	inB1, inB2 := slices.Contains(s.b1, x), slices.Contains(s.b2, x)
	if len(s.t1)+len(s.t2) == s.c {
		victims = append(victims, s.replace())
		if !inB1 && !inB2 && len(s.b1)+len(s.b2) == s.c+1 {
			if float64(len(s.b1)) > max(0, s.q) || len(s.b2) == 0 {
				s.b1 = s.b1[1:]
			} else {
				s.b2 = s.b2[1:]
			}
		}
	}
	switch {
	case inB1:
		s.p = min(s.p+max(1, s.of(false)/float64(len(s.b1))), float64(s.c))
	case inB2:
		s.p = max(s.p-max(1, s.of(true)/float64(len(s.b2))), 0)
	}
	s.b1, s.b2 = policytest.Without(s.b1, x), policytest.Without(s.b2, x)
	s.t1 = append(s.t1, x)
	s.bit[x], s.long[x] = false, inB1 || inB2
	if inB2 {
		s.growQ()
	}
	return false, victims
}

func (s *slowCART) growQ() {
	short := int(s.of(false))
	if len(s.t2)+len(s.b2)+len(s.t1)-short >= s.c {
		s.q = min(s.q+1, float64(2*s.c-len(s.t1)))
	}
}

func (s *slowCART) replace() (v policies.Object) {
	for len(s.t2) > 0 && s.bit[s.t2[0]] {
		x := s.t2[0]
		s.bit[x] = false
		s.t1, s.t2 = append(s.t1, x), s.t2[1:]
		s.growQ()
	}
	for len(s.t1) > 0 && (s.long[s.t1[0]] || s.bit[s.t1[0]]) {
		x := s.t1[0]
		s.t1 = s.t1[1:]
		if !s.bit[x] {
			s.t2 = append(s.t2, x)
			s.q = max(s.q-1, float64(s.c-len(s.t1)))
			continue
		}
		s.bit[x] = false
		s.t1 = append(s.t1, x)
		if float64(len(s.t1)) >= min(s.p+1, float64(len(s.b1))) && !s.long[x] {
			s.long[x] = true
		}
	}
	if float64(len(s.t1)) >= max(1, s.p) {
		v, s.t1 = s.t1[0], s.t1[1:]
		s.b1 = append(s.b1, v)
	} else {
		v, s.t2 = s.t2[0], s.t2[1:]
		s.b2 = append(s.b2, v)
	}
	return v
}

func TestCARTEqualsPaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		want := &slowCART{c: int(w.Config.Capacity), bit: map[policies.Object]bool{}, long: map[policies.Object]bool{}}
		w.SameVictims(t, policytest.Drive(t, "cart", w.Config), want)
	})
}
