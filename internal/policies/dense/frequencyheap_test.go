package dense

import (
	"math/rand/v2"
	"testing"
)

// The least object is found among all by looking at each of them.
func TestFrequencyHeapEqualsNaive(t *testing.T) {
	const objects = 60
	rng := rand.New(rand.NewPCG(1, 3))
	h := NewFrequencyHeap(objects / 2)
	h.Grow(objects)
	frequencies, keys := map[Object]uint32{}, rng.Perm(objects)
	for step := range 20_000 {
		o := rng.Uint32N(objects)
		switch {
		case !h.Has(o):
			frequencies[o] = 1 + rng.Uint32N(4)
			h.Add(o, frequencies[o], uint64(keys[o]))
		case rng.IntN(4) == 0:
			delete(frequencies, o)
			h.Remove(o)
		default:
			frequencies[o]++
			h.Touch(o)
		}
		want, found := Object(0), false
		for o, n := range frequencies {
			if h.Frequency(o) != n {
				t.Fatalf("step %d: object %d has frequency %d, want %d", step, o, h.Frequency(o), n)
			}
			if !found || n < frequencies[want] || n == frequencies[want] && keys[o] < keys[want] {
				want, found = o, true
			}
		}
		if found && h.Least() != want {
			t.Fatalf("step %d: least object %d, want %d", step, h.Least(), want)
		}
	}
}
