package predict

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRadixHeapIsInOrder(t *testing.T) {
	bits := rand.New(rand.NewPCG(1, 1))
	var h radixHeap
	var want []int32
	now := int32(0)
	for range 3000 {
		for range bits.IntN(5) {
			until := now + 1 + int32(bits.IntN(1<<bits.IntN(20)))
			h.push(end{until, 0})
			want = append(want, until)
		}
		slices.Sort(want)
		now += int32(bits.IntN(200))
		for e, ok := h.pop(now); ok; e, ok = h.pop(now) {
			if len(want) == 0 || e.until != want[0] {
				t.Fatalf("at %d: end at %d, want the first of %v", now, e.until, want[:min(3, len(want))])
			}
			want = want[1:]
		}
		if len(want) > 0 && want[0] <= now || h.size != len(want) {
			t.Fatalf("at %d: %d ends are left, want %d, the first at %d", now, h.size, len(want), want[0])
		}
	}
}
