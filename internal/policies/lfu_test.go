package policies

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLFUEqualsNaive(t *testing.T) {
	for _, spec := range []string{"lfu", "lfu(ties=fifo)", "lfu(perfect=true)", "lfu(ties=fifo,perfect=true)"} {
		t.Run(spec, func(t *testing.T) {
			checkAgainstNaive(t, spec, func(capacity int64) *naive {
				c := newNaive(capacity)
				c.rank = func(s *naiveObject, _ int) float64 { return float64(s.requests) }
				if strings.Contains(spec, "perfect") {
					c.rank = func(s *naiveObject, _ int) float64 { return float64(s.past + s.requests) }
				}
				if strings.Contains(spec, "fifo") {
					c.tie = func(s *naiveObject) int { return s.loaded }
				}
				return c
			})
		})
	}
}

func TestLFUExamples(t *testing.T) {
	for _, test := range []struct {
		spec     string
		capacity int64
		trace    []Object
		want     []Object // victims in order
	}{
		// 0 and 1 have two requests, 0 came to two first; 2 has one.
		{"lfu", 3, []Object{0, 1, 2, 0, 1, 3, 3, 4}, []Object{2, 0}},
		// As above, but 0 was loaded before 1 and requested after it.
		{"lfu", 2, []Object{0, 1, 1, 0, 2}, []Object{1}},
		{"lfu(ties=fifo)", 2, []Object{0, 1, 1, 0, 2}, []Object{0}},
		// The requests of 0 before its eviction count only for perfect LFU.
		{"lfu", 2, []Object{0, 0, 1, 1, 1, 2, 0, 3}, []Object{0, 2, 0}},
		{"lfu(perfect=true)", 2, []Object{0, 0, 1, 1, 1, 2, 0, 3}, []Object{0, 2, 1}},
	} {
		d := drive(t, test.spec, Config{Capacity: test.capacity, Unit: true, Objects: 5, Requests: len(test.trace)})
		if got := d.serveAll(test.trace...); !slices.Equal(got, test.want) {
			t.Errorf("%s, trace %v: victims %v, want %v", test.spec, test.trace, got, test.want)
		}
	}
}

// Frequencies is compared with a plain map, and its chain with the frequencies that occur.
func TestFrequencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 12
		steps := drawTrace(t, math.MaxUint32, 200)
		f := NewFrequencies(objects, len(steps))
		want := map[Object]uint32{}
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
			checkFrequencies(t, &f, want, objects)
		}
	})
}

func checkFrequencies(t *rapid.T, f *Frequencies, want map[Object]uint32, objects Object) {
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
