package oracle

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestRanksAgreeWithCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 63, 64, 65, 511, 512, 513, 2047, 2048, 2049, 9000}).Draw(t, "slots")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r := newRanks(n)
		var occupied []bool
		held := 0
		for step := range 300 {
			if add := min(rng.IntN(n), r.room()); add > 0 {
				r.occupy(add, held)
				for range add {
					occupied = append(occupied, true)
				}
				held += add
			}
			if step%50 == 49 {
				r.count()
			}
			for range rng.IntN(20) {
				slot := rng.IntN(len(occupied) + 1)
				if slot == len(occupied) || !occupied[slot] {
					continue
				}
				want := uint32(0)
				for _, o := range occupied[:slot] {
					if o {
						want++
					}
				}
				if got := r.free(uint32(slot)); got != want {
					t.Fatalf("step %d: %d occupied slots below %d, want %d", step, got, slot, want)
				}
				occupied[slot] = false
				held--
			}
		}
	})
}

// More slots are freed than a node of the tree can count, before the slots run out.
func TestLRUStackOfManyObjects(t *testing.T) {
	const numObjects = mostFreed + mostFreed/2
	objects := make([]uint32, numObjects)
	for o := range objects {
		objects[o] = uint32(o)
	}
	s := NewLRUStack(numObjects)
	s.Serve(objects, true)
	s.Serve(objects, true)
	s.Serve(objects[numObjects/2:], true)
	if d := s.Distances(); d[numObjects-1] != numObjects || d[numObjects-numObjects/2-1] != numObjects-numObjects/2 {
		t.Errorf("%d at the largest distance, %d at the distance of the second half",
			d[numObjects-1], d[numObjects-numObjects/2-1])
	}
}
