package dense

import (
	"math/rand/v2"
	"testing"
)

func TestSlots(t *testing.T) {
	const objects = 40
	s := NewSlots[int](objects)
	want := map[Object]int{}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 5000 {
		o := rng.Uint32N(objects)
		if s.Has(o) != (want[o] != 0) {
			t.Fatalf("step %d: has(%d) is %v", i, o, s.Has(o))
		}
		if s.Has(o) {
			if *s.Info(o) != want[o] {
				t.Fatalf("step %d: object %d has %d, want %d", i, o, *s.Info(o), want[o])
			}
			s.Remove(o)
			delete(want, o)
		} else {
			s.Add(o, i+1)
			want[o] = i + 1
		}
		if i%3 == 0 {
			infos := s.Dense()
			if len(infos) != len(want) {
				t.Fatalf("step %d: %d slots for %d objects", i, len(infos), len(want))
			}
			for slot, info := range infos {
				if want[s.Objects[slot]] != info {
					t.Fatalf("step %d: slot %d holds %d", i, slot, info)
				}
			}
		}
	}
}
