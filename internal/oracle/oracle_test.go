package oracle

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawTrace draws a trace of at most maxLen requests over at most maxObjects objects.
func drawTrace(t *rapid.T, maxLen, maxObjects int) (objects []uint32, numObjects int) {
	numObjects = rapid.IntRange(1, maxObjects).Draw(t, "number of objects")
	n := rapid.IntRange(0, maxLen).Draw(t, "requests") // drawn first: rapid's slices of open length have about 5 elements
	return rapid.SliceOfN(rapid.Uint32Range(0, uint32(numObjects-1)), n, n).Draw(t, "objects"), numObjects
}

func TestNextUse(t *testing.T) {
	got := NextUse([]uint32{0, 1, 0, 2, 1, 0}, 3)
	if want := []uint32{2, 4, 5, Never, Never, Never}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := NextUse(nil, 0); len(got) != 0 {
		t.Errorf("empty trace: got %v", got)
	}
}

func TestBitmapAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(200, 300000)).Draw(t, "n")
		b, naive := NewBitmap(n), map[uint32]bool{}
		member := rapid.OneOf(rapid.IntRange(0, n-1), rapid.IntRange(max(0, n-70), n-1), rapid.IntRange(0, min(n-1, 70)))
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			i := uint32(member.Draw(t, "i"))
			if rapid.Bool().Draw(t, "set") {
				b.Set(i)
				naive[i] = true
			} else {
				b.Clear(i)
				delete(naive, i)
			}
			if b.Has(i) != naive[i] {
				t.Fatalf("Has(%d) is %v", i, b.Has(i))
			}
			var want uint32
			for j := range naive {
				want = max(want, j)
			}
			if got, ok := b.Max(); got != want || ok != (len(naive) > 0) {
				t.Fatalf("Max() = %d, %v; want %d of %d members", got, ok, want, len(naive))
			}
		}
	})
}

// TestBruteForceByHand compares the exhaustive search with schedules that can be checked on paper.
func TestBruteForceByHand(t *testing.T) {
	for _, c := range []struct {
		name     string
		objects  []uint32
		sizes    []int64
		capacity int64
		bypass   bool
		want     int
	}{
		{"one slot, forced: every change of object misses", []uint32{0, 1, 0, 1, 0}, nil, 1, false, 5},
		{"one slot, bypass: keep 0 and let 1 pass by", []uint32{0, 1, 0, 1, 0}, nil, 1, true, 3},
		{"loop of three in two slots, forced", []uint32{0, 1, 2, 0, 1, 2, 0}, nil, 2, false, 5},
		{"room for all: cold misses only", []uint32{0, 1, 2, 0, 1, 2, 0}, nil, 3, false, 3},
		{"the large object cannot stay beside the small ones", []uint32{0, 1, 2, 0, 1, 2}, []int64{3, 1, 1}, 4, true, 4},
		{"larger than the cache: never hits, even forced", []uint32{0, 1, 0, 1}, []int64{9, 1}, 4, false, 3},
	} {
		if got := BruteForce(c.objects, c.sizes, c.capacity, c.bypass); got != c.want {
			t.Errorf("%s: %d misses, want %d", c.name, got, c.want)
		}
	}
}
