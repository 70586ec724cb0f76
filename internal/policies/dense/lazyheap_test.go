package dense

import (
	"math/rand/v2"
	"testing"
)

// Void entries must not pile up when objects leave and return without any eviction.
func TestLazyHeapDropsVoidEntries(t *testing.T) {
	h := NewLazyHeap(50)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		if o := rng.Uint32N(50); h.Has(o) {
			h.Remove(o)
		} else {
			h.Add(o, rng.Float64())
		}
		if len(h.entries) > 2*h.Live+16 {
			t.Fatalf("%d entries for %d objects", len(h.entries), h.Live)
		}
	}
	last := 0.0
	for h.Live > 0 {
		_, p := h.PopLeast()
		if p < last {
			t.Fatalf("priority %v after %v", p, last)
		}
		last = p
	}
}
