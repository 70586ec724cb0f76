package oracle

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// A stack kept as a plain list gives the same depths.
func TestDepthStackAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewDepthStack()
		var list []uint32 // the most recently requested first
		weights := map[uint32]int64{}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			o := rapid.Uint32Range(0, 60).Draw(t, "object")
			at := slices.Index(list, o)
			if rapid.IntRange(0, 9).Draw(t, "action") == 0 {
				s.Remove(o)
				if at >= 0 {
					list = slices.Delete(list, at, at+1)
				}
				continue
			}
			want := int64(0)
			if at >= 0 {
				for _, above := range list[:at+1] {
					want += weights[above]
				}
				list = slices.Delete(list, at, at+1)
			}
			weight := rapid.Int64Range(1, 9).Draw(t, "weight")
			depth, seen := s.Request(o, weight)
			if depth != want || seen != (at >= 0) {
				t.Fatalf("object %d: depth %d, seen %v; want %d, %v", o, depth, seen, want, at >= 0)
			}
			list = slices.Insert(list, 0, o)
			weights[o] = weight
			checkStack(t, s, list, weights)
		}
		s.Filter(func(o uint32) bool { return o%2 == 0 })
		checkStack(t, s, slices.DeleteFunc(list, func(o uint32) bool { return o%2 == 1 }), weights)
	})
}

func checkStack(t *rapid.T, s *DepthStack, list []uint32, weights map[uint32]int64) {
	var sum int64
	for _, o := range list {
		sum += weights[o]
	}
	if s.Len() != len(list) || s.Weight() != sum {
		t.Fatalf("%d objects of weight %d, want %d of %d", s.Len(), s.Weight(), len(list), sum)
	}
	if len(list) == 0 {
		return
	}
	last := list[len(list)-1]
	if o, weight := s.Bottom(); o != last || weight != weights[last] {
		t.Fatalf("object %d of weight %d at the bottom, want %d of %d", o, weight, last, weights[last])
	}
}

// With weights of 1 the depth is the reuse distance plus one.
func TestDepthStackAgainstLRUStack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := rapid.SliceOf(rapid.Uint32Range(0, 40)).Draw(t, "objects")
		whole, s := NewLRUStack(41), NewDepthStack()
		for _, o := range objects {
			before := slices.Clone(whole.Distances())
			whole.Serve([]uint32{o}, true)
			depth, again := s.Request(o, 1)
			if again {
				before[depth-1]++
			}
			if !slices.Equal(whole.Distances(), before) {
				t.Fatalf("object %d: depth %d, %v; distances %v, want %v", o, depth, again, whole.Distances(), before)
			}
		}
	})
}
