package dense

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestKeyedHeapEqualsSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 20
		h := NewKeyedHeap(1)
		h.Grow(objects)
		priorities := map[Object]float64{}
		key := func(o Object) uint64 { return uint64(o) * 7 % objects }
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			o := Object(rapid.Uint32Range(0, objects-1).Draw(t, "object"))
			if _, ok := priorities[o]; ok && rapid.Bool().Draw(t, "remove") {
				h.Remove(o)
				delete(priorities, o)
			} else {
				priorities[o] = float64(rapid.IntRange(0, 5).Draw(t, "priority"))
				h.Set(o, priorities[o], key(o))
			}
			if len(priorities) == 0 {
				continue
			}
			var all []keyedEntry
			for o, p := range priorities {
				all = append(all, keyedEntry{p, key(o), o})
			}
			want := slices.MinFunc(all, func(a, b keyedEntry) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
			if o, p := h.Least(); o != want.object || p != want.priority {
				t.Fatalf("least is %d (%v), want %+v", o, p, want)
			}
		}
	})
}
