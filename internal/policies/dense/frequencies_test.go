package dense

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// Frequencies is compared with a plain map, and its chain with the frequencies that occur.
func TestFrequencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 12
		count := rapid.IntRange(1, 200).Draw(t, "count")
		steps := rapid.SliceOfN(rapid.Uint32(), count, count).Draw(t, "steps")
		f := NewFrequencies[uint32](objects, len(steps))
		want, notes := map[Object]uint32{}, map[Object]uint32{}
		for _, step := range steps {
			o := step % objects
			switch {
			case want[o] == 0:
				want[o] = 1 + step/objects%9
				f.Add(o, want[o])
			case step/objects%4 == 0:
				f.Remove(o)
				delete(want, o)
			default:
				f.Touch(o)
				want[o]++
			}
			*f.Note(o), notes[o] = step, step
			for o, note := range notes {
				if *f.Note(o) != note {
					t.Fatalf("the note on %d is %d, want %d", o, *f.Note(o), note)
				}
			}
			checkFrequencies(t, &f, want, objects)
		}
	})
}

func checkFrequencies(t *rapid.T, f *Frequencies[uint32], want map[Object]uint32, objects Object) {
	if len(want) > 0 {
		if o := f.OldestLeast(); want[o] != slices.Min(slices.Collect(maps.Values(want))) {
			t.Fatalf("object %d of frequency %d as the least of %v", o, want[o], want)
		}
	}
	seen := 0
	last := uint32(0)
	for list := f.lists[0].higher; list != 0; list = f.lists[list].higher {
		if f.lists[list].frequency <= last {
			t.Fatalf("chain: frequency %d after %d", f.lists[list].frequency, last)
		}
		last = f.lists[list].frequency
		before := seen
		for o := f.nodes[f.n+list].next; o != f.n+list; o = f.nodes[o].next {
			if want[o] != last {
				t.Fatalf("object %d stands at frequency %d, want %d", o, last, want[o])
			}
			seen++
		}
		if seen == before {
			t.Fatalf("the list of frequency %d is empty", last)
		}
	}
	for o := range objects {
		if f.nodes[o].list == aboveCeiling {
			seen++
			if want[o] <= f.ceiling {
				t.Fatalf("object %d has frequency %d and is on no list, the ceiling is %d", o, want[o], f.ceiling)
			}
		}
		if f.Has(o) != (want[o] != 0) || f.Frequency(o) != want[o] {
			t.Fatalf("object %d: frequency %d, want %d", o, f.Frequency(o), want[o])
		}
	}
	if seen != len(want) {
		t.Fatalf("%d objects in the chain, want %d", seen, len(want))
	}
}
