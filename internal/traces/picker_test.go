package traces

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// What is picked by positions is what Only chooses, with its removals, one pick after another.
func TestPicksAreThoseOfOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := &Trace{Name: "all", SampleRate: 1, Labels: &Labels{Column: "path", Names: []string{"a", "b"}}}
		n, sizes := rapid.IntRange(1, 40).Draw(t, "requests"), rapid.IntRange(0, 2).Draw(t, "sizes")
		number := map[int]uint32{}
		for pos := range n {
			key := rapid.IntRange(0, 12).Draw(t, "key")
			if _, known := number[key]; !known {
				number[key] = uint32(len(number))
				all.Keys = append(all.Keys, stream.Key{Num: uint64(key)})
			} else if rapid.IntRange(0, 4).Draw(t, "removed") == 0 {
				all.Removals = append(all.Removals, Removal{uint32(pos), number[key], Expired})
			}
			all.Objects = append(all.Objects, number[key])
			all.NumObjects = len(number)
			switch sizes {
			case 1:
				all.AddSize(number[key], int64(key+1))
			case 2:
				all.AddSize(number[key], int64(rapid.IntRange(1, 9).Draw(t, "size")))
			}
			all.Times, all.Ops = append(all.Times, int64(pos)), append(all.Ops, stream.Op(key%3))
			all.Labels.Of = append(all.Labels.Of, uint8(pos%2))
		}
		picker := NewPicker(all)
		for range 3 {
			keep := make([]bool, n)
			var positions []uint32
			var removals []Removal
			left := all.Removals
			for pos := range n {
				for len(left) > 0 && int(left[0].Before) == pos {
					removals = append(removals, Removal{uint32(len(positions)), left[0].Object, left[0].Why})
					left = left[1:]
				}
				if keep[pos] = rapid.Bool().Draw(t, "keep"); keep[pos] {
					positions = append(positions, uint32(pos))
				}
			}
			if len(positions) == 0 {
				continue
			}
			got, want := picker.Pick(positions, removals), all.Only(func(pos int) bool { return keep[pos] })
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("picked %+v\nwant %+v", got, want)
			}
		}
	})
}
